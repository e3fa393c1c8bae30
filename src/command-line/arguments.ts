/**
 * Arguments of a command, read by the options that the command has.
 *
 * @module
 */
import { parseArgs } from 'node:util'
import { usageFailure, type CommandFailure } from './failure.js'
import { nearest } from './suggestion.js'
import { COMMON_OPTIONS, type Options, type Syntax } from './syntax.js'

/** The values of a command line. Asking for an option that the command does not have is a mistake in the command. */
export class Arguments {
  readonly positionals: readonly string[]
  readonly #values: Readonly<Record<string, unknown>>

  constructor(values: Readonly<Record<string, unknown>>, positionals: readonly string[]) {
    this.#values = values
    this.positionals = positionals
  }

  /** The positional argument at `index`, which the number of arguments says to be there. */
  at(index: number): string {
    return this.positionals[index] ?? ''
  }

  flag(name: string): boolean {
    return this.#values[name] === true
  }

  text(name: string): string | undefined {
    const value = this.#values[name]
    return typeof value === 'string' ? value : undefined
  }

  texts(name: string): readonly string[] {
    const value = this.#values[name]
    return Array.isArray(value) ? value.map(String) : []
  }

  /** A number above 0. */
  number(name: string): number | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const number = Number(text)
    if (text.trim() !== '' && Number.isFinite(number) && number > 0) return number
    throw usageFailure(`--${name} must be a number above 0, got "${text}"`)
  }

  integer(name: string): number | undefined {
    const number = this.number(name)
    if (number === undefined || Number.isSafeInteger(number)) return number
    throw usageFailure(`--${name} must be a whole number, got "${number}"`)
  }
}

/** @throws {CommandFailure} naming what is wrong, with a suggestion for a misspelt option. */
export function readArguments(command: Syntax, args: readonly string[]): Arguments {
  const options = { ...command.options, ...COMMON_OPTIONS }
  const { values, positionals } = parse(command.name, args, options)
  const parsed = new Arguments(values, positionals)
  if (parsed.flag('help')) return parsed
  const [min, max] = command.positionals
  const usage = `Usage: a2a-tasks ${command.usage}`
  if (positionals.length < min) {
    throw usageFailure(`${command.name}: an argument is missing`, usage)
  }
  if (positionals.length > max) {
    const extra = positionals[max] ?? ''
    throw usageFailure(
      `${command.name}: unexpected argument "${extra}"`,
      `${usage}. Quote a text of several words`,
    )
  }
  return parsed
}

function parse(
  name: string,
  args: readonly string[],
  options: Options,
): { values: Readonly<Record<string, unknown>>; positionals: readonly string[] } {
  const parserOptions = Object.fromEntries(
    Object.entries(options).map(([option, { type, short, multiple }]) => [
      option,
      { type, ...(short !== undefined && { short }), ...(multiple === true && { multiple }) },
    ]),
  )
  try {
    return parseArgs({ args: [...args], options: parserOptions, allowPositionals: true })
  } catch (error) {
    throw toUsageFailure(name, error, options)
  }
}

/** The failure for what Node's parser refuses. Its messages begin with the option in quotes. */
function toUsageFailure(name: string, error: unknown, options: Options): CommandFailure {
  const message = error instanceof Error ? error.message : String(error)
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const [, written = ''] = /'(-[^' ]*)/.exec(message) ?? []
  const help = `See: a2a-tasks ${name} --help`
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const found = nearest(written.replace(/^-+/, ''), Object.keys(options))
    const hint = found === undefined ? help : `Did you mean --${found}? ${help}`
    return usageFailure(`${name}: there is no option ${written}`, hint)
  }
  if (code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') {
    const [, option = ''] = /--([\w-]+)/.exec(message) ?? []
    const spec = options[option]
    if (spec?.type === 'boolean') return usageFailure(`${name}: --${option} takes no value`, help)
    const value = spec?.value ?? 'VALUE'
    return usageFailure(
      `${name}: --${option} needs a value`,
      `Write --${option} ${value}, or --${option}=${value}`,
    )
  }
  return usageFailure(`${name}: ${message}`, help)
}
