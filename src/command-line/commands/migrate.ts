/**
 * `migrate`: the tables of a store, created or updated.
 *
 * @module
 */
import { resolve } from 'node:path'
import type { Arguments } from '../arguments.js'
import type { Command } from '../command.js'
import { EXIT } from '../exit-codes.js'
import { CommandFailure, usageFailure } from '../failure.js'
import { migratePostgres, migrateRedis, migrateSqlite } from '../stores/migrations.js'
import type { Terminal } from '../terminal/terminal.js'

export const command: Command = {
  name: 'migrate',
  usage: 'migrate STORE',
  summary: 'Create or update the tables of a store',
  description: `STORE is a SQLite file, or a URL: postgres://… or redis://…. It may also be the name of a variable: $DATABASE_URL
as a text keeps the password out of the list of processes. The driver is that of your project: pg or postgres, redis or
ioredis. SQLite needs none on Node 22.13 and later; on Node 20, libsql.`,
  positionals: [1, 1],
  options: {
    schema: {
      type: 'string',
      value: 'NAME',
      help: 'PostgreSQL: the schema of the tables. Default is a2a_tasks',
    },
    prefix: { type: 'string', value: 'TEXT', help: 'SQLite and Redis: the prefix of the names' },
  },
  examples: [
    'migrate tasks.db',
    "migrate '$DATABASE_URL'",
    'migrate redis://localhost:6379 --prefix my-agent',
  ],
  async run(args, terminal) {
    const store = storeOf(args.at(0), terminal)
    const kind = kindOf(store)
    hidePassword(store, terminal)
    requireOptions(args, kind)
    try {
      await migrate(kind, store, args, terminal.cwd)
    } catch (error) {
      throw toFailure(error, kind)
    }
    if (args.flag('json')) terminal.out.json({ migrated: true, kind }, 2)
    else terminal.out.line(`The ${KINDS[kind]} store is up to date`)
    return EXIT.ok
  },
}

type Kind = 'sqlite' | 'postgres' | 'redis'
const KINDS: Readonly<Record<Kind, string>> = { sqlite: 'SQLite', postgres: 'PostgreSQL', redis: 'Redis' }

function storeOf(text: string, { env }: Terminal): string {
  const [, name] = /^\$\{?(\w+)\}?$/.exec(text) ?? []
  if (name === undefined) return text
  const value = env[name]
  if (value === undefined || value === '') throw usageFailure(`The variable ${name} is not set`)
  return value
}

function kindOf(store: string): Kind {
  if (/^postgres(ql)?:\/\//i.test(store)) return 'postgres'
  if (/^rediss?:\/\//i.test(store)) return 'redis'
  const [, scheme] = /^([a-z][a-z0-9+.-]+):\/\//i.exec(store) ?? []
  if (scheme === undefined || scheme === 'file') return 'sqlite'
  throw usageFailure(
    `There is no store for ${scheme}://`,
    'STORE is a SQLite file, postgres://… or redis://…',
  )
}

function hidePassword(store: string, { secrets }: Terminal): void {
  if (!URL.canParse(store)) return
  const { password } = new URL(store)
  secrets.add(password)
  secrets.add(decodeURIComponent(password))
}

function requireOptions(args: Arguments, kind: Kind): void {
  const unfit = kind === 'postgres' ? 'prefix' : 'schema'
  if (args.text(unfit) !== undefined) throw usageFailure(`--${unfit} is not for ${KINDS[kind]}`)
}

function migrate(kind: Kind, store: string, args: Arguments, cwd: string): Promise<void> {
  const options = { cwd, schema: args.text('schema'), prefix: args.text('prefix') }
  if (kind === 'postgres') return migratePostgres(store, options)
  if (kind === 'redis') return migrateRedis(store, options)
  return migrateSqlite(resolve(cwd, store.replace(/^file:\/\//, '')), options)
}

function toFailure(error: unknown, kind: Kind): CommandFailure {
  if (error instanceof CommandFailure) return error
  const message = error instanceof Error ? error.message || codeOf(error) : String(error)
  const isUsage = error instanceof TypeError
  return new CommandFailure(
    `The ${KINDS[kind]} store was not migrated: ${message}`,
    isUsage ? EXIT.usage : EXIT.unreachable,
    { hint: HINTS[kind], cause: error },
  )
}

const HINTS: Readonly<Record<Kind, string>> = {
  sqlite: 'Is the file a SQLite database, in a folder that you may write to?',
  postgres: 'Check the URL, that the server runs, and that the user may create a schema',
  redis: 'Check the URL, and that the server runs',
}

/** Errors of several addresses have no message of their own. */
function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : error.name
}
