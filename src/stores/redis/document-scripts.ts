/**
 * Lua scripts for documents. The comment before each lists its arguments and its result.
 *
 * @module
 */
import { script } from './scripts.js'
import { DOCUMENT_KEYS } from './task-scripts.js'

const VALUES = `
local function parse(value)
  local version, nonce, from = string.match(value, '^(%d+) (%S+) ()')
  return version, nonce, string.sub(value, from)
end
`

/** id, createdAt, kind, document, expected version, the next one, nonce, JSON → 1 or 0 */
export const PUT_DOCUMENT = script(`
${DOCUMENT_KEYS}${VALUES}
local id, created, kind, document = unpack(ARGV, 1, 4)
if not read(id, created) then return 0 end
local docs, name = key('docs', id), field(kind, document)
local present = redis.call('HGET', docs, name)
local version, nonce = '0', ''
if present then version, nonce = parse(present) end
-- The client may send a script again that has already run. The nonce identifies the call.
if nonce == ARGV[7] then return 1 end
if version ~= ARGV[5] then return 0 end
redis.call('HSET', docs, name, ARGV[6] .. ' ' .. ARGV[7] .. ' ' .. ARGV[8])
redis.call('ZADD', key('kind', kind), 0, member_of(id, created, document))
return 1
`)

/** id, createdAt, kind, document → 1 or 0 */
export const DELETE_DOCUMENT = script(`
${DOCUMENT_KEYS}
local id, created, kind, document = unpack(ARGV, 1, 4)
if not read(id, created) then return 0 end
redis.call('ZREM', key('kind', kind), member_of(id, created, document))
return redis.call('HDEL', key('docs', id), field(kind, document))
`)

/** id, createdAt, kind → … document, version, JSON */
export const DOCUMENTS = script(`
${DOCUMENT_KEYS}${VALUES}
local id, kind, found = ARGV[1], ARGV[3], {}
if not read(id, ARGV[2]) then return found end
local start = field(kind, '')
local all = redis.call('HGETALL', key('docs', id))
for i = 1, #all, 2 do
  if string.sub(all[i], 1, #start) == start then
    local version, _, text = parse(all[i + 1])
    for _, each in ipairs({ string.sub(all[i], #start + 1), version, text }) do found[#found + 1] = each end
  end
end
return found
`)

/** kind, limit, and, to continue after it, id, createdAt, document → … id, createdAt, document, version, JSON */
export const ALL_DOCUMENTS = script(`
${DOCUMENT_KEYS}${VALUES}
local kind, found = ARGV[1], {}
local min = ARGV[3] and '(' .. member_of(ARGV[3], ARGV[4], ARGV[5]) or '-'
for _, member in ipairs(redis.call('ZRANGEBYLEX', key('kind', kind), min, '+', 'LIMIT', 0, ARGV[2])) do
  local length, from = string.match(member, '^(%d+):()')
  local id, rest = string.sub(member, from, from + length - 1), string.sub(member, from + length)
  local document = id_of(rest)
  local version, _, text = parse(redis.call('HGET', key('docs', id), field(kind, document)))
  local created = string.sub(rest, 1, #rest - #document)
  for _, each in ipairs({ id, created, document, version, text }) do found[#found + 1] = each end
end
return found
`)
