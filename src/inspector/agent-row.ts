/**
 * Agents of a gateway, as the page shows them.
 *
 * @module
 */

/** An agent in the page. It has no credentials and no settings, which may contain some. */
export interface AgentRow {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly provider: string
  readonly url: string
  readonly capabilities: readonly string[]
  readonly tags: readonly string[]
  readonly status: string
  readonly lastSeenAt: string
  /** How many of its tasks run now. */
  readonly load: number
  readonly maxLoad: number | null
  /** Its turns so far, and how those that have ended did. */
  readonly tasks: number
  readonly completed: number
  readonly failed: number
  /** How long its turns took on average, in ms. 0 before the first one has ended. */
  readonly meanMs: number
  /** What its tasks have spent, by unit. */
  readonly spent: { readonly [unit: string]: number }
  /** For how long its circuit breaker refuses further tasks, in ms. */
  readonly waitMs: number
}
