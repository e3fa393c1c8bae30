/**
 * Lua scripts that find tasks. The comment before each lists its arguments and its result.
 *
 * With several conditions, a script walks the index that has the fewest tasks and looks each task up in the others. A
 * walk ends after some thousand tasks or some megabytes, and then returns a cursor from which the next call continues.
 *
 * @module
 */
import { INDEXING } from './indexing.js'
import { script } from './scripts.js'
import { STORED } from './task-scripts.js'

/** The most tasks that one script examines. */
const STEPS = 5_000
/** The most tasks that one script returns. */
const PAGE = 1_000
/** The size after which a script returns no further task. */
const BYTES = 4_194_304

const WALK = `
-- Visits the tasks in all of the indexes ARGV[first], …, latest first, until visit returns true.
-- Returns the cursor to continue from, or false at the end.
local function walk(from, since, first, visit)
  local max = from == '' and '+' or '(' .. from
  local min = since == '' and '-' or '[' .. since
  local keys, narrowest, least = {}, 1, nil
  for i = first, #ARGV do
    keys[#keys + 1] = root .. ':' .. ARGV[i]
    local size = redis.call('ZLEXCOUNT', keys[#keys], min, max)
    if not least or size < least then narrowest, least = #keys, size end
  end
  local walked = table.remove(keys, narrowest)
  for step = 1, ${STEPS / 100} do
    local members = redis.call('ZREVRANGEBYLEX', walked, max, min, 'LIMIT', 0, 100)
    for _, member in ipairs(members) do
      local meets = true
      for _, index in ipairs(keys) do meets = meets and redis.call('ZSCORE', index, member) end
      if meets and visit(id_of(member)) then return member end
      max = '(' .. member
    end
    if #members < 100 then return false end
  end
  return string.sub(max, 2)
end
`

/** after, since, limit, … indexes → the next cursor or nothing, tasks in the form of GET */
export const LIST = script(`
${INDEXING}${STORED}${WALK}
if not settle() then return { ARGV[1], {} } end
local limit, bytes, found = tonumber(ARGV[3]), 0, {}
local cursor = walk(ARGV[1], ARGV[2], 4, function(id)
  local head = read(id)
  -- The key of the task was deleted from outside. The other tasks must still be found.
  if not head then return false end
  local task = stored(id, head)
  for _, text in ipairs(task) do bytes = bytes + #text end
  found[#found + 1] = task
  return #found >= limit or #found >= ${PAGE} or bytes > ${BYTES}
end)
return { cursor, found }
`)

/** after, since, … indexes → the next cursor or nothing, the number of tasks */
export const COUNT = script(`
${INDEXING}${WALK}
if not settle() then return { ARGV[1], 0 } end
if #ARGV == 3 then
  local min = ARGV[2] == '' and '-' or '[' .. ARGV[2]
  return { false, redis.call('ZLEXCOUNT', root .. ':' .. ARGV[3], min, '+') }
end
local count = 0
local cursor = walk(ARGV[1], ARGV[2], 3, function() count = count + 1 end)
return { cursor, count }
`)

const KEYS_OF = `
local function keys_of(members)
  local found = {}
  for _, member in ipairs(members) do
    local id = id_of(member)
    local created = redis.call('HGET', key('task', id), 'created')
    if created then
      found[#found + 1] = id
      found[#found + 1] = created
    end
  end
  return found
end
`

/** createdBefore, limit → … id, createdAt */
export const UNENDED = script(`
${KEYS_OF}
return keys_of(redis.call('ZRANGEBYLEX', root .. ':unended', '-', '(' .. ARGV[1], 'LIMIT', 0, ARGV[2]))
`)

/** state, updatedBefore, limit → … id, createdAt */
export const ENDED_BEFORE = script(`
${KEYS_OF}
return keys_of(redis.call('ZRANGEBYLEX', key('ended', ARGV[1]), '-', '(' .. ARGV[2], 'LIMIT', 0, ARGV[3]))
`)

/** state, the first and the last rank, counted from the latest → … id, createdAt */
export const ENDED_BEYOND = script(`
${KEYS_OF}
return keys_of(redis.call('ZREVRANGE', key('ended', ARGV[1]), ARGV[2], ARGV[3]))
`)
