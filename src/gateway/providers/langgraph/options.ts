/**
 * Options of the LangGraph provider.
 *
 * @module
 */
import type { JsonValue } from '../../../core/json-types.js'
import type { ProviderTask } from '../../provider.js'
import type { ServiceOptions } from '../shared/service.js'

/** What streams tell: texts of models as they are written, which steps are done, and what nodes write themselves. */
export const LANGGRAPH_STREAM_MODES = ['messages-tuple', 'updates', 'custom'] as const
export type LangGraphStreamMode = (typeof LANGGRAPH_STREAM_MODES)[number]

export const PROFILES = ['langgraph', 'litellm-rs'] as const

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
