import type { Hint, StoreHints, TaskStore } from 'a2a-tasks/durable'

export type StepName = Exclude<keyof TaskStore, 'hints' | 'feed'> | 'publish' | 'listen'

/** What goes wrong: throws, or takes as long as its promise does. */
export interface Faults {
  /** Before a step is taken. What it throws, the step throws, and nothing was done. */
  before?: ((step: StepName, args: readonly unknown[]) => unknown) | undefined
  /** After it was taken. What it throws, the step throws, though it was done. */
  after?: ((step: StepName, args: readonly unknown[], result: unknown) => unknown) | undefined
  /** The hints that come of those that were published. */
  hint?: ((hints: readonly Hint[]) => readonly Hint[]) | undefined
}

/** A store that does what `faults` says, which may be changed at any time. */
export function faultyStore(store: TaskStore, faults: Faults): TaskStore {
  const step = (name: StepName, run: (...args: never[]) => Promise<unknown>) => {
    return async (...args: never[]): Promise<unknown> => {
      await faults.before?.(name, args)
      const result = await run(...args)
      await faults.after?.(name, args, result)
      return result
    }
  }
  const { hints } = store
  const publish = (published: readonly Hint[]): Promise<void> =>
    hints?.publish(faults.hint?.(published) ?? published) ?? Promise.resolve()
  const listen: StoreHints['listen'] = (...listeners) =>
    hints?.listen(...listeners) ?? Promise.reject(new Error('No hints'))
  return new Proxy(store, {
    get(target, property) {
      if (property === 'hints')
        return hints && { publish: step('publish', publish), listen: step('listen', listen) }
      const value: unknown = Reflect.get(target, property)
      if (typeof value !== 'function') return value
      // Every method of a store is called so.
      return step(property as StepName, value.bind(target) as never)
    },
  })
}

/** The same without hints: what others did is found by polling. */
export function withoutHints(store: TaskStore): TaskStore {
  return new Proxy(store, {
    get(target, property) {
      const value: unknown = property === 'hints' ? undefined : Reflect.get(target, property)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

/** A promise to be kept by hand. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

/** The answer to the first step of this name is lost. */
export function lostOnce(name: StepName): (step: StepName) => void {
  let isLost = false
  return (step) => {
    if (step !== name || isLost) return
    isLost = true
    throw new Error('Lost')
  }
}
