/**
 * The tie between a task and the session that works on it.
 *
 * @module
 */
import type { InboundProcessManager, SessionCallback } from './inbound-types.js'

/** What is asked of a process manager about a session that there is. */
type Sessions = Pick<InboundProcessManager<never>, 'subscribe' | 'unsubscribe' | 'stopProcess'>

/** Holds until it is cut: what the session says after that is not heard. */
export class SessionTie {
  readonly taskId: string
  readonly #sessionId: string
  readonly #sessions: Sessions
  #unsubscribe: (() => unknown) | undefined
  #isCut = false

  constructor(taskId: string, sessionId: string, sessions: Sessions) {
    this.taskId = taskId
    this.#sessionId = sessionId
    this.#sessions = sessions
  }

  get isCut(): boolean {
    return this.#isCut
  }

  /** A session may say something before this returns. If the tie is cut then, cut it once more. */
  subscribe(hear: (event: unknown) => void): void {
    const [id, sessions] = [this.#sessionId, this.#sessions]
    const callback: SessionCallback = (_, event) => {
      if (!this.#isCut) hear(event)
    }
    const result = sessions.subscribe(id, callback)
    this.#unsubscribe =
      typeof result === 'function'
        ? // By the contract of `subscribe` there is but one function to return.
          (result as () => unknown)
        : () => sessions.unsubscribe?.(id, callback)
  }

  /** Unsubscribes. Throws, or rejects with, what that fails with; nothing is heard after it in any case. */
  cut(): unknown {
    this.#isCut = true
    return this.#unsubscribe?.()
  }

  /** Ends the session, where the process manager can. */
  stop(): unknown {
    return this.#sessions.stopProcess?.(this.#sessionId)
  }
}
