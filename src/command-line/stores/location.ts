/**
 * The location of a store on the command line: a SQLite file, a URL, or the name of a variable with one.
 *
 * @module
 */
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Arguments } from '../arguments.js'
import { usageFailure } from '../failure.js'
import type { Options } from '../syntax.js'
import type { Terminal } from '../terminal/terminal.js'
import { openPostgres, openRedis, openSqlite, type OpenedStore } from './open.js'

export const STORE_OPTIONS: Options = {
  schema: {
    type: 'string',
    value: 'NAME',
    help: 'PostgreSQL: the schema of the tables. Default is a2a_tasks',
  },
  prefix: { type: 'string', value: 'TEXT', help: 'SQLite and Redis: the prefix of the names' },
}

export type StoreKind = 'sqlite' | 'postgres' | 'redis'
export const STORE_NAMES: Readonly<Record<StoreKind, string>> = {
  sqlite: 'SQLite',
  postgres: 'PostgreSQL',
  redis: 'Redis',
}

/** A store that the command line names. */
export interface StoreLocation {
  readonly kind: StoreKind
  /** The path of a SQLite file. */
  readonly path: string
  open(): Promise<OpenedStore>
}

/** @throws {CommandFailure} for a location of no store, and for options that it does not have. */
export function locateStore(args: Arguments, terminal: Terminal): StoreLocation {
  const { cwd } = terminal
  const text = expanded(args.at(0), terminal)
  const kind = kindOf(text)
  hidePassword(text, terminal)
  requireOptions(args, kind)
  const options = { cwd, schema: args.text('schema'), prefix: args.text('prefix') }
  const path = /^file:\/\/\//i.test(text)
    ? fileURLToPath(text)
    : resolve(cwd, text.replace(/^file:\/\//i, ''))
  return {
    kind,
    path,
    open() {
      if (kind === 'postgres') return openPostgres(text, options)
      return kind === 'redis' ? openRedis(text, options) : openSqlite(path, options)
    },
  }
}

function expanded(text: string, { env }: Terminal): string {
  const [, name] = /^\$\{?(\w+)\}?$/.exec(text) ?? []
  if (name === undefined) return text
  const value = env[name]
  if (value === undefined || value === '') throw usageFailure(`The variable ${name} is not set`)
  return value
}

function kindOf(store: string): StoreKind {
  if (/^postgres(ql)?:\/\//i.test(store)) return 'postgres'
  if (/^rediss?:\/\//i.test(store)) return 'redis'
  const [, scheme] = /^([a-z][a-z0-9+.-]+):\/\//i.exec(store) ?? []
  if (scheme === undefined || scheme.toLowerCase() === 'file') return 'sqlite'
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

function requireOptions(args: Arguments, kind: StoreKind): void {
  const unfit = kind === 'postgres' ? 'prefix' : 'schema'
  if (args.text(unfit) !== undefined) throw usageFailure(`--${unfit} is not for ${STORE_NAMES[kind]}`)
}
