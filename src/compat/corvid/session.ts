/**
 * A task's subscription to the events of the session that works on it.
 *
 * @module
 */
import type { InboundProcessManager, SessionCallback } from './types.js'

/** The methods of a process manager for an existing session. */
type Sessions = Pick<InboundProcessManager<never>, 'subscribe' | 'unsubscribe' | 'stopProcess'>

/** Delivers events until it is closed. */
export class SessionSubscription {
  readonly taskId: string
  readonly #sessions: Sessions
  #sessionId: string | undefined
  #unsubscribe: (() => unknown) | undefined
  #isClosed = false

  constructor(taskId: string, sessions: Sessions) {
    this.taskId = taskId
    this.#sessions = sessions
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /**
   * Subscribes to a session. Events may arrive before this returns. If one of them closes this subscription, close it again
   * afterwards: only then can it unsubscribe.
   *
   * @returns The result of the process manager's `subscribe`, which may be a promise that rejects.
   */
  subscribe(sessionId: string, onEvent: (event: unknown) => void): unknown {
    this.#sessionId = sessionId
    const sessions = this.#sessions
    const callback: SessionCallback = (_, event) => {
      if (!this.#isClosed) onEvent(event)
    }
    const result = sessions.subscribe(sessionId, callback)
    const unsubscribe = (given: unknown): unknown =>
      typeof given === 'function'
        ? // The contract of `subscribe` allows no other function.
          (given as () => unknown)()
        : sessions.unsubscribe?.(sessionId, callback)
    this.#unsubscribe = () =>
      isThenable(result)
        ? Promise.resolve(result)
            .catch(() => undefined)
            .then(unsubscribe)
        : unsubscribe(result)
    return result
  }

  /** Ends the delivery of events, and unsubscribes. Throws, or rejects with, what unsubscribing fails with. */
  close(): unknown {
    this.#isClosed = true
    return this.#unsubscribe?.()
  }

  /** Stops the session, if there is one and the process manager can stop it. */
  stop(): unknown {
    return this.#sessionId === undefined ? undefined : this.#sessions.stopProcess?.(this.#sessionId)
  }
}

function isThenable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value
}
