/**
 * A run at another agent: its position, and what this package needs of the client that runs it.
 *
 * @module
 */

/** The position of a run, as plain JSON. Store it, and another process can `resume` the run. */
export interface RunHandle {
  /** The id of the message that started the run. */
  readonly messageId: string
  /** The id of the conversation, once known. */
  readonly contextId?: string
  /** The id of the agent's task. Absent until the agent has responded. */
  readonly taskId?: string
  /** Set if `contextId` was generated for this run: then the only task in that context is the run's. */
  readonly isOwnContext?: boolean
  /**
   * The id of the last event reported, for `subscribe`. `resume` does not use it: a resumed run reports the whole task
   * first, then new events.
   */
  readonly lastEventId?: string
}

/** The methods of a client, as far as delegations call them. */
export interface Runner {
  readonly card: { readonly name: string; readonly supportedInterfaces?: readonly { readonly url: string }[] }
  run(
    message: object,
    options: {
      readonly signal: AbortSignal
      readonly onStart: (handle: RunHandle) => Promise<void>
      readonly onUpdate: (update: { readonly handle: RunHandle }) => void
      readonly repeats?: RunHandle
    },
  ): Promise<RunnerResult>
}

export interface RunnerResult {
  readonly ok: boolean
  readonly type: string
  readonly text: string
  readonly task?: { readonly id: string; readonly contextId?: string }
  readonly message?: object
  readonly error?: { readonly code: string }
}
