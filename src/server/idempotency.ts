/**
 * Recognition of messages that are sent twice, and the ids of the tasks that they begin.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import type { DeepReadonly, Message, TaskSnapshot } from '../core/task.js'
import { hashOf } from '../runtime/hash.js'
import { readOptions, requireBoolean, requirePositive } from '../runtime/options.js'
import { isRecord } from '../runtime/unread.js'
import type { IncomingMessage } from '../wire/dialect.js'
import type { Caller } from './caller.js'

/** How a handler recognizes a message that it has received before. */
export interface IdempotencyOptions {
  /**
   * How long a message that began a task or received a reply is recognized, in ms. A message to an existing task is
   * recognized for as long as the task. Default is `86_400_000` (24 hours).
   */
  readonly ttlMs?: number | undefined
  /**
   * Whether to recognize messages of callers without a principal as well. They then count as one caller: a
   * caller that sends the id and the content of another caller's message receives its task. Default is `false`.
   */
  readonly anonymous?: boolean | undefined
}

/** {@link IdempotencyOptions} with defaults. */
export type IdempotencySettings = {
  readonly [O in keyof IdempotencyOptions]-?: NonNullable<IdempotencyOptions[O]>
}

const KEYS = ['ttlMs', 'anonymous']
const WANTED = 'false or an object: { ttlMs: 3_600_000 }'
/** The most characters of an id. */
const MAX_ID = 1_024
/** The fields that a message has of its own. A task adds its id, and its context where the message names none. */
const FIELDS = ['role', 'parts', 'metadata', 'extensions', 'referenceTaskIds'] as const

/** @throws {TypeError | RangeError} naming the invalid option. */
export function toIdempotencySettings(
  options: IdempotencyOptions | false = {},
): IdempotencySettings | undefined {
  if (options === false) return undefined
  const given = readOptions(options, KEYS, 'createRequestHandler', 'idempotency', WANTED)
  const { ttlMs = 86_400_000, anonymous = false } = given
  return {
    ttlMs: requirePositive('idempotency.ttlMs', ttlMs),
    anonymous: requireBoolean('idempotency.anonymous', anonymous),
  }
}

/** Whether messages of this caller are recognized. */
export function recognizes(
  settings: IdempotencySettings | undefined,
  { principal }: Pick<Caller, 'principal'>,
): boolean {
  return settings !== undefined && (principal !== undefined || settings.anonymous)
}

/**
 * The id of a message: its own, or else the header `Idempotency-Key`.
 *
 * @throws {A2AError} `INVALID_PARAMS` for a key that is too long.
 */
export function sentId(
  { messageId }: IncomingMessage,
  { idempotencyKey: key }: Pick<Caller, 'idempotencyKey'>,
): string | undefined {
  if (messageId !== undefined || !key) return messageId
  if (key.length <= MAX_ID) return key
  throw invalidParams('Idempotency-Key', `must have at most ${MAX_ID} characters, got ${key.length}`)
}

/** The id that is made of others, or its hash where it is longer than ids may be. */
export function fittingId(id: string): string {
  return id.length <= MAX_ID ? id : hashOf(id)
}

/** UUIDs of version 8 (RFC 9562 §5.8), in an order that is the same for the same values. Two share the cost of a hash. */
export function* derivedIds(...values: readonly (string | null)[]): Generator<string, never> {
  for (let count = 0; ; count += 1) {
    const hash = hashOf(JSON.stringify([...values, count]))
    yield uuidOf(hash.slice(0, 32))
    yield uuidOf(hash.slice(32))
  }
}

/** One of {@link derivedIds}, counted from 0. */
export function derivedId(count: number, ...values: readonly (string | null)[]): string {
  const hash = hashOf(JSON.stringify([...values, Math.floor(count / 2)]))
  return uuidOf(count % 2 === 0 ? hash.slice(0, 32) : hash.slice(32))
}

function uuidOf(digits: string): string {
  const variant = '89ab'.charAt(parseInt(digits.charAt(16), 16) % 4)
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    `${variant}${digits.slice(17, 20)}`,
    digits.slice(20),
  ].join('-')
}

/** The message of the user with this id, in the conversation of a task. */
export function messageOf(
  { messages }: TaskSnapshot,
  messageId: string | undefined,
): DeepReadonly<Message> | undefined {
  return messages.find((message) => message.role === 'user' && message.messageId === messageId)
}

/**
 * Requires that `repeated` is `first` again.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path of the first value that differs.
 */
export function requireSame(first: DeepReadonly<IncomingMessage>, repeated: IncomingMessage): void {
  const path = differenceOf(first, repeated)
  if (path !== undefined)
    throw invalidParams(path, 'differs from the message that was sent with this id before: use a new id')
}

/** The path of the first value in which `repeated` differs from `first`; `undefined` when it is `first` again. */
export function differenceOf(
  first: DeepReadonly<IncomingMessage>,
  repeated: IncomingMessage,
): string | undefined {
  const fields = repeated.contextId === undefined ? FIELDS : [...FIELDS, 'contextId' as const]
  for (const field of fields) {
    const found = differenceAt(first[field], repeated[field])
    if (found !== undefined) return `message.${field}${found}`
  }
  return undefined
}

/** The path of the first difference. It is made while unwinding, so that equal values pay nothing for it. */
export function differenceAt(first: unknown, second: unknown): string | undefined {
  if (first === second) return undefined
  if (Array.isArray(first) && Array.isArray(second)) {
    for (let index = 0; index < Math.max(first.length, second.length); index += 1) {
      const found = differenceAt(first[index], second[index])
      if (found !== undefined) return `[${index}]${found}`
    }
    return undefined
  }
  if (!isRecord(first) || !isRecord(second)) return ''
  const [known, others] = [
    Object.keys(first),
    Object.keys(second).filter((key) => !Object.hasOwn(first, key)),
  ]
  for (const key of [...known, ...others]) {
    const found = differenceAt(first[key], Object.hasOwn(second, key) ? second[key] : undefined)
    if (found !== undefined) return `.${key}${found}`
  }
  return undefined
}
