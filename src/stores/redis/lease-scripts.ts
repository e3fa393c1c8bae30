/**
 * Lua scripts for leases. The comment before each lists its arguments and its result. An empty `now` means the clock of
 * Redis.
 *
 * @module
 */
import { UNHELD } from '../../durable/leases/lease-note.js'
import { script } from './scripts.js'

/**
 * now, id, createdAt, lease, its note and ttl → the lease that the task has and its generation, or nothing; when it
 * replaces an expired lease, also that lease's note, or an empty text
 */
export const ACQUIRE = script(`
local id, lease, time = ARGV[2], ARGV[4], now(ARGV[1])
local task = read(id, ARGV[3])
if not task or task.ended == '1' then return {} end
if task.lease and task.lease ~= lease and tonumber(redis.call('ZSCORE', root .. ':leases', id)) > time then
  return { task.lease, task.generation }
end
hold(id, lease, ARGV[5], time + ARGV[6])
if not task.lease or task.lease == lease then return { lease, task.generation } end
return { lease, task.generation, task.note or '' }
`)

/** now, ttl, … id, createdAt, lease → … the leases that were renewed */
export const RENEW = script(`
local ends, renewed = now(ARGV[1]) + ARGV[2], {}
for i = 3, #ARGV, 3 do
  local task = read(ARGV[i], ARGV[i + 1])
  if task and task.lease == ARGV[i + 2] then
    redis.call('ZADD', root .. ':leases', ends, ARGV[i])
    renewed[#renewed + 1] = task.lease
  end
end
return renewed
`)

/**
 * now, id, createdAt, lease, expected generation or nothing; the next lease, its note and ttl, if there is one → 1, or 0
 * when the generation differs and the lease is still held
 */
export const RELEASE = script(`
local task = read(ARGV[2], ARGV[3])
if not task or task.lease ~= ARGV[4] then return 1 end
if ARGV[5] ~= '' and ARGV[5] ~= task.generation then return 0 end
if ARGV[6] then hold(ARGV[2], ARGV[6], ARGV[7], now(ARGV[1]) + ARGV[8]) else drop_lease(ARGV[2]) end
return 1
`)

/**
 * now, limit, how many others to skip, and how many to look at → how many have expired, how long ago the first has that no commit
 * has expired, how many of the others are held, and how many others were looked at
 */
export const LEASE_COUNTS = script(`
local leases, time = root .. ':leases', now(ARGV[1])
local first = redis.call('ZRANGEBYSCORE', leases, '(0', time, 'WITHSCORES', 'LIMIT', 0, 1)
local others, held = redis.call('ZRANGEBYSCORE', leases, '(' .. time, '+inf', 'LIMIT', ARGV[3], ARGV[4]), 0
for _, id in ipairs(others) do
  local lease = redis.call('HGET', key('task', id), 'lease')
  if lease and ${UNHELD.map((id) => `lease ~= '${id}'`).join(' and ')} then held = held + 1 end
end
local expired = math.min(tonumber(ARGV[2]), redis.call('ZCOUNT', leases, '-inf', time))
return { expired, first[2] and time - first[2] or 0, held, #others }
`)

/** now, limit → … id, createdAt, lease, note or nothing */
export const ORPHANS = script(`
local found = {}
local ids = redis.call('ZRANGEBYSCORE', root .. ':leases', '-inf', now(ARGV[1]), 'LIMIT', 0, ARGV[2])
for _, id in ipairs(ids) do
  local task = read(id)
  -- The key of the task was deleted from outside. The other tasks must still be found.
  if not task or not task.lease then redis.call('ZREM', root .. ':leases', id)
  else for _, text in ipairs({ id, task.created, task.lease, task.note or '' }) do found[#found + 1] = text end end
end
return found
`)
