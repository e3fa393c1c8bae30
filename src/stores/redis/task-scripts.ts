/**
 * Lua scripts that create, change, read and remove tasks. The comment before each lists its arguments and its result.
 *
 * @module
 */
import { FEEDING } from './feed-scripts.js'
import { INDEXING } from './indexing.js'
import { script } from './scripts.js'

const LOGGING = `${FEEDING}
-- Appends the events in ARGV[first], … ARGV[last]: pairs of generation and event.
local function append(id, created, commit, first, last)
  local log, fed = key('log', id), has_feed()
  for i = first, last, 2 do
    if fed then feed_event(id, created, ARGV[i]) end
    if i == first then redis.call('XADD', log, ARGV[i] .. '-0', 'commit', commit, 'event', ARGV[i + 1])
    else redis.call('XADD', log, ARGV[i] .. '-0', 'event', ARGV[i + 1]) end
  end
end

local function was_commit(id, generation, commit)
  local entry = redis.call('XRANGE', key('log', id), generation, generation)[1]
  return entry ~= nil and entry[2][1] == 'commit' and entry[2][2] == commit
end
`

/** Lua function that reads a task as stored: the checkpoint, and the events after it. */
export const STORED = `
local function stored(id, task)
  local reply = { redis.call('GET', key('whole', id)) }
  local entries = redis.call('XRANGE', key('log', id), string.format('%.0f', task.whole + 1), '+')
  for _, entry in ipairs(entries) do reply[#reply + 1] = entry[2][#entry[2]] end
  return reply
end
`

/**
 * id, commit, checkpoint, now, lease, its note and ttl, number of texts of the head, head from createdAt on, events → 1,
 * or 0 when the id
 * exists
 */
export const CREATE = script(`
${INDEXING}${LOGGING}
local id, commit, lease, texts = ARGV[1], ARGV[2], ARGV[5], tonumber(ARGV[8])
local creation = redis.call('HGET', key('task', id), 'creation')
if creation then return creation == commit and 1 or 0 end
append(id, ARGV[10], commit, 9 + texts, #ARGV)
redis.call('SET', key('whole', id), ARGV[3])
redis.call('HSET', key('task', id), 'creation', commit, unpack(ARGV, 9, 8 + texts))
local task = read(id)
file(id, nil, task)
put(id, task)
if lease ~= '' then hold(id, lease, ARGV[6], now(ARGV[4]) + ARGV[7]) end
return 1
`)

/**
 * … number of texts, id, createdAt, expected, commit, lease, state, ended, updatedAt, generation, checkpoint, the lease that
 * expires, events → … a CommitResult
 */
export const COMMIT = script(`
${INDEXING}${LOGGING}
-- The texts in ARGV[first], … ARGV[last].
local function change(first, last)
  local id, created, expected, commit, lease, state, ended, updated, generation, whole, expires =
    unpack(ARGV, first, first + 10)
  local task = read(id, created)
  if not task then return 'missing' end
  if task.generation ~= expected then return was_commit(id, ARGV[first + 11], commit) and 'committed' or 'conflict' end
  if lease ~= '' and task.lease ~= lease then return 'lease-lost' end
  append(id, task.created, commit, first + 11, last)
  local before = { created = task.created, state = task.state, ended = task.ended, updated = task.updated }
  local lagged = lags(task)
  task.state, task.ended, task.updated = state, ended, updated
  redis.call('HSET', key('task', id), 'generation', generation, 'state', state, 'ended', ended, 'updated', updated)
  if whole ~= '' then
    redis.call('SET', key('whole', id), whole)
    redis.call('HSET', key('task', id), 'whole', generation)
  end
  if ended == '1' or before.ended == '1' then
    file(id, before, task)
    put(id, task)
    if lagged then redis.call('SREM', root .. ':lagging', id) end
  elseif not lagged and lags(task) then
    redis.call('SADD', root .. ':lagging', id)
  end
  if ended == '1' then drop_lease(id)
  elseif task.lease == expires then redis.call('ZADD', root .. ':leases', 0, id) end
  return 'committed'
end

local answers, first = {}, 1
while first <= #ARGV do
  local last = first + ARGV[first]
  answers[#answers + 1] = change(first + 1, last)
  first = last + 1
end
return answers
`)

/** id → nothing, or checkpoint, … events */
export const GET = script(`
${STORED}
local task = read(ARGV[1])
return task and stored(ARGV[1], task)
`)

/** … ids → … id, createdAt, generation */
export const HEADS = script(`
local found = {}
for _, id in ipairs(ARGV) do
  local f = redis.call('HMGET', key('task', id), 'created', 'generation')
  if f[1] then
    for _, text in ipairs({ id, f[1], f[2] }) do found[#found + 1] = text end
  end
end
return found
`)

/** id, createdAt, the first generation, limit → … events */
export const EVENTS = script(`
if not read(ARGV[1], ARGV[2]) then return {} end
local events = {}
for i, entry in ipairs(redis.call('XRANGE', key('log', ARGV[1]), ARGV[3], '+', 'COUNT', ARGV[4])) do
  events[i] = entry[2][#entry[2]]
end
return events
`)

/** Lua functions for the keys of documents. */
export const DOCUMENT_KEYS = `
-- The member of a document in the index of its kind, ordered by task and then by id.
local function member_of(id, created, document) return #id .. ':' .. id .. created .. document end

local function field(kind, document) return #kind .. ':' .. kind .. document end
`

/** … id, createdAt → … id, createdAt of the tasks that existed */
export const DELETE = script(`
${INDEXING}${DOCUMENT_KEYS}${FEEDING}
local deleted, fed = {}, has_feed()
for i = 1, #ARGV, 3 do
  local id, generation = ARGV[i], ARGV[i + 2]
  local task = read(id, ARGV[i + 1])
  if task and (generation == '' or generation == task.generation) then
    file(id, task, nil)
    take_out(id, task)
    if lags(task) then redis.call('SREM', root .. ':lagging', id) end
    drop_lease(id)
    for _, name in ipairs(redis.call('HKEYS', key('docs', id))) do
      local length, from = string.match(name, '^(%d+):()')
      local kind, document = string.sub(name, from, from + length - 1), string.sub(name, from + length)
      redis.call('ZREM', key('kind', kind), member_of(id, task.created, document))
    end
    if fed then feed_removal(id, task) end
    redis.call('UNLINK', key('task', id), key('log', id), key('whole', id), key('docs', id))
    deleted[#deleted + 1] = id
    deleted[#deleted + 1] = task.created
  end
end
return deleted
`)
