/**
 * Agents of a LangGraph Agent Server: LangSmith Deployment, or a server of one's own.
 *
 * @module
 */
import { quote } from '../../../core/json.js'
import type { JsonValue } from '../../../core/task.js'
import type { AgentProvider, ProviderTask } from '../../provider.js'
import type { ServiceOptions } from '../shared/service.js'
import { LangGraphServer } from './server.js'
import { LiteLlmRsServer } from './litellm-rs.js'

/** What streams tell: texts of models as they are written, which steps are done, and what nodes write themselves. */
const LANGGRAPH_STREAM_MODES = ['messages-tuple', 'updates', 'custom'] as const
export type LangGraphStreamMode = (typeof LANGGRAPH_STREAM_MODES)[number]

const PROFILES = ['langgraph', 'litellm-rs'] as const

export interface LangGraphOptions extends ServiceOptions {
  /**
   * Which paths the service has: those of LangGraph's API, or, with `'litellm-rs'`, the ones that the LiteLLM-RS document
   * has for it (`/runs/{id}`, no threads), which LangGraph's own servers lack. Default is `'langgraph'`.
   */
  readonly profile?: (typeof PROFILES)[number] | undefined
  /** Default is all. The other profile has `'updates'` only. */
  readonly streamMode?: readonly LangGraphStreamMode[] | undefined
  /** What becomes of a task whose conversation has another that has not ended. Default is `'enqueue'`: it waits its turn. */
  readonly multitaskStrategy?: 'enqueue' | 'reject' | 'interrupt' | 'rollback' | undefined
  /**
   * What a graph is given to begin with, for those whose state has other names. Default is `{ messages, context }`: the text
   * and the images of the message, and its data; or its data alone, where it is all there is, and an object.
   */
  readonly input?: ((task: ProviderTask) => JsonValue) | undefined
}

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
