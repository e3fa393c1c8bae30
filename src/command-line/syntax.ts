/**
 * Syntax of command lines: the arguments and options of a command.
 *
 * @module
 */

export interface OptionSpec {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: true
  /** The name of the value in the help. */
  readonly value?: string
  readonly help: string
}

export type Options = Readonly<Record<string, OptionSpec>>

export interface Syntax {
  readonly name: string
  /** Arguments, without options. */
  readonly usage: string
  /** The least and the greatest number of arguments. */
  readonly positionals: readonly [min: number, max: number]
  readonly options: Options
}

/** The options that every command has. */
export const COMMON_OPTIONS: Options = {
  json: { type: 'boolean', help: 'Print JSON, for scripts' },
  help: { type: 'boolean', short: 'h', help: 'Show this help' },
}
