/**
 * Questions to the user in the terminal.
 *
 * @module
 */
import { createInterface } from 'node:readline/promises'
import type { Channel } from './terminal.js'

/** Lines that the user types. */
export interface Prompt {
  /** The next line; with a text, unless it `mayBeEmpty`. Resolves to `undefined` at the end of the input (Ctrl-D). */
  readonly ask: (mayBeEmpty: boolean) => Promise<string | undefined>
  readonly close: () => void
}

/**
 * Asks for lines until it is closed, or `signal` aborts. A terminal that is asked does not make a signal of Ctrl-C: `onInterrupt`
 * is called.
 */
export function openPrompt(
  err: Channel,
  { signal, onInterrupt }: { signal: AbortSignal; onInterrupt: () => void },
): Prompt {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const ended = new Promise<undefined>((resolve) => {
    lines.once('close', () => resolve(undefined))
    signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
  lines.on('SIGINT', onInterrupt)
  return {
    async ask(mayBeEmpty) {
      for (;;) {
        err.endLine()
        const answer = await Promise.race([lines.question('> ').catch(() => undefined), ended])
        if (answer === undefined || mayBeEmpty || answer.trim() !== '') return answer
      }
    },
    close: () => lines.close(),
  }
}
