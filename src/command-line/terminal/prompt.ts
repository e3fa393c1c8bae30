/**
 * Questions to the user in the terminal.
 *
 * @module
 */
import { createInterface } from 'node:readline/promises'
import type { Channel } from './terminal.js'

/**
 * Asks for a line of text until there is one. Resolves to `undefined` at the end of the input (Ctrl-D), and when `signal`
 * aborts. A terminal that is asked does not make a signal of Ctrl-C: `onInterrupt` is called.
 */
export async function askUser(
  err: Channel,
  { signal, onInterrupt }: { signal: AbortSignal; onInterrupt: () => void },
): Promise<string | undefined> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const ended = new Promise<undefined>((resolve) => {
    lines.once('close', () => resolve(undefined))
    signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
  lines.on('SIGINT', onInterrupt)
  try {
    for (;;) {
      err.endLine()
      const answer = await Promise.race([lines.question('> ').catch(() => undefined), ended])
      if (answer === undefined || answer.trim() !== '') return answer
    }
  } finally {
    lines.close()
  }
}
