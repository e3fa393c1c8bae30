/** The way of one process to the store: slow, and lossy. */
import type { Hint, StoreHints, TaskStore } from 'a2a-tasks/durable'
import type { Decisions } from './schedule.js'
import type { Owner, World } from './world.js'

/** Receives each call that has its effect, before any process hears of it. */
export type OnEffect = (method: string, given: readonly unknown[], result: unknown) => void

export interface Way {
  readonly world: World
  readonly decisions: Decisions
  readonly owner: Owner
  readonly delayMs: number
  /** Called before the n-th call has its effect, and after. */
  readonly onCall: (n: number, when: 'before' | 'after') => void
  readonly onEffect: OnEffect
}

/** The longest time that a slow call takes on its way, in ms. */
export const SLOW_MS = 4_000

/** A store that answers `owner` late, fails now and then, and answers nothing more once `owner` is dead. */
export function wayTo(store: TaskStore, way: Way): TaskStore {
  const caller = new Caller(way)
  const methods = new Map<string, unknown>()
  const hints = store.hints && hintsOf(store.hints, way, caller)
  return new Proxy(store, {
    get: (target, name): unknown => {
      if (name === 'hints') return hints
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function' || typeof name !== 'string') return value
      const known = methods.get(name)
      if (known !== undefined) return known
      // Every method of a store returns a promise.
      const call = (...given: unknown[]): Promise<unknown> =>
        caller.call(name, given, () => Reflect.apply(value, target, given) as Promise<unknown>)
      methods.set(name, call)
      return call
    },
  })
}

class Caller {
  readonly #way: Way
  #calls = 0

  constructor(way: Way) {
    this.#way = way
  }

  call<T>(method: string, given: readonly unknown[], work: () => Promise<T>): Promise<T> {
    const { world, decisions, owner, onCall, onEffect } = this.#way
    const where = `${owner.name} ${method}`
    this.#calls += 1
    const n = this.#calls
    return new Promise((resolve, reject) => {
      const answer = (then: () => void): void => {
        world.after(this.#delay(where), `${method} answers`, then, owner)
      }
      onCall(n, 'before')
      if (owner.isDead) return
      // What was sent arrives, even if its sender dies on the way.
      world.after(this.#delay(where), `${owner.name} ${method}`, () => {
        if (decisions.fails('storeBefore', where)) {
          answer(() => reject(new Error(`The store did not receive ${method}`)))
          return
        }
        work().then((result) => {
          onEffect(method, given, result)
          onCall(n, 'after')
          const isLost = decisions.fails('storeAfter', where)
          answer(() => (isLost ? reject(new Error(`The answer to ${method} was lost`)) : resolve(result)))
        }, reject)
      })
    })
  }

  #delay(where: string): number {
    const { decisions, delayMs } = this.#way
    return decisions.fails('slow', where) ? decisions.delay(where, SLOW_MS) : decisions.delay(where, delayMs)
  }
}

function hintsOf(hints: StoreHints, way: Way, caller: Caller): StoreHints {
  const { world, decisions, owner, delayMs } = way
  return {
    publish: (given) => caller.call('publish', [given], () => hints.publish(given)),
    listen: (onHint, onGap) => {
      const deliver = (hint: Hint): void => {
        if (owner.isDead || decisions.fails('hint', owner.name)) return
        world.after(decisions.delay(`${owner.name} hint`, delayMs), 'hint', () => onHint(hint), owner)
      }
      return caller.call('listen', [], () => hints.listen(deliver, onGap))
    },
  }
}
