/**
 * The tie between a task and the session that works on it.
 *
 * @module
 */
import type { InboundProcessManager, SessionCallback } from './types.js'

/** What is asked of a process manager about a session that there is. */
type Sessions = Pick<InboundProcessManager<never>, 'subscribe' | 'unsubscribe' | 'stopProcess'>

/** Holds until it is cut: what the session says after that is not heard. */
export class SessionTie {
  readonly taskId: string
  readonly #sessions: Sessions
  #sessionId: string | undefined
  #unsubscribe: (() => unknown) | undefined
  #isCut = false

  constructor(taskId: string, sessions: Sessions) {
    this.taskId = taskId
    this.#sessions = sessions
  }

  get isCut(): boolean {
    return this.#isCut
  }

  /**
   * A session may say something before this returns. If the tie is cut then, cut it once more.
   *
   * @returns What `subscribe` does: a promise may be rejected.
   */
  subscribe(sessionId: string, hear: (event: unknown) => void): unknown {
    this.#sessionId = sessionId
    const sessions = this.#sessions
    const callback: SessionCallback = (_, event) => {
      if (!this.#isCut) hear(event)
    }
    const result = sessions.subscribe(sessionId, callback)
    const end = (given: unknown): unknown =>
      typeof given === 'function'
        ? // By the contract of `subscribe` there is but one function to return.
          (given as () => unknown)()
        : sessions.unsubscribe?.(sessionId, callback)
    this.#unsubscribe = () =>
      isPromised(result)
        ? Promise.resolve(result)
            .catch(() => undefined)
            .then(end)
        : end(result)
    return result
  }

  /** Unsubscribes. Throws, or rejects with, what that fails with; nothing is heard after it in any case. */
  cut(): unknown {
    this.#isCut = true
    return this.#unsubscribe?.()
  }

  /** Ends the session, where there is one and the process manager can. */
  stop(): unknown {
    return this.#sessionId === undefined ? undefined : this.#sessions.stopProcess?.(this.#sessionId)
  }
}

function isPromised(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value
}
