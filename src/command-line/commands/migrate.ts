/**
 * `migrate`: the tables of a store, created or updated.
 *
 * @module
 */
import type { Command } from '../command.js'
import { EXIT } from '../exit-codes.js'
import { CommandFailure } from '../failure.js'
import {
  locateStore,
  STORE_NAMES,
  STORE_OPTIONS,
  type StoreKind,
  type StoreLocation,
} from '../stores/location.js'

export const command: Command = {
  name: 'migrate',
  usage: 'migrate STORE',
  summary: 'Create or update the tables of a store',
  description: `STORE is a SQLite file, or a URL: postgres://… or redis://…. It may also be the name of a variable: $DATABASE_URL
as a text keeps the password out of the list of processes. The driver is that of your project: pg or postgres, redis or
ioredis. SQLite needs none on Node 22.13 and later; on Node 20, libsql.`,
  positionals: [1, 1],
  options: STORE_OPTIONS,
  examples: [
    'migrate tasks.db',
    "migrate '$DATABASE_URL'",
    'migrate redis://localhost:6379 --prefix my-agent',
  ],
  async run(args, terminal) {
    const location = locateStore(args, terminal)
    const { kind } = location
    try {
      await migrate(location)
    } catch (error) {
      throw toFailure(error, kind)
    }
    if (args.flag('json')) terminal.out.json({ migrated: true, kind }, 2)
    else terminal.out.line(`The ${STORE_NAMES[kind]} store is up to date`)
    return EXIT.ok
  },
}

async function migrate(location: StoreLocation): Promise<void> {
  const { store, close } = await location.open()
  try {
    await store.migrate()
  } finally {
    await close()
  }
}

function toFailure(error: unknown, kind: StoreKind): CommandFailure {
  if (error instanceof CommandFailure) return error
  const message = error instanceof Error ? error.message || codeOf(error) : String(error)
  const isUsage = error instanceof TypeError
  return new CommandFailure(
    `The ${STORE_NAMES[kind]} store was not migrated: ${message}`,
    isUsage ? EXIT.usage : EXIT.unreachable,
    { hint: HINTS[kind], cause: error },
  )
}

const HINTS: Readonly<Record<StoreKind, string>> = {
  sqlite: 'Is the file a SQLite database, in a folder that you may write to?',
  postgres: 'Check the URL, that the server runs, and that the user may create a schema',
  redis: 'Check the URL, and that the server runs',
}

/** Errors of several addresses have no message of their own. */
function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : error.name
}
