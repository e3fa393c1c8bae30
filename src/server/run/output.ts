/**
 * The results that an executor returns or yields, as artifacts and messages.
 *
 * @module
 */
import { describe, isPlain } from '../../runtime/describe.js'
import type { ReadonlyJson } from '../../core/json-types.js'
import type { ArtifactInput, MessageInput, PartInput } from '../../core/params.js'
import type { DeepReadonly, Part } from '../../core/task.js'
import type { Unread } from '../../runtime/unread.js'
import type { Say } from './run.js'

/** A message of the agent that an executor returns or yields. */
export type AgentMessage = Omit<MessageInput, 'role' | 'taskId' | 'contextId'> & { readonly role: 'agent' }

/** An artifact that an executor returns or yields: it has `parts` and no `role`. */
export type ArtifactOutput = ArtifactInput & { readonly parts: readonly PartInput[]; readonly role?: never }

/**
 * A result of a run:
 *
 * - A string becomes a text part.
 * - A {@link Part} stays as it is. An object is a part if it has exactly one of `text`, `raw`, `url` and `data`, and no
 *   other properties than `metadata`, `filename` and `mediaType`.
 * - An object with `parts` is an artifact, or with `role: 'agent'` a message.
 * - Any other plain object becomes a data part. To return data that looks like one of the above, return `{ data: value }`.
 */
export type Output =
  string | DeepReadonly<Part> | ArtifactOutput | AgentMessage | { readonly [key: string]: ReadonlyJson }

/** A stream with a reader, as `ReadableStream` is. */
export interface ReadableLike<T> {
  getReader(): {
    read(): PromiseLike<{ readonly done: boolean; readonly value?: T | undefined }>
    cancel(): PromiseLike<unknown>
  }
}

/** An {@link Output} by its kind. */
export type Content =
  | { readonly type: 'part'; readonly part: PartInput }
  | { readonly type: 'artifact'; readonly artifact: ArtifactInput }
  | { readonly type: 'message'; readonly message: Say }

/** What completes a task. */
export interface Result {
  readonly artifact?: ArtifactInput
  readonly message?: MessageInput
}

const CONTENTS = ['text', 'raw', 'url', 'data']
const PART_KEYS: ReadonlySet<string> = new Set([...CONTENTS, 'metadata', 'filename', 'mediaType'])

/** @returns `undefined` for a value that is not an {@link Output}. */
export function toContent(value: unknown): Content | undefined {
  if (typeof value === 'string') return { type: 'part', part: { text: value } }
  if (!isPlainObject(value)) return undefined
  if (Array.isArray(value['parts'])) return toParts(value)
  return { type: 'part', part: isPart(value) ? value : { data: value } }
}

/** Whether the value is iterated for its outputs. */
export function isStream(value: unknown): value is AsyncIterable<unknown> | ReadableLike<unknown> {
  if (typeof value !== 'object' || value === null) return false
  return Symbol.asyncIterator in value || ('getReader' in value && typeof value.getReader === 'function')
}

/**
 * The elements of `stream`, and its return value: a generator may return its last output instead of yielding it. Closes
 * the stream unless it has ended or failed.
 */
export async function* outputsOf(
  stream: AsyncIterable<unknown, unknown> | ReadableLike<unknown>,
): AsyncGenerator<unknown, undefined> {
  const iterator = Symbol.asyncIterator in stream ? stream[Symbol.asyncIterator]() : read(stream)
  let isDone = false
  try {
    while (!isDone) {
      // An iterator that throws is done: it must not be closed.
      isDone = true
      const result = await iterator.next()
      isDone = result.done ?? false
      if (!isDone || result.value !== undefined) yield result.value
    }
  } finally {
    if (!isDone) await iterator.return?.()
  }
}

/** Ends a stream that is not read. */
export async function closeStream(stream: AsyncIterable<unknown> | ReadableLike<unknown>): Promise<void> {
  const iterator = Symbol.asyncIterator in stream ? stream[Symbol.asyncIterator]() : read(stream)
  await iterator.return?.()
}

/** For streams without their own iterator, as in some browsers. */
function read(stream: ReadableLike<unknown>): AsyncIterator<unknown, unknown> {
  const reader = stream.getReader()
  return {
    next: async () => {
      const { done, value } = await reader.read()
      return { done, value }
    },
    return: async () => {
      await reader.cancel()
      return { done: true, value: undefined }
    },
  }
}

function toParts(value: Unread): Content | undefined {
  if (!('role' in value)) return { type: 'artifact', artifact: value }
  if (value['role'] !== 'agent') return undefined
  // The manager checks the fields of the message.
  return { type: 'message', message: value as Unread & AgentMessage }
}

function isPlainObject(value: unknown): value is Unread {
  return typeof value === 'object' && value !== null && isPlain(value)
}

function isPart(value: Unread): value is Unread & PartInput {
  const keys = Object.keys(value)
  return keys.every((key) => PART_KEYS.has(key)) && keys.filter((key) => CONTENTS.includes(key)).length === 1
}

/** @throws {TypeError} naming what `execute()` may return or yield. */
export function refuseOutput(verb: 'return' | 'yield', value: unknown): never {
  const kinds = 'a string, a part, an artifact, a message of the agent or a plain object'
  const wanted = verb === 'return' ? `${kinds}, a stream of these, or nothing` : kinds
  const hint = Array.isArray(value)
    ? '. For data, use { data: array }'
    : isStream(value)
      ? '. For the elements of a stream, use yield*'
      : ''
  throw new TypeError(`execute() must ${verb} ${wanted}, got ${describe(value)}${hint}`)
}
