/**
 * Options of the LangGraph provider.
 *
 * @module
 */
import type { JsonValue } from '../../../core/json-types.js'
import type { ProviderTask } from '../../provider.js'
import type { ServiceOptions } from '../shared/service.js'

/** Kinds of stream events: text while a model writes it, completed steps, and events that nodes write themselves. */
export const LANGGRAPH_STREAM_MODES = ['messages-tuple', 'updates', 'custom'] as const
/** The stream modes of LangGraph that the provider reads. */
export type LangGraphStreamMode = (typeof LANGGRAPH_STREAM_MODES)[number]

export const PROFILES = ['langgraph', 'litellm-rs'] as const

/** Options of `langGraph`. */
export interface LangGraphOptions extends ServiceOptions {
  /**
   * Paths of the service: `'langgraph'` (default) is LangGraph's API; `'litellm-rs'` is the API in the LiteLLM-RS
   * document (`/runs/{id}`, no threads), which LangGraph's own servers do not have.
   */
  readonly profile?: (typeof PROFILES)[number] | undefined
  /** Default is all. The profile `'litellm-rs'` always uses `'updates'`. */
  readonly streamMode?: readonly LangGraphStreamMode[] | undefined
  /** Handling of a task whose conversation has another task in progress. Default is `'enqueue'`: it waits. */
  readonly multitaskStrategy?: 'enqueue' | 'reject' | 'interrupt' | 'rollback' | undefined
  /**
   * Builds the input of a graph whose state has other fields. Default is `{ messages, context }`: the text and images
   * of the message, and its data. A message that is a single object of data is the input itself.
   */
  readonly input?: ((task: ProviderTask) => JsonValue) | undefined
}
