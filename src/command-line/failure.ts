/**
 * Failures of commands, as the user reads them: the fault, and what to do about it.
 *
 * @module
 */
import { EXIT, type ExitCode } from './exit-codes.js'

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

/** A wrong command line, file or profile. */
export function usageFailure(message: string, hint?: string): CommandFailure {
  return new CommandFailure(message, EXIT.usage, hint === undefined ? {} : { hint })
}
