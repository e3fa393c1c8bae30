import { setImmediate as turn } from 'node:timers/promises'

/** The errors that become uncaught ones by the end of the turn in which `run` runs. */
export async function uncaughtBy(run: () => void): Promise<unknown[]> {
  const errors: unknown[] = []
  const listeners = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => errors.push(error))
  try {
    run()
    await turn()
  } finally {
    process.removeAllListeners('uncaughtException')
    for (const listener of listeners) process.on('uncaughtException', listener)
  }
  return errors
}
