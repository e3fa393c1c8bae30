/**
 * Lua scripts that find tasks. The comment before each lists its arguments and its result.
 *
 * Of several conditions the one that the fewest tasks meet is walked, and each task is looked up in the others. A walk
 * goes no further than some thousand tasks, or some megabytes: then it answers where it stopped, to go on from there.
 *
 * @module
 */
import { INDEXING } from './indexing.js'
import { script } from './scripts.js'
import { STORED } from './task-scripts.js'

/** How many tasks a script looks at. */
const STEPS = 5_000
/** With how many tasks it answers. */
const PAGE = 1_000
/** With how many bytes it answers, and one task more. */
const BYTES = 4_194_304

const WALK = `
-- Through the indexes ARGV[first], …, latest first, until visit says so. Where to go on; false at the end.
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

/** after, since, limit, … indexes → where to go on or nothing, tasks as GET has them */
export const LIST = script(`
${INDEXING}${STORED}${WALK}
if not settle() then return { ARGV[1], {} } end
local limit, bytes, found = tonumber(ARGV[3]), 0, {}
local cursor = walk(ARGV[1], ARGV[2], 4, function(id)
  local head = read(id)
  -- Somebody has deleted its key: the others are found all the same.
  if not head then return false end
  local task = stored(id, head)
  for _, text in ipairs(task) do bytes = bytes + #text end
  found[#found + 1] = task
  return #found >= limit or #found >= ${PAGE} or bytes > ${BYTES}
end)
return { cursor, found }
`)

/** after, since, … indexes → where to go on or nothing, how many */
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

/** state, the first and the last place from the latest on → … id, createdAt */
export const ENDED_BEYOND = script(`
${KEYS_OF}
return keys_of(redis.call('ZREVRANGE', key('ended', ARGV[1]), ARGV[2], ARGV[3]))
`)
