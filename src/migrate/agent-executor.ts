/**
 * Executors of `@a2a-js/sdk` as structural types, and the options of their adapter.
 *
 * @module
 */

/**
 * An `AgentExecutor` of `@a2a-js/sdk`, of any version. The parameters have the type `never`, so that an executor is
 * accepted whichever classes of the SDK it names: this package does not import the SDK.
 */
export interface AgentExecutorLike {
  execute(requestContext: never, eventBus: never): Promise<void>
  cancelTask(taskId: string, eventBus: never): Promise<void>
}

/** The line of `@a2a-js/sdk` that an executor is written for: `1.0` is all of its 1.x releases. */
export type SdkVersion = '1.0' | '0.3'

/** An event or an error of an executor that has no effect on the task. */
export interface Ignored {
  /**
   * - `'late'`: `event` was published after the end of the turn.
   * - `'metadata'`: `event` has metadata of a task or of an update. Metadata of messages, artifacts and parts is kept.
   * - `'history'`: the task in `event` has messages of the agent that were never a status message.
   * - `'error'`: `error` was thrown by `cancelTask`, by a listener of the event bus, or by `execute` after its turn ended.
   */
  readonly reason: 'late' | 'metadata' | 'history' | 'error'
  readonly taskId: string
  readonly event?: unknown
  readonly error?: unknown
}

/** Options of `fromAgentExecutor`. */
export interface FromAgentExecutorOptions {
  /**
   * The line of the SDK that the executor is written for. It decides the form of the request context and of the events.
   * Default is `'1.0'`.
   */
  readonly version?: SdkVersion | undefined
  /** Receives what is ignored. Default is a process warning, the first time for each reason except `'error'`. */
  readonly onIgnored?: ((ignored: Ignored) => void) | undefined
}
