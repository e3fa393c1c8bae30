/**
 * Ctrl-C: the first one asks for the end, the second one ends the process.
 *
 * @module
 */
import { EXIT } from '../exit-codes.js'

const TERMINATED = 143

export interface Interrupts {
  /** What a signal does: for keys that a terminal in raw mode does not make a signal of. */
  readonly interrupt: () => void
  /** Leaves the signals to Node again. */
  readonly dispose: () => void
}

/** `onFirst` is called once. `onLeave` is called when the process ends, and must write what it writes at once. */
export function onInterrupts(onFirst: () => void, onLeave: () => void): Interrupts {
  let count = 0
  const interrupt = (): void => {
    count += 1
    if (count === 1) onFirst()
    else leave(EXIT.interrupted)
  }
  const leave = (code: number): never => {
    onLeave()
    process.exit(code)
  }
  const terminate = (): never => leave(TERMINATED)
  process.on('SIGINT', interrupt)
  process.on('SIGTERM', terminate)
  return {
    interrupt,
    dispose() {
      process.off('SIGINT', interrupt)
      process.off('SIGTERM', terminate)
    },
  }
}
