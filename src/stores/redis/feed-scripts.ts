/**
 * Lua scripts for the feed. The comment before each lists its arguments and its result.
 *
 * @module
 */
import { script } from './scripts.js'

/** The size of the events after which a script returns no further entry. */
const BYTES = 4_194_304

/** 1 to start the feed, or 0 to end it → 1. The first entry stands for the start. */
export const SET_UP_FEED = script(`
local feed = root .. ':feed'
if ARGV[1] == '0' then redis.call('DEL', feed)
elseif redis.call('EXISTS', feed) == 0 then redis.call('XADD', feed, '*', 'start', '1') end
return 1
`)

/**
 * a cursor or '', limit → the cursor after the last entry, 1 when the given cursor is known and else 0, entries: cursor, id,
 * createdAt, skill, context, owner or '', and the event unless the task was removed
 */
export const READ_FEED = script(`
local feed, cursor, found, bytes = root .. ':feed', ARGV[1], {}, 0
local entries = cursor == '' and {} or redis.call('XRANGE', feed, cursor, '+', 'COUNT', ARGV[2] + 1)
-- The entry of the cursor itself shows that nothing after it was removed.
if not entries[1] or entries[1][1] ~= cursor then
  local last = redis.call('XREVRANGE', feed, '+', '-', 'COUNT', 1)[1]
  return { last and last[1] or '', 0, {} }
end
for i = 2, #entries do
  cursor = entries[i][1]
  local f = entries[i][2]
  local id, created = f[2], f[4]
  if f[5] == 'generation' then
    local task = redis.call('HMGET', key('task', id), 'created', 'skill', 'context', 'owner')
    local event = task[1] == created and redis.call('XRANGE', key('log', id), f[6], f[6])[1]
    if event then
      local text = event[2][#event[2]]
      found[#found + 1] = { cursor, id, created, task[2], task[3], task[4] or '', text }
      bytes = bytes + #text
      if bytes > ${BYTES} then break end
    end
  elseif f[1] == 'id' then
    found[#found + 1] = { cursor, id, created, f[6], f[8], f[10] or '' }
  end
end
return { cursor, 1, found }
`)

/** size → the number of removed entries */
export const TRIM_FEED = script(`
return redis.call('XTRIM', root .. ':feed', 'MAXLEN', ARGV[1])
`)

/** Lua functions that add to the feed, if there is one. */
export const FEEDING = `
local function has_feed() return redis.call('EXISTS', root .. ':feed') == 1 end

local function feed_event(id, created, generation)
  redis.call('XADD', root .. ':feed', '*', 'id', id, 'created', created, 'generation', generation)
end

local function feed_removal(id, task)
  local fields = { 'id', id, 'created', task.created, 'skill', task.skill, 'context', task.context }
  if task.owner then fields[9], fields[10] = 'owner', task.owner end
  redis.call('XADD', root .. ':feed', '*', unpack(fields))
end
`
