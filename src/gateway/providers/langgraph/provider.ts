/**
 * Provider for agents of LangGraph servers.
 *
 * @module
 */
import { requireFunctions, requireOneOf } from '../../../runtime/options.js'
import type { AgentProvider } from '../../provider.js'
import { requireServiceOptions } from '../shared/service.js'
import { LangGraphServer } from './server.js'
import { LiteLlmRsServer } from './litellm-rs.js'
import { LANGGRAPH_STREAM_MODES, PROFILES, type LangGraphOptions } from './options.js'

const STRATEGIES = [
  'enqueue',
  'reject',
  'interrupt',
  'rollback',
] as const satisfies readonly LangGraphOptions['multitaskStrategy'][]

/**
 * Provider for LangGraph servers: LangSmith Deployment, or your own server. An agent's `endpoint.url` is the root
 * of the server, and `settings.assistantId` is the id of an assistant or the name of a graph; by default, the id of the agent.
 * For an API key, set `endpoint.auth` with the header `x-api-key`; other credentials are sent as well.
 *
 * A conversation is a thread, a task is one run in it, and an interrupt is a question: the graph continues with the
 * text or the data of the answer. `metadata.tags` of the message become tags of the run.
 *
 * The result is one artifact, `response`: the last text of the model, or the graph's values if there is none.
 *
 * @throws {TypeError} for an option that is unknown or of the wrong type, and an unknown `profile` or `streamMode`.
 */
export function langGraph(options: LangGraphOptions = {}): AgentProvider {
  requireServiceOptions(options, 'langGraph', ['profile', 'streamMode', 'multitaskStrategy', 'input'])
  requireFunctions(options, ['input'])
  const {
    profile = 'langgraph',
    streamMode = LANGGRAPH_STREAM_MODES,
    multitaskStrategy = 'enqueue',
  } = options
  requireOneOf('profile', profile, PROFILES)
  requireOneOf('multitaskStrategy', multitaskStrategy, STRATEGIES)
  for (const mode of streamMode) requireOneOf('streamMode', mode, LANGGRAPH_STREAM_MODES)
  return profile === 'litellm-rs' ? new LiteLlmRsServer(options) : new LangGraphServer(options, streamMode)
}
