/**
 * The program: finds the command, runs it, and reports its failure.
 *
 * @module
 */
import { readArguments } from './arguments.js'
import type { CommandEntry } from './command.js'
import { EXIT, type ExitCode } from './exit-codes.js'
import { CommandFailure, failureLines, usageFailure } from './failure.js'
import { commandHelp, programHelp } from './help.js'
import { nearest } from './suggestion.js'
import { errorText } from './terminal/error-text.js'
import { dim } from './terminal/style.js'
import type { Terminal } from './terminal/terminal.js'
import { packageVersion } from './version.js'

const entry = (
  name: string,
  summary: string,
  load: () => Promise<{ command: Awaited<ReturnType<CommandEntry['load']>> }>,
): CommandEntry => ({ name, summary, load: async () => (await load()).command })

/** Each is loaded when it is used. */
export const COMMANDS: readonly CommandEntry[] = [
  entry('card', 'Show the card of an agent, and problems for clients', () => import('./commands/card.js')),
  entry('send', 'Send a message and follow its task', () => import('./commands/send.js')),
  entry('resume', 'Continue a run that was left', () => import('./commands/resume.js')),
  entry('watch', 'Follow a task, and never change it', () => import('./commands/watch.js')),
  entry('get', 'Show a task as it is', () => import('./commands/get.js')),
  entry('list', 'List the tasks of an agent', () => import('./commands/list.js')),
  entry('cancel', 'Cancel a task', () => import('./commands/cancel.js')),
  entry('check', 'Check an agent against the specification', () => import('./commands/check.js')),
  entry(
    'init',
    'Write a new agent, with a client, a test and a Dockerfile',
    () => import('./commands/init.js'),
  ),
  entry('dev', 'Serve an agent, and restart it when its files change', () => import('./commands/dev.js')),
  entry('inspect', 'Show the tasks of an agent or a store in a page', () => import('./commands/inspect.js')),
  entry(
    'mcp',
    'Serve the skills of an agent as tools of MCP, on stdin and stdout',
    () => import('./commands/mcp.js'),
  ),
  entry('migrate', 'Create or update the tables of a store', () => import('./commands/migrate.js')),
  entry('completion', 'Print a completion script for bash or zsh', async () => {
    const { completionOf } = await import('./commands/completion.js')
    return { command: completionOf(COMMANDS) }
  }),
]

/** Runs a command line, without the name of the program. Does not reject. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const { out, err } = terminal
  const json = argv.includes('--json')
  try {
    return await dispatch(argv, terminal)
  } catch (error) {
    const failure = await toFailure(error, argv)
    out.endLine()
    if (json) out.json({ error: errorObject(failure) }, 2)
    err.line(...failureLines(failure))
    if (await showsStack(error, argv)) err.text(dim(errorText(error, terminal.cwd)))
    return failure.exitCode
  }
}

async function dispatch(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const [first = '', ...rest] = argv
  const { out } = terminal
  const isHelp = ['help', '--help', '-h'].includes(first)
  const name = first === 'help' ? rest[0] : undefined
  if (['--version', '-V', 'version'].includes(first)) {
    out.line(packageVersion())
    return EXIT.ok
  }
  if (name !== undefined) {
    out.text(commandHelp(await find(name).load()))
    return EXIT.ok
  }
  if (isHelp) {
    out.text(programHelp(COMMANDS))
    return EXIT.ok
  }
  if (first === '') {
    terminal.err.text(programHelp(COMMANDS))
    return EXIT.usage
  }
  const command = await find(first).load()
  const args = readArguments(command, rest)
  if (args.flag('help')) {
    out.text(commandHelp(command))
    return EXIT.ok
  }
  return await command.run(args, terminal)
}

/** @throws {CommandFailure} with a suggestion, if there is no such command. */
function find(name: string): CommandEntry {
  const found = COMMANDS.find((each) => each.name === name)
  if (found !== undefined) return found
  const names = COMMANDS.map((each) => each.name)
  const near = nearest(name, names)
  const isUrl = /^https?:/.test(name)
  if (isUrl) throw usageFailure('A command is missing', `Try: a2a-tasks card ${name}`)
  const hint = near === undefined ? `The commands are ${names.join(', ')}` : `Did you mean ${near}?`
  throw usageFailure(
    name.startsWith('-') ? `There is no option ${name}` : `There is no command "${name}"`,
    hint,
  )
}

async function showsStack(error: unknown, argv: readonly string[]): Promise<boolean> {
  if (argv.includes('--verbose') || argv.includes('-v')) return true
  const { isFault } = await import('./connection/explain.js')
  return isFault(error)
}

async function toFailure(error: unknown, argv: readonly string[]): Promise<CommandFailure> {
  if (error instanceof CommandFailure) return error
  // Only failures need the library here.
  const { explain } = await import('./connection/explain.js')
  return explain(
    error,
    argv.find((word) => /^https?:/.test(word)),
  )
}

function errorObject({ message, hint, exitCode, cause }: CommandFailure): Record<string, unknown> {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return { message, exitCode, ...(hint !== undefined && { hint }), ...(typeof code === 'string' && { code }) }
}
