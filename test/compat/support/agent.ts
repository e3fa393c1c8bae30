/**
 * Agents that serve every dialect of the library.
 *
 * @module
 */
import { corvid, kaos, litellm, v0_1 } from 'a2a-tasks/compat'
import type { Execute } from 'a2a-tasks/server'
import { v0_3, v1 } from 'a2a-tasks/wire'
import {
  agent as plainAgent,
  type TestAgent,
  type TestAgentOptions,
} from '../../server/spec/support/agent.js'

/** The chat and the probes of KAOS are for agents that replace one of KAOS. */
export const EVERY = [v1(), v0_3(), v0_1(), kaos({ routes: false }), corvid(), litellm()]

export function agent(execute: Execute, options: TestAgentOptions = {}): TestAgent {
  return plainAgent(execute, { dialects: EVERY, ...options })
}
