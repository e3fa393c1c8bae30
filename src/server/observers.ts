/**
 * Observers of a handler's requests, runs and deliveries, for telemetry.
 *
 * @module
 */
import type { TraceHeaders } from '../runtime/trace-headers.js'
import { storableTrace } from '../runtime/trace-headers.js'

/** A request that has arrived. */
export interface ObservedRequest {
  /** The HTTP request; absent for a call of `dispatch`. */
  readonly http?:
    | {
        readonly method: string
        /** The absolute URL. */
        readonly url: string
        /** The value of a header; `name` is in lower case. */
        header(name: string): string | null
      }
    | undefined
}

/** What is known about a request, as it becomes known. It contains ids, names and codes, and no content. */
export interface RequestFacts {
  /** The operation by its name in A2A 1.0, such as `SendMessage`. */
  readonly operation?: string
  /** The path of a route that is no operation: that of the card. */
  readonly route?: string
  /** The version of the dialect, such as `1.0`. */
  readonly version?: string
  readonly binding?: 'JSONRPC' | 'HTTP+JSON'
  /** The id of a JSON-RPC request. */
  readonly rpcId?: string | number | null
  readonly isStream?: boolean
  /** The URIs of the extensions that the client declares and the card lists. */
  readonly extensions?: readonly string[]
  readonly tenant?: string | undefined
  readonly messageId?: string | undefined
  readonly referenceTaskIds?: readonly string[] | undefined
  readonly taskId?: string | undefined
  readonly contextId?: string | undefined
  readonly state?: string
  /** The id of an artifact that the response contains. */
  readonly artifactId?: string
  /** The status of the HTTP response. */
  readonly status?: number
  /** The error that the client receives, with its code in JSON-RPC. */
  readonly error?: { readonly code: string; readonly rpcCode?: number | undefined }
}

/** Follows one request. */
export interface RequestFollower {
  /** Calls `answer`, which answers the request, once, and returns what it returns. */
  within<T>(answer: () => T): T
  /** Called any number of times. Later facts replace earlier ones. */
  record(facts: RequestFacts): void
  /** Called once: when the response is made, or its stream has ended. */
  end(): void
}

/** One attempt to send a notification. */
export interface ObservedDelivery {
  readonly taskId: string
  /** The URL of the webhook. It may contain secrets. */
  readonly url: string
  /** 1 for the first attempt. */
  readonly attempt: number
  /** The trace in which the webhook was registered. */
  readonly trace: TraceHeaders | undefined
}

/** Follows one attempt to send a notification. */
export interface DeliveryFollower {
  /** Headers to send. Those of the notification take precedence. */
  readonly headers: TraceHeaders
  /** @param failure - Absent if the notification has arrived. */
  end(failure?: { readonly status?: number }): void
}

/** A step of a run. */
export interface ObservedStep {
  readonly taskId: string
  /** The name with its occurrence in the turn: `price#1`. */
  readonly name: string
  /** Whether its output comes from the journal. */
  readonly isReplayed: boolean
}

/** Follows one step. */
export interface StepFollower {
  /** Calls `work`, which does all attempts of the step, once, and returns what it returns. */
  within<T>(work: () => T): T
  /** @param failure - What the step throws. Absent if it has succeeded. */
  end(failure?: { readonly error: unknown }): void
}

/**
 * Receives what a handler does, for telemetry. A method that throws disturbs the request or run that it is called for.
 */
export interface HandlerObserver {
  /** Returns `undefined` for a request that it does not follow. */
  onRequest(request: ObservedRequest): RequestFollower | undefined
  /**
   * The trace of the caller, to be stored with a message that another process may work on, and with a webhook. More than
   * 1,024 characters are not stored.
   */
  trace(): TraceHeaders | undefined
  /** Calls `work`, which begins a run, once, in a trace that was stored, and returns what it returns. */
  within<T>(trace: TraceHeaders, work: () => T): T
  /** Returns `undefined` for an attempt that it does not follow. */
  onDelivery(delivery: ObservedDelivery): DeliveryFollower | undefined
  /** Called where a run calls `run.step()` or `run.transaction()`. Returns `undefined` for a step that it does not follow. */
  onStep?(step: ObservedStep): StepFollower | undefined
}

/** The observers of what a handler does beside its requests. */
export class Observers {
  readonly #all = new Set<HandlerObserver>()

  add(observer: HandlerObserver): void {
    this.#all.add(observer)
  }

  /** The trace of the first observer that has one. */
  trace(): TraceHeaders | undefined {
    for (const observer of this.#all) {
      const trace = storableTrace(observer.trace())
      if (trace !== undefined) return trace
    }
    return undefined
  }

  within<T>(trace: TraceHeaders | undefined, work: () => T): T {
    let outer = work
    if (trace === undefined) return outer()
    for (const observer of this.#all) {
      const inner = outer
      outer = () => observer.within(trace, inner)
    }
    return outer()
  }

  onStep(step: ObservedStep): StepFollower | undefined {
    if (this.#all.size === 0) return undefined
    const followers = [...this.#all].flatMap((observer) => observer.onStep?.(step) ?? [])
    return {
      within: (work) => nested(followers, work),
      end: (failure) => followers.forEach((follower) => follower.end(failure)),
    }
  }

  onDelivery(delivery: ObservedDelivery): DeliveryFollower | undefined {
    if (this.#all.size === 0) return undefined
    const followers = [...this.#all].flatMap((observer) => observer.onDelivery(delivery) ?? [])
    return {
      headers: Object.assign({}, ...followers.map(({ headers }) => headers)) as TraceHeaders,
      end: (failure) => followers.forEach((follower) => follower.end(failure)),
    }
  }
}

function nested<T>(followers: readonly { within<R>(work: () => R): R }[], work: () => T): T {
  let outer = work
  for (const follower of followers) {
    const inner = outer
    outer = () => follower.within(inner)
  }
  return outer()
}

/** The followers of one request. */
export class Trail {
  readonly #followers: readonly RequestFollower[]
  #hasEnded = false

  private constructor(followers: readonly RequestFollower[]) {
    this.#followers = followers
  }

  /** `undefined` when no observer follows the request. */
  static of(observers: readonly HandlerObserver[], request: ObservedRequest): Trail | undefined {
    const followers = observers.flatMap((observer) => observer.onRequest(request) ?? [])
    return followers.length === 0 ? undefined : new Trail(followers)
  }

  within<T>(answer: () => T): T {
    return nested(this.#followers, answer)
  }

  record(facts: RequestFacts): void {
    for (const follower of this.#hasEnded ? [] : this.#followers) follower.record(facts)
  }

  /** Idempotent. */
  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    for (const follower of this.#followers) follower.end()
  }
}
