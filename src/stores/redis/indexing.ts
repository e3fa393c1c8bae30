/**
 * Lazy index updates, as a part of other Lua scripts.
 *
 * Updating the indexes costs several times as much as the rest of a commit, and only lists need them. A commit therefore marks
 * the task as outdated, and the next list updates the indexes of marked tasks: far fewer than there were commits, since tasks
 * change many times. Tasks that are created or end are indexed at once.
 *
 * @module
 */

/** The most outdated tasks that one script updates. */
const BATCH = 500

export const INDEXING = `
local function indexes(task, state)
  return { root .. ':all', key('state', state), key('skill', task.skill), key('context', task.context),
    task.owner and key('owner', task.owner) or root .. ':unowned' }
end

-- Whether the indexes of the task are outdated.
local function lags(task) return task.placed ~= task.updated or task.placed_state ~= task.state end

local function take_out(id, task)
  if not task.placed then return end
  for _, index in ipairs(indexes(task, task.placed_state)) do redis.call('ZREM', index, task.placed .. id) end
end

local function put(id, task)
  take_out(id, task)
  for _, index in ipairs(indexes(task, task.state)) do redis.call('ZADD', index, 0, task.updated .. id) end
  redis.call('HSET', key('task', id), 'placed', task.updated, 'placed_state', task.state)
end

-- Moves a task within the indexes of ended and unended tasks. before or task may be nil.
local function file(id, before, task)
  if before and before.ended == '1' then redis.call('ZREM', key('ended', before.state), before.updated .. id)
  elseif before then redis.call('ZREM', root .. ':unended', before.created .. id) end
  if task and task.ended == '1' then redis.call('ZADD', key('ended', task.state), 0, task.updated .. id)
  elseif task then redis.call('ZADD', root .. ':unended', 0, task.created .. id) end
end

-- Updates the indexes of outdated tasks. Returns whether none are left.
local function settle()
  local ids = redis.call('SPOP', root .. ':lagging', ${BATCH})
  for _, id in ipairs(ids) do
    local task = read(id)
    if task then put(id, task) end
  end
  return #ids < ${BATCH}
end
`
