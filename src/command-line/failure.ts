/**
 * Failures of commands, as the user reads them: the fault, and what to do about it.
 *
 * @module
 */
import { EXIT, type ExitCode } from './exit-codes.js'
import { printableLine } from './terminal/printable.js'
import { red } from './terminal/style.js'

export class CommandFailure extends Error {
  readonly exitCode: ExitCode
  /** What to do, as one sentence. */
  readonly hint: string | undefined

  constructor(message: string, exitCode: ExitCode, { hint, cause }: { hint?: string; cause?: unknown } = {}) {
    super(message, { cause })
    this.name = 'CommandFailure'
    this.exitCode = exitCode
    this.hint = hint
  }
}

/** Longer than any message of this program. A message of an agent is cut. */
const MAX_MESSAGE = 4_000

/** The failure and its hint, which may quote an agent. */
export function failureLines({ message, hint }: CommandFailure): string[] {
  const lines = [message, ...(hint === undefined ? [] : [hint])].map((text) =>
    printableLine(text, MAX_MESSAGE),
  )
  lines[0] = `${red('Error:')} ${lines[0] ?? ''}`
  return lines
}

/** A wrong command line, file or profile. */
export function usageFailure(message: string, hint?: string): CommandFailure {
  return new CommandFailure(message, EXIT.usage, hint === undefined ? {} : { hint })
}
