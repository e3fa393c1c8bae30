/**
 * Key layout and its migrations.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { Connection } from './client.js'
import { beginsWith, LAYOUT, OTHER_LAYOUT, type Scripts } from './scripts.js'

/**
 * The body of a Lua function that brings a part of a store from one layout to the next. It is given `root` and a
 * `cursor`, first `''`, and returns the next one, at the end `''`. Each part may be brought up to date more than once,
 * by several processes in turn.
 */
export type Step = string

/** From each layout to the next: the first is that from none to layout 1, where there is nothing to be done. */
const STEPS: readonly Step[] = [`return ''`]

const READ = `return redis.call('GET', KEYS[1] .. ':layout') or '0'`

/** Between two layouts it is neither of both, so that nobody writes what the step has passed. */
const advance = (step: Step): string => `
local root, from, to = KEYS[1], ARGV[1], ARGV[2]
local layout = redis.call('GET', root .. ':layout') or '0'
if layout ~= from and layout ~= from .. '>' .. to then return '' end
local function step(cursor) ${step} end
local cursor = step(ARGV[3])
redis.call('SET', root .. ':layout', cursor == '' and to or from .. '>' .. to)
return cursor
`

/** Takes the steps that are missing. Others may do so at the same time, and go on where one dies. */
export async function bringUpToDate(scripts: Scripts, steps: readonly Step[] = STEPS): Promise<void> {
  for (;;) {
    const layout = String(await scripts.run(READ, []))
    const [from = 0, to = from] = layout.split('>').map(Number)
    if (to > steps.length) throw refusal('migrate', laterLayout(layout, steps.length))
    const step = steps[from]
    if (step === undefined) return
    let cursor = ''
    do cursor = String(await scripts.run(advance(step), [from, from + 1, cursor]))
    while (cursor !== '')
  }
}

/** Whether there is nothing under the prefix of a store. */
export function isEmpty(thrown: unknown): boolean {
  return beginsWith(thrown, `${OTHER_LAYOUT} none`)
}

/** The driver's error, or `STORE_FAILED` when an operator has to act. */
export function explained(thrown: unknown, operation: string): unknown {
  if (lacksRight(thrown)) {
    return refusal(operation, `The user of this connection to Redis lacks a right: ${thrown.message}`, thrown)
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
  // Somebody is about to bring it from one to the other.
  return layout.includes('>') ? new Error(text, { cause: thrown }) : refusal(operation, text, thrown)
}

/** Of a command, and of one in a script. */
function lacksRight(thrown: unknown): thrown is Error {
  return beginsWith(thrown, 'NOPERM') || beginsWith(thrown, 'ERR The user executing the script')
}

function refusal(operation: string, text: string, cause?: unknown): A2AError<'STORE_FAILED'> {
  return new A2AError('STORE_FAILED', text, { operation }, { cause })
}

function laterLayout(layout: string, known: number): string {
  return (
    `The store of "a2a-tasks" in Redis has layout ${layout}, ` +
    `and this release knows them up to ${known}: it was migrated by a later one`
  )
}

/**
 * @throws {A2AError} `STORE_FAILED` when Redis removes keys to make room for others: tasks would vanish piece by piece. Where it does not
 *   say, nothing.
 */
export async function refuseEviction({ command }: Connection): Promise<void> {
  const info = await command('info', ['memory']).then(String, () => '')
  const limit = /^maxmemory:(\d+)/m.exec(info)?.[1] ?? '0'
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'noeviction'
  // What is volatile has a time to live, which no key here has.
  if (limit === '0' || !policy.startsWith('allkeys')) return
  throw refusal(
    'migrate',
    `Redis is set to remove keys when its memory is full (maxmemory-policy ${policy}), and tasks with them: ` +
      'set it to noeviction',
  )
}
