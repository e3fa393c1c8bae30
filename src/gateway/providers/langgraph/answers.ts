/**
 * Conversion of values of a LangGraph server to results of tasks.
 *
 * @module
 */
import type { ArtifactInput, PartInput } from '../../../core/params.js'
import type { JsonValue } from '../../../core/json-types.js'
import { isRecord } from '../../../runtime/unread.js'
import {
  list,
  nonEmptyString,
  nullish,
  object,
  optional,
  record,
  string,
  strings,
  unknown,
} from '../../../schemas/scalars.js'
import type { Infer } from '../../../schemas/schema.js'
import type { TaskUpdate } from '../../provider.js'

/** Id of the task's only artifact, streamed or complete. */
export const RESPONSE_ID = 'response'

export const RunSchema = object({ run_id: nonEmptyString, status: string })

export const ThreadSchema = object({
  thread_id: nonEmptyString,
  status: optional(string),
  metadata: nullish(record(unknown)),
})

const InterruptSchema = object({ id: nullish(string), value: optional(unknown) })
export type Interrupt = Infer<typeof InterruptSchema>

export const InterruptsSchema = list(InterruptSchema)

/** Snapshot of a thread. */
export const StateSchema = object({
  values: optional(unknown),
  next: nullish(strings),
  tasks: nullish(list(object({ interrupts: nullish(InterruptsSchema) }))),
  metadata: nullish(object({ run_id: nullish(string) })),
})
export type ThreadState = Infer<typeof StateSchema>

/** Returns the update of a completed run. */
export function completed(values: unknown): TaskUpdate {
  const text = lastTextOf(values)
  const hasValues = typeof values === 'object' && values !== null && Object.keys(values).length > 0
  const parts = text === undefined ? (hasValues ? [{ data: values }] : []) : [{ text }]
  return {
    state: 'completed',
    ...(parts.length > 0 && { artifacts: [response(parts)] }),
    // The values come from a JSON response.
    ...(values !== undefined && { output: values as JsonValue }),
  }
}

export function response(parts: readonly PartInput[]): ArtifactInput {
  return { artifactId: RESPONSE_ID, name: RESPONSE_ID, parts }
}

/**
 * Returns the update of a run that waits for an answer. Of several questions, each part has its `interruptId` in its
 * metadata.
 */
export function asking(interrupts: readonly Interrupt[]): TaskUpdate {
  const parts = interrupts
    .filter(({ value }) => value !== undefined)
    .map(({ id, value }) => ({
      ...(typeof value === 'string' ? { text: value } : { data: value }),
      ...(interrupts.length > 1 && typeof id === 'string' && { metadata: { interruptId: id } }),
    }))
  return { state: 'input-required', ...(parts.length > 0 && { message: { parts } }) }
}

/** Returns the update of a failed run. The error's text may contain anything, so clients get only its kind. */
export function failed(code: string): TaskUpdate {
  const isTimeout = code === 'timeout'
  return {
    state: 'failed',
    message: isTimeout ? 'The run took too long' : 'The run failed',
    failure: { code, retryable: isTimeout },
  }
}

/** Returns the last text that a model wrote to `messages`. */
export function lastTextOf(values: unknown): string | undefined {
  const messages: unknown = fieldsOf(values)['messages']
  // A node may also return a single message.
  const listed: readonly unknown[] = Array.isArray(messages) ? messages : [messages]
  return listed
    .filter(isFromModel)
    .map(textOf)
    .findLast((text) => text !== '')
}

const MODEL_TYPES: readonly unknown[] = ['ai', 'AIMessage', 'AIMessageChunk', 'assistant']

export function isFromModel(message: unknown): boolean {
  const { type, role } = fieldsOf(message)
  return MODEL_TYPES.includes(type) || MODEL_TYPES.includes(role)
}

/** Returns the text of a message: its content, or the joined text blocks in it. */
export function textOf(message: unknown): string {
  const { content } = fieldsOf(message)
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .map((block: unknown) => {
      if (typeof block === 'string') return block
      const { type, text } = fieldsOf(block)
      return type === 'text' && typeof text === 'string' ? text : ''
    })
    .join('')
}

/** Returns the fields of an object, and none for any other value. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? { ...value } : {}
}
