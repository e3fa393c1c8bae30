/** Counter of the listeners of a signal. */
export interface Listeners {
  /** Those there are. */
  readonly count: () => number
  /** Those there ever were. */
  readonly added: () => number
}

export function listenersOf(signal: AbortSignal): Listeners {
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  const listeners = new Set<unknown>()
  let added = 0
  signal.addEventListener = (...given: Parameters<typeof add>) => {
    added += 1
    listeners.add(given[1])
    add(...given)
  }
  signal.removeEventListener = (...given: Parameters<typeof remove>) => {
    listeners.delete(given[1])
    remove(...given)
  }
  return { count: () => listeners.size, added: () => added }
}
