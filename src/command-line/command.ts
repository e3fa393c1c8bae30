/**
 * Commands of the command line.
 *
 * @module
 */
import type { Arguments } from './arguments.js'
import type { ExitCode } from './exit-codes.js'
import type { Syntax } from './syntax.js'
import type { Terminal } from './terminal/terminal.js'

export interface Command extends Syntax {
  readonly summary: string
  /** Sentences that the help shows below the usage. */
  readonly description?: string
  /** Command lines, without the name of the program. */
  readonly examples: readonly string[]
  /** Resolves to the exit code. Failures are `CommandFailure` or what the library throws. */
  run(args: Arguments, terminal: Terminal): Promise<ExitCode>
}

/** An entry of the list of commands, whose code is loaded on demand. */
export interface CommandEntry {
  readonly name: string
  readonly summary: string
  load(): Promise<Command>
}
