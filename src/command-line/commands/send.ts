/**
 * `send`: a message to an agent, and its task to the end.
 *
 * @module
 */
import type { JsonValue } from 'a2a-tasks'
import type { MessageContent } from 'a2a-tasks/client'
import type { Arguments } from '../arguments.js'
import type { Command } from '../command.js'
import { connect, type Connected } from '../connection/connect.js'
import { CONNECTION_OPTIONS } from '../connection/options.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { usageFailure } from '../failure.js'
import { follow, FOLLOW_OPTIONS, quoted } from '../follow.js'
import { readFilePart, readJson, readStandardInput } from '../input.js'
import { partsText } from '../render/parts.js'
import { taskLines } from '../render/task.js'
import { bold } from '../terminal/style.js'
import type { Terminal } from '../terminal/terminal.js'

export const command: Command = {
  name: 'send',
  usage: 'send URL [TEXT]',
  summary: 'Send a message and follow its task',
  description: `TEXT is the message; - reads it from standard input. The result goes to stdout, progress to stderr.
Questions of the agent are asked in the terminal. Ctrl-C cancels the task, a second one leaves it running.`,
  positionals: [1, 2],
  options: {
    file: { type: 'string', multiple: true, value: 'PATH', help: 'Attach this file' },
    data: { type: 'string', multiple: true, value: 'JSON|@FILE', help: 'Attach this JSON as a data part' },
    task: { type: 'string', value: 'ID', help: 'Answer, or add to, this task' },
    context: { type: 'string', value: 'ID', help: 'Stay in this conversation' },
    accept: {
      type: 'string',
      multiple: true,
      value: 'TYPE',
      help: 'Media type that you accept, such as text/plain',
    },
    metadata: { type: 'string', value: 'JSON|@FILE', help: 'Metadata of the message' },
    'no-wait': { type: 'boolean', help: 'Print the task as soon as it exists' },
    ...FOLLOW_OPTIONS,
    ...CONNECTION_OPTIONS,
  },
  examples: [
    "send http://localhost:3000 'Write a poem' --stream",
    "send https://agent.example 'Summarize this' --file report.pdf --accept text/markdown",
    `send https://agent.example --data '{"city":"Paris"}' --json`,
    'send https://agent.example Paris --task 5d4c6e1a-…   # answers a question',
    'git diff | a2a-tasks send https://reviewer.example -',
  ],
  async run(args, terminal) {
    const url = args.at(0)
    const message = await toMessage(args, terminal.cwd)
    const connected = await connect(args, terminal, url, { isRun: true })
    if (args.flag('no-wait')) return await sendOnly(args, terminal, connected, message)
    const { client, credentials } = connected
    return await follow(args, terminal, {
      url,
      profile: credentials.profile,
      isOwn: true,
      start: (options) => client.run(message, { ...options, ...acceptedModes(args) }),
    })
  },
}

async function toMessage(args: Arguments, cwd: string): Promise<MessageContent> {
  const given = args.positionals[1]
  const text = given === '-' ? (await readStandardInput()).replace(/\n$/, '') : given
  const files = await Promise.all(args.texts('file').map((path) => readFilePart(path, cwd)))
  const data = await Promise.all(args.texts('data').map((json) => readJson(json, '--data', cwd)))
  const parts = [
    ...(text === undefined || text === '' ? [] : [{ text }]),
    // What JSON.parse returns is JSON.
    ...data.map((value) => ({ data: value as JsonValue })),
    ...files,
  ]
  if (parts.length === 0) {
    throw usageFailure('The message is empty', "Write: a2a-tasks send URL 'TEXT', or pass --file or --data")
  }
  const metadata = args.text('metadata')
  return {
    parts,
    taskId: args.text('task'),
    contextId: args.text('context'),
    ...(metadata !== undefined && { metadata: await readMetadata(metadata, cwd) }),
  }
}

async function readMetadata(text: string, cwd: string): Promise<NonNullable<MessageContent['metadata']>> {
  const json = await readJson(text, '--metadata', cwd)
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw usageFailure('--metadata must be a JSON object', `For example: --metadata '{"team":"research"}'`)
  }
  // An object that JSON.parse returns.
  return json as NonNullable<MessageContent['metadata']>
}

function acceptedModes(args: Arguments): { acceptedOutputModes?: readonly string[] } {
  const modes = args.texts('accept')
  return modes.length === 0 ? {} : { acceptedOutputModes: modes }
}

async function sendOnly(
  args: Arguments,
  { out, err }: Terminal,
  { client, credentials }: Connected,
  message: MessageContent,
): Promise<ExitCode> {
  const sent = await client.send(message, { returnImmediately: true, ...acceptedModes(args) })
  if (args.flag('json')) {
    out.json(sent, 2)
    return EXIT.ok
  }
  if (sent.type === 'message') {
    out.text(partsText(sent.message.parts).trimEnd())
    return EXIT.ok
  }
  out.line(...taskLines(sent.task))
  const { profile } = credentials
  const option = profile === undefined ? '' : ` --profile ${quoted(profile)}`
  err.line(
    `To follow it: ${bold(`npx a2a-tasks watch ${quoted(args.at(0))} ${quoted(sent.task.id)}${option}`)}`,
  )
  return EXIT.ok
}
