/**
 * Help texts of the program and of its commands.
 *
 * @module
 */
import type { Command, CommandEntry } from './command.js'
import { COMMON_OPTIONS, type OptionSpec } from './syntax.js'
import { bold } from './terminal/style.js'

export function programHelp(commands: readonly CommandEntry[]): string {
  return `${bold('a2a-tasks')}: talk to A2A agents, check them, and write your own.

Usage: a2a-tasks COMMAND [options]

${bold('Commands')}
${columns(commands.map(({ name, summary }) => [name, summary]))}

${bold('Examples')}
  a2a-tasks card https://agent.example
  a2a-tasks send https://agent.example 'Write a poem' --stream
  a2a-tasks check http://localhost:3000
  a2a-tasks init my-agent

${bold('Environment')}
${columns([
  ['A2A_BEARER', 'Token to send, as --bearer does'],
  ['A2A_HEADER', 'Headers to send, one "Name: value" on each line'],
  ['A2A_PROFILE', 'Name of the profile to use, as --profile does'],
  ['NO_COLOR, FORCE_COLOR', 'Turn colours off, or on'],
])}

a2a-tasks COMMAND --help has the options and examples of a command.`
}

export function commandHelp(command: Command): string {
  const options = Object.entries({ ...command.options, ...COMMON_OPTIONS })
  return [
    `${command.summary}.`,
    '',
    `Usage: a2a-tasks ${command.usage} [options]`,
    ...(command.description === undefined ? [] : ['', command.description]),
    '',
    bold('Options'),
    columns(options.map(([name, spec]) => [optionName(name, spec), spec.help])),
    '',
    bold('Examples'),
    ...command.examples.map((example) =>
      example.includes('a2a-tasks') ? `  ${example}` : `  a2a-tasks ${example}`,
    ),
  ].join('\n')
}

function optionName(name: string, { short, value, type, multiple }: OptionSpec): string {
  const long = type === 'string' ? `--${name} ${value ?? 'VALUE'}` : `--${name}`
  return `${short === undefined ? long : `-${short}, ${long}`}${multiple === true ? ' …' : ''}`
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`).join('\n')
}
