/**
 * `check`: the checks of an agent against the specification.
 *
 * @module
 */
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { checkAgent, readKnown, type Known, type Report } from '../../conformance/suite.js'
import type { Arguments } from '../arguments.js'
import type { Command } from '../command.js'
import { requireUrl } from '../connection/connect.js'
import { readCredentials } from '../connection/credentials.js'
import { CREDENTIAL_OPTIONS } from '../connection/options.js'
import { EXIT } from '../exit-codes.js'
import { CommandFailure, usageFailure } from '../failure.js'
import { reportLines, toJUnit } from '../render/check-report.js'
import { printableLine } from '../terminal/printable.js'
import type { Terminal } from '../terminal/terminal.js'

export const command: Command = {
  name: 'check',
  usage: 'check URL',
  summary: 'Check an agent against the specification',
  description: `Sends the agent messages whose first word says what to do: echo, stream, wait, ask, fail, reply.
Checks of what the agent does not do are skipped; with --strict they fail.
Exits with 1 if the agent breaks what it must do. The agent does the work of some hundred real tasks, so use one for tests.`,
  positionals: [1, 1],
  options: {
    strict: { type: 'boolean', help: 'The agent must do what every message says' },
    junit: { type: 'string', value: 'FILE', help: 'Write the results as JUnit XML, too' },
    interface: {
      type: 'string',
      multiple: true,
      value: 'NAME',
      help: 'Check only this interface: "JSONRPC 1.0"',
    },
    known: {
      type: 'string',
      value: 'FILE',
      help: 'Accept the failures of this list: [{ check, interface?, reason }]',
    },
    'same-origin': { type: 'boolean', help: 'Send requests to the origin of URL, whatever the card says' },
    webhook: { type: 'string', value: 'URL', help: 'The webhook to register in checks' },
    ...CREDENTIAL_OPTIONS,
  },
  examples: [
    'check http://localhost:3000',
    'check https://agent.example --junit results.xml',
    'check http://localhost:3000 --strict --interface "HTTP+JSON 1.0" --json',
  ],
  async run(args, terminal) {
    const url = args.at(0)
    requireUrl(url)
    const known = readKnownFile(args, terminal.cwd)
    const report = await runChecks(args, terminal, known)
    terminal.err.endLine()
    const file = args.text('junit')
    if (file !== undefined)
      await writeReport(resolve(terminal.cwd, file), terminal.secrets.hide(toJUnit(report)))
    if (args.flag('json')) terminal.out.json(report, 2)
    else terminal.out.line(...reportLines(report))
    const isBad = report.results.some(({ outcome, level }) => outcome === 'failed' && level === 'must')
    return isBad || report.stale.length > 0 ? EXIT.negative : EXIT.ok
  },
}

async function runChecks(args: Arguments, terminal: Terminal, known: readonly Known[]): Promise<Report> {
  const url = args.at(0)
  const { headersFor } = await readCredentials(args, terminal, url)
  const only = args.texts('interface')
  const webhook = args.text('webhook')
  const started = new Set<string>()
  try {
    return await checkAgent(url, {
      ...(headersFor !== undefined && { headers: headersFor }),
      ...(args.flag('same-origin') && { origin: new URL(url).origin }),
      ...(webhook !== undefined && { webhook }),
      ...(only.length > 0 && { only }),
      known,
      anyAgent: !args.flag('strict'),
      onResult: ({ target, outcome }) => {
        if (args.flag('json')) return
        if (!started.has(target)) terminal.err.line(`Checking ${printableLine(target)}`)
        started.add(target)
        if (terminal.isInteractive) terminal.err.write(outcome === 'failed' ? 'F' : '.')
      },
    })
  } catch (error) {
    // No card, or none with an interface that can be checked.
    const message = error instanceof Error ? error.message : String(error)
    throw new CommandFailure(`The agent at ${url} cannot be checked: ${message}`, EXIT.unreachable, {
      hint: `See its card with: a2a-tasks card ${url}`,
      cause: error,
    })
  }
}

function readKnownFile(args: Arguments, cwd: string): readonly Known[] {
  const file = args.text('known')
  if (file === undefined) return []
  try {
    return readKnown(resolve(cwd, file))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw usageFailure(
      `--known: ${reason}`,
      'It takes a JSON file: [{ "check": "message/echo", "reason": "…" }]',
    )
  }
}

async function writeReport(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text)
  } catch (error) {
    throw usageFailure(`Cannot write ${path}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
