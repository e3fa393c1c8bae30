/**
 * `inspect`: a page on loopback with the tasks of an agent or a store.
 *
 * @module
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import type { A2AClient } from 'a2a-tasks/client'
import { DurableTaskManager, memoryStore, restoreArchive } from 'a2a-tasks/durable'
import { createInspector, type InspectorOptions } from 'a2a-tasks/inspector'
import { toNodeListener } from 'a2a-tasks/server/node'
import type { Arguments } from '../arguments.js'
import type { Command } from '../command.js'
import { connect } from '../connection/connect.js'
import { isListRefused, OWN_AGENT } from '../connection/explain.js'
import { CONNECTION_OPTIONS } from '../connection/options.js'
import { EXIT } from '../exit-codes.js'
import { CommandFailure, usageFailure } from '../failure.js'
import { openBrowser } from '../inspect/open-browser.js'
import { accessByToken, newToken } from '../inspect/private-path.js'
import { locateStore, STORE_NAMES, STORE_OPTIONS } from '../stores/location.js'
import { onInterrupts } from '../terminal/interrupt.js'
import { printableLine } from '../terminal/printable.js'
import type { Terminal } from '../terminal/terminal.js'

const HOST = '127.0.0.1'

export const command: Command = {
  name: 'inspect',
  usage: 'inspect URL|STORE',
  summary: 'Show the tasks of an agent or a store in a page',
  description: `Serves the page on loopback, at an address with a token in it, until Ctrl-C. In a terminal it opens the browser.
STORE is a SQLite file, postgres://…, redis://…, or the name of a variable as '$DATABASE_URL'. Of a store, the page shows
the whole log; of an agent, what the agent tells a client. A file *.jsonl is an archive of ended tasks.`,
  positionals: [1, 1],
  options: {
    port: { type: 'string', short: 'p', value: 'PORT', help: 'The port to listen on. Default is a free one' },
    'no-open': { type: 'boolean', help: 'Do not open the browser' },
    'read-only': { type: 'boolean', help: 'Show tasks, and let the page change nothing' },
    ...STORE_OPTIONS,
    ...CONNECTION_OPTIONS,
  },
  examples: ['inspect http://localhost:3000', 'inspect tasks.db', "inspect '$DATABASE_URL' --read-only"],
  async run(args, terminal) {
    const port = args.integer('port') ?? 0
    if (port > 65_535) throw usageFailure(`--port must be at most 65535, got ${port}`)
    const inspected = await inspectedBy(args, terminal)
    const token = newToken()
    const { fetch } = createInspector({
      ...inspected.options,
      authorize: accessByToken('', token),
      actions: args.flag('read-only') ? false : inspected.actions,
      onError: (error) => terminal.err.line(`The page has failed: ${printableLine(String(error), 4_000)}`),
    })
    const server = createServer(toNodeListener(fetch))
    let close = (): void => undefined
    try {
      await listen(server, port)
      const url = `http://${HOST}:${(server.address() as AddressInfo).port}/${token}/`
      if (args.flag('json')) terminal.out.json({ url }, 2)
      else terminal.out.line(`The inspector is at ${url}`)
      if (terminal.isInteractive && !args.flag('no-open')) close = openBrowser(url)
      await interrupted(close)
    } finally {
      close()
      server.close()
      server.closeAllConnections()
      await inspected.close()
    }
    return EXIT.interrupted
  },
}

interface Inspected {
  readonly options: Pick<InspectorOptions, 'tasks' | 'client'>
  readonly actions: NonNullable<InspectorOptions['actions']>
  close(): Promise<void>
}

async function inspectedBy(args: Arguments, terminal: Terminal): Promise<Inspected> {
  if (!/^https?:\/\//i.test(args.at(0))) {
    return await (/\.jsonl$/i.test(args.at(0)) ? archiveOf(args, terminal) : storeOf(args, terminal))
  }
  const { client } = await connect(args, terminal, args.at(0))
  await warnWithoutList(client, terminal)
  return { options: { client }, actions: true, close: () => Promise.resolve() }
}

/** The page is of use also where the agent does not list all tasks. */
async function warnWithoutList(client: A2AClient, terminal: Terminal): Promise<void> {
  try {
    await client.listTasks({ pageSize: 1 })
  } catch (error) {
    if (isListRefused(error)) terminal.err.line(NO_LIST)
  }
}

const NO_LIST = `The agent lists the tasks of one conversation only: enter its id as the context in the page. \
${OWN_AGENT}`

/** What `archive` of a manager has written, which is read into memory. */
async function archiveOf(args: Arguments, { cwd }: Terminal): Promise<Inspected> {
  const name = args.at(0)
  for (const option of Object.keys(STORE_OPTIONS))
    if (args.text(option) !== undefined) throw usageFailure(`--${option} is not for an archive`)
  const path = resolve(cwd, name)
  if (!existsSync(path)) throw usageFailure(`There is no file "${name}"`)
  const store = memoryStore()
  try {
    await restoreArchive(store, (await readFile(path, 'utf8')).split('\n'))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw usageFailure(`${name} is no archive of tasks: ${reason}`)
  }
  const tasks = new DurableTaskManager({ store, sweepIntervalMs: false, retention: false })
  return { options: { tasks }, actions: false, close: () => tasks.destroy() }
}

async function storeOf(args: Arguments, terminal: Terminal): Promise<Inspected> {
  const location = locateStore(args, terminal)
  const { kind, path } = location
  // Opening it would create it.
  if (kind === 'sqlite' && !existsSync(path)) throw usageFailure(`There is no file "${args.at(0)}"`)
  let opened
  try {
    opened = await location.open()
    const { store, close } = opened
    // It only reads: sweeps and retention are left to the processes of the agent.
    const tasks = new DurableTaskManager({
      store,
      sweepIntervalMs: false,
      retention: false,
      storeRetryMs: 2_000,
    })
    await tasks.size()
    return {
      options: { tasks },
      // Only the processes of the agent work on messages.
      actions: ['cancel', 'fork', 'redrive', 'delete'],
      async close() {
        await tasks.destroy()
        await close()
      },
    }
  } catch (error) {
    await opened?.close()
    if (error instanceof CommandFailure) throw error
    throw new CommandFailure(
      `The ${STORE_NAMES[kind]} store cannot be read: ${causeOf(error)}`,
      EXIT.unreachable,
      {
        hint: 'Check its location, that it runs, and that a2a-tasks migrate has made its tables',
        cause: error,
      },
    )
  }
}

function causeOf(error: unknown): string {
  const { cause = error } = error instanceof Error ? error : {}
  return cause instanceof Error && cause.message !== '' ? cause.message : String(error)
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((done, fail) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason = error.code === 'EADDRINUSE' ? 'is in use' : `cannot be listened on: ${error.message}`
      fail(usageFailure(`The port ${port} ${reason}`, 'Choose another one with --port'))
    })
    server.listen(port, HOST, done)
  })
}

/** Resolves at the first Ctrl-C. Another signal ends the process after `onLeave`. */
function interrupted(onLeave: () => void): Promise<void> {
  return new Promise((done) => {
    const { dispose } = onInterrupts(() => {
      dispose()
      done()
    }, onLeave)
  })
}
