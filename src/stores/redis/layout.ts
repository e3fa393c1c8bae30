/**
 * Key layout and its migrations.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { beginsWith, LAYOUT, OTHER_LAYOUT, type Scripts } from './scripts.js'

/**
 * The body of a Lua function that migrates a part of a store from one layout to the next. It receives `root` and a
 * `cursor`, which is `''` at first, and returns the next cursor, or `''` at the end. Several processes in turn may
 * migrate the same part more than once, so a step must be idempotent.
 */
export type Step = string

/** Steps from each layout to the next. The first leads from no layout to layout 1 and has nothing to do. */
const STEPS: readonly Step[] = [`return ''`]

/** As a script, it is asked of the node that has the keys. */
const INFO = `return redis.call('INFO', 'memory')`
const READ = `return redis.call('GET', KEYS[1] .. ':layout') or '0'`

/**
 * Marks the store as between two layouts while a step runs, so that no client writes what the step has already passed.
 */
const advance = (step: Step): string => `
local root, from, to = KEYS[1], ARGV[1], ARGV[2]
local layout = redis.call('GET', root .. ':layout') or '0'
if layout ~= from and layout ~= from .. '>' .. to then return '' end
local function step(cursor) ${step} end
local cursor = step(ARGV[3])
redis.call('SET', root .. ':layout', cursor == '' and to or from .. '>' .. to)
return cursor
`

/** Applies the missing steps. Other processes may do so at the same time, and continue when one of them dies. */
export async function migrateLayout(scripts: Scripts, steps: readonly Step[] = STEPS): Promise<void> {
  for (;;) {
    const layout = String(await scripts.run(READ, []))
    const [from = 0, to = from] = layout.split('>').map(Number)
    if (to > steps.length) throw storeFailed('migrate', laterLayout(layout, steps.length))
    const step = steps[from]
    if (step === undefined) return
    let cursor = ''
    do cursor = String(await scripts.run(advance(step), [from, from + 1, cursor]))
    while (cursor !== '')
  }
}

/** Returns whether the error says that there is no store under the prefix. */
export function isEmpty(thrown: unknown): boolean {
  return beginsWith(thrown, `${OTHER_LAYOUT} none`)
}

/** Returns `STORE_FAILED` when an operator has to act, and the driver's error otherwise. */
export function toStoreError(thrown: unknown, operation: string): unknown {
  if (lacksPermission(thrown)) {
    return storeFailed(
      operation,
      `The user of this connection to Redis lacks a right: ${thrown.message}`,
      thrown,
    )
  }
  if (!beginsWith(thrown, OTHER_LAYOUT)) return thrown
  const layout = thrown.message.slice(OTHER_LAYOUT.length + 1)
  const [from = 0, to = from] = layout.split('>').map(Number)
  const found =
    layout === 'none' ? 'there is nothing under its prefix' : `it has layout ${layout} of ${LAYOUT}`
  const text =
    to > LAYOUT
      ? laterLayout(layout, LAYOUT)
      : `The store of "a2a-tasks" in Redis is not set up: ${found}. Call migrate() first`
  // Another process is migrating the store, so the error is transient.
  return layout.includes('>') ? new Error(text, { cause: thrown }) : storeFailed(operation, text, thrown)
}

/** Covers the errors of single commands and of commands in a script. */
function lacksPermission(thrown: unknown): thrown is Error {
  return beginsWith(thrown, 'NOPERM') || beginsWith(thrown, 'ERR The user executing the script')
}

function storeFailed(operation: string, text: string, cause?: unknown): A2AError<'STORE_FAILED'> {
  return new A2AError('STORE_FAILED', text, { operation }, { cause })
}

function laterLayout(layout: string, known: number): string {
  return (
    `The store of "a2a-tasks" in Redis has layout ${layout}, ` +
    `and this release knows them up to ${known}: it was migrated by a later one`
  )
}

/**
 * @throws {A2AError} `STORE_FAILED` when Redis evicts keys under memory pressure, because tasks would vanish piece by
 *   piece. Does nothing when Redis does not report its policy.
 */
export async function refuseEviction(scripts: Scripts): Promise<void> {
  const info = await scripts.run(INFO, []).then(String, () => '')
  const limit = /^maxmemory:(\d+)/m.exec(info)?.[1] ?? '0'
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'noeviction'
  // The `volatile-*` policies evict only keys with a time to live, and no key of the store has one.
  if (limit === '0' || !policy.startsWith('allkeys')) return
  throw storeFailed(
    'migrate',
    `Redis removes keys, and tasks with them, when its memory is full (maxmemory-policy ${policy}): ` +
      'set the policy to noeviction',
  )
}
