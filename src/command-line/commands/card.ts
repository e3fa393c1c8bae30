/**
 * `card`: the card of an agent, its lint, its signatures, and its differences from another one.
 *
 * @module
 */
import { lintAgentCard } from 'a2a-tasks/agent-card'
import type { AgentCard } from 'a2a-tasks/schemas'
import type { Arguments } from '../arguments.js'
import { cardDifferences, type Difference } from '../card/diff.js'
import { loadCard } from '../card/load.js'
import { cardLines, problemLines, verificationText } from '../card/text.js'
import { verifyCard } from '../card/verify.js'
import type { Command } from '../command.js'
import { CONNECTION_OPTIONS } from '../connection/options.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { usageFailure } from '../failure.js'
import { printableLine } from '../terminal/printable.js'
import { green, red, yellow } from '../terminal/style.js'
import type { Terminal } from '../terminal/terminal.js'

export const command: Command = {
  name: 'card',
  usage: 'card URL|FILE | card diff URL|FILE URL|FILE',
  summary: 'Show the card of an agent, and problems for clients',
  description: `Exits with 1 if a client cannot use the agent, or no signature is valid.
card diff shows what differs from the first card to the second, and exits with 1 if anything does.`,
  positionals: [1, 3],
  options: {
    verify: { type: 'boolean', help: 'Verify the signatures, by keys from the origin of the card' },
    key: {
      type: 'string',
      multiple: true,
      value: 'FILE',
      help: 'Verify by this JSON Web Key, or set of them',
    },
    jku: { type: 'string', multiple: true, value: 'URL', help: 'Trust keys from this URL or origin, too' },
    raw: { type: 'boolean', help: 'Print the card as the agent wrote it, as JSON' },
    ...CONNECTION_OPTIONS,
  },
  examples: [
    'card https://agent.example',
    'card https://agent.example --verify --key keys.json',
    'card diff https://staging.example https://agent.example',
    'card diff card.json http://localhost:3000 --json',
  ],
  async run(args, terminal) {
    const [first = '', ...rest] = args.positionals
    if (first === 'diff') return await diff(args, terminal, rest)
    if (rest.length > 0)
      throw usageFailure('card takes one URL', 'To compare two: a2a-tasks card diff URL URL')
    return await show(args, terminal, first)
  },
}

async function show(args: Arguments, terminal: Terminal, at: string): Promise<ExitCode> {
  const { out } = terminal
  const loaded = await loadCard(args, terminal, at)
  const { source, raw, card } = loaded
  if (args.flag('raw')) {
    out.json(raw, 2)
    return EXIT.ok
  }
  const { refusal, headers } = loaded
  const problems = lintAgentCard(raw, { url: source, refusal, ...(headers && { headers }) })
  const wantsVerification =
    args.flag('verify') || args.texts('key').length > 0 || args.texts('jku').length > 0
  const signature = wantsVerification ? await verifyCard(args, terminal.cwd, loaded) : undefined
  if (args.flag('json')) {
    out.json({ source, card: card ?? null, problems, ...(signature && { signature }) }, 2)
  } else {
    if (card !== undefined) out.line(...cardLines(card), '')
    if (signature !== undefined) out.line(verificationText(signature))
    out.line(...problemLines(problems))
  }
  const isGood = !problems.some(({ level }) => level === 'error') && signature?.valid !== false
  return isGood ? EXIT.ok : EXIT.negative
}

async function diff(args: Arguments, terminal: Terminal, at: readonly string[]): Promise<ExitCode> {
  const [before, after] = at
  if (before === undefined || after === undefined) {
    throw usageFailure('card diff takes two cards', 'Usage: a2a-tasks card diff URL|FILE URL|FILE')
  }
  const found = cardDifferences(
    await comparable(args, terminal, before),
    await comparable(args, terminal, after),
  )
  if (args.flag('json')) terminal.out.json(found, 2)
  else terminal.out.line(...(found.length === 0 ? [green('No differences')] : found.map(differenceText)))
  return found.length === 0 ? EXIT.ok : EXIT.negative
}

/** Cards of several versions are compared in the form of 1.0. Signatures differ whenever anything does. */
async function comparable(
  args: Arguments,
  terminal: Terminal,
  at: string,
): Promise<Omit<AgentCard, 'signatures'>> {
  const { card, refusal } = await loadCard(args, terminal, at)
  if (card === undefined) throw refusal
  return Object.fromEntries(Object.entries(card).filter(([name]) => name !== 'signatures')) as Omit<
    AgentCard,
    'signatures'
  >
}

function differenceText({ kind, path, before, after }: Difference): string {
  const shown = (value: unknown): string => printableLine(JSON.stringify(value), 160)
  const place = printableLine(path, 120)
  if (kind === 'added') return green(`+ ${place}  ${shown(after)}`)
  if (kind === 'removed') return red(`- ${place}  ${shown(before)}`)
  return yellow(`~ ${place}  ${shown(before)} → ${shown(after)}`)
}
