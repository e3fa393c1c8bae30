/**
 * Execution of the Lua scripts, and the prelude that they share.
 *
 * Each script receives one key, the root of all others. Its braces make it the hash tag of every key, so all keys live
 * in the same slot. Scripts never decode JSON, which is stored and returned byte by byte.
 *
 * @module
 */
import { platformCrypto } from '../../runtime/crypto.js'
import type { Connection } from './client.js'

/** The version of the key layout. Scripts refuse a store with another layout. */
export const LAYOUT = 1

/** The prefix of the error for a store with another layout. The layout follows, or `none`. */
export const OTHER_LAYOUT = 'A2A_TASKS_LAYOUT'

/**
 * The keys, after the root:
 *
 * - `:layout` – the number of the layout, or `1>2` during a migration from one to the next.
 * - `:task:<id>` – hash, the head of a task and its lease.
 * - `:log:<id>` – stream: the event of generation n has the id `n-0`, and the first of each commit names the commit.
 * - `:whole:<id>` – the latest checkpoint; `whole` of the head is its generation.
 * - `:docs:<id>` – hash, the documents of a task by `<length of the kind>:<kind><id>`: version, nonce, JSON.
 * - `:all`, `:state:<state>`, `:skill:<skill>`, `:context:<id>`, `:owner:<owner>`, `:unowned` – the indexes of tasks:
 *   sorted sets of `<updatedAt><id>`, all with the score 0, ordered by their bytes. A task is the same member in each,
 *   so that tasks in several indexes are found by membership. `placed` and `placed_state` of the head record where the
 *   task is indexed; `:lagging` has the ids of tasks whose indexes are outdated.
 * - `:ended:<state>` – the same, for tasks that have ended. `:unended` – `<createdAt><id>` of all other tasks.
 * - `:leases` – sorted set of ids by the time at which their lease expires.
 * - `:feed` – stream of all events and removals, if a feed is kept. Entries of events name the generation.
 * - `:kind:<kind>` – sorted set of all documents of a kind, by task and document id.
 */
const PRELUDE = `
local root = KEYS[1]
local layout = redis.call('GET', root .. ':layout') or 'none'
if layout ~= '${LAYOUT}' then return redis.error_reply('${OTHER_LAYOUT} ' .. layout) end

local function key(kind, name) return root .. ':' .. kind .. ':' .. name end

-- Returns nil when there is no task with this id and creation time.
local function read(id, created)
  local f = redis.call('HMGET', key('task', id), 'created', 'generation', 'state', 'ended', 'updated',
    'skill', 'context', 'owner', 'whole', 'lease', 'note', 'placed', 'placed_state')
  if not f[1] or (created and f[1] ~= created) then return nil end
  return { created = f[1], generation = f[2], state = f[3], ended = f[4], updated = f[5],
    skill = f[6], context = f[7], owner = f[8], whole = f[9], lease = f[10], note = f[11],
    placed = f[12], placed_state = f[13] }
end

-- The id in <timestamp><id>: timestamps end with their only Z.
local function id_of(member) return string.sub(member, string.find(member, 'Z', 1, true) + 1) end

-- In ms since 1970. An empty argument means the clock of Redis.
local function now(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function hold(id, lease, note, ends)
  redis.call('HSET', key('task', id), 'lease', lease)
  if note == '' then redis.call('HDEL', key('task', id), 'note')
  else redis.call('HSET', key('task', id), 'note', note) end
  redis.call('ZADD', root .. ':leases', ends, id)
end

local function drop_lease(id)
  redis.call('HDEL', key('task', id), 'lease', 'note')
  redis.call('ZREM', root .. ':leases', id)
end
`

/** A script with the shared prelude. */
export function script(body: string): string {
  return `${PRELUDE}\n${body.trim()}\n`
}

/** Runs scripts on the keys of one root. */
export class Scripts {
  readonly #connection: Connection
  readonly #root: string
  readonly #hashes = new Map<string, Promise<string>>()

  constructor(connection: Connection, root: string) {
    this.#connection = connection
    this.#root = root
  }

  async run(source: string, args: readonly (string | number)[]): Promise<unknown> {
    const rest = ['1', this.#root, ...args.map(String)]
    let hash = this.#hashes.get(source)
    if (hash === undefined) this.#hashes.set(source, (hash = hashOf(source)))
    try {
      return await this.#connection.command('evalsha', [await hash, ...rest])
    } catch (error) {
      if (!beginsWith(error, 'NOSCRIPT')) throw error
      // The server has not run it since its start, or was replaced. EVAL also caches the script there.
      return await this.#connection.command('eval', [source, ...rest])
    }
  }
}

/** The name of a script in Redis. */
async function hashOf(source: string): Promise<string> {
  const hash = await platformCrypto().subtle.digest('SHA-1', new TextEncoder().encode(source))
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Returns whether Redis replied with an error of this code. */
export function beginsWith(error: unknown, code: string): error is Error {
  return error instanceof Error && error.message.startsWith(code)
}

/** Returns whether Redis replied with an error, which begins with its code, rather than that there was no reply. */
export function isReply(error: unknown): boolean {
  return error instanceof Error && /^[A-Z][A-Z0-9_]* /.test(error.message)
}
