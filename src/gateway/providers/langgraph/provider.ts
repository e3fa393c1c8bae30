/**
 * Provider for agents of LangGraph servers.
 *
 * @module
 */
import { quote } from '../../../runtime/describe.js'
import type { AgentProvider } from '../../provider.js'
import { LangGraphServer } from './server.js'
import { LiteLlmRsServer } from './litellm-rs.js'
import { LANGGRAPH_STREAM_MODES, PROFILES, type LangGraphOptions } from './options.js'

/**
 * Provider for LangGraph servers: LangSmith Deployment, or a server of your own. An agent's `endpoint.url` is the root
 * of the server, and `settings.assistantId` is the id of an assistant or the name of a graph. For an API key, set
 * `endpoint.auth` with the header `x-api-key`; other credentials are sent as well.
 *
 * A conversation is a thread, a task is one run in it, and an interrupt is a question: the graph continues with the
 * text or the data of the answer. `metadata.tags` of the message become tags of the run.
 *
 * The result is one artifact, `response`: the last text of the model, or the graph's values if there is none.
 *
 * @throws {TypeError} for an unknown `profile` or `streamMode`.
 */
export function langGraph(options: LangGraphOptions = {}): AgentProvider {
  const { profile = 'langgraph', streamMode = LANGGRAPH_STREAM_MODES } = options
  requireOneOf('profile', profile, PROFILES)
  for (const mode of streamMode) requireOneOf('streamMode', mode, LANGGRAPH_STREAM_MODES)
  return profile === 'litellm-rs' ? new LiteLlmRsServer(options) : new LangGraphServer(options, streamMode)
}

function requireOneOf(name: string, value: unknown, known: readonly unknown[]): void {
  if (known.includes(value)) return
  throw new TypeError(`"${name}" must be one of ${known.map(quote).join(', ')}, got ${quote(value)}`)
}
