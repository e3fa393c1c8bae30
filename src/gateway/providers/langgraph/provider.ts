/**
 * Agents of a LangGraph Agent Server: LangSmith Deployment, or a server of one's own.
 *
 * @module
 */
import { quote } from '../../../runtime/describe.js'
import type { AgentProvider } from '../../provider.js'
import { LangGraphServer } from './server.js'
import { LiteLlmRsServer } from './litellm-rs.js'
import { LANGGRAPH_STREAM_MODES, PROFILES, type LangGraphOptions } from './options.js'

/**
 * Speaks to a LangGraph server: `endpoint.url` is its root, and `settings.assistantId` the id of an assistant or the name of
 * a graph. Its API key is `endpoint.auth` with the header `x-api-key`; any other credentials are sent as well.
 *
 * A conversation is a thread, a task one run in it, an interrupt a question: the answer's text, or its data, is what the
 * graph goes on with. `metadata.tags` of the message are tags of the run.
 *
 * The result is one artifact, `response`: the last text of the model, or, where there is none, the graph's values.
 *
 * @throws {TypeError} naming the option that is not known.
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
