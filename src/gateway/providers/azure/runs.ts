/**
 * Conversion of runs and messages of Azure AI Foundry's classic API to updates.
 *
 * @module
 */
import type { TaskState } from '../../../core/lifecycle.js'
import type { PartInput } from '../../../core/params.js'
import type { JsonObject } from '../../../core/json-types.js'
import { JsonObjectSchema } from '../../../schemas/json.js'
import { list, nonEmptyString, object, optional, string } from '../../../schemas/scalars.js'
import type { Infer } from '../../../schemas/schema.js'
import type { TaskUpdate } from '../../provider.js'
import type { Service } from '../shared/service.js'
import { codeOf } from '../shared/answers.js'
import { isTransient } from './responses-output.js'

export const RunSchema = object({
  id: nonEmptyString,
  thread_id: nonEmptyString,
  status: string,
  required_action: optional(
    object({
      type: string,
      submit_tool_outputs: optional(object({ tool_calls: list(JsonObjectSchema) })),
    }),
  ),
  last_error: optional(object({ code: optional(string) })),
  incomplete_details: optional(object({ reason: optional(string) })),
})
export type Run = Infer<typeof RunSchema>

export const MessageSchema = object({ role: string, content: optional(list(JsonObjectSchema)) })

/** Common schema of all events: the `object` field identifies the kind. */
export const EventSchema = object({
  object: optional(string),
  status: optional(string),
  content: optional(list(JsonObjectSchema)),
  delta: optional(object({ content: optional(list(JsonObjectSchema)) })),
  error: optional(object({ code: optional(string) })),
  code: optional(string),
})

const STATES: Readonly<Record<string, TaskState>> = {
  queued: 'submitted',
  in_progress: 'working',
  requires_action: 'input-required',
  cancelling: 'working',
  cancelled: 'canceled',
  completed: 'completed',
  failed: 'failed',
  expired: 'failed',
  incomplete: 'failed',
}

export function toRunUpdate(service: Service, run: Run): TaskUpdate {
  const { id: runId, thread_id: threadId, status, last_error: error, incomplete_details: details } = run
  const state = Object.hasOwn(STATES, status) ? STATES[status] : undefined
  if (state === undefined) throw service.error(`run status ${JSON.stringify(status)} is not known`)
  const ref = { threadId, runId }
  if (state === 'input-required') return { ref, state, message: { parts: toQuestion(service, run) } }
  if (state !== 'failed') return { ref, state }
  const code = codeOf(error?.code ?? details?.reason ?? status)
  const retryable = status === 'expired' || isTransient(code)
  return { ref, state, message: `The agent failed: ${code}`, failure: { code, retryable } }
}

/** Returns the agent's question as text and as data. */
function toQuestion(service: Service, { required_action: action }: Run): PartInput[] {
  const calls = action?.type === 'submit_tool_outputs' ? action.submit_tool_outputs?.tool_calls : undefined
  if (calls === undefined) {
    throw service.error(`required action ${JSON.stringify(action?.type ?? null)} is not known`)
  }
  const names = calls.map((call) => textAt(call, 'function', 'name') ?? 'a tool')
  const text = names.map((name) => `The agent waits for the result of ${name}`).join('\n')
  return [{ text }, { data: { tool_calls: calls } }]
}

/** Returns the content of a message: its texts, and all other content as data. */
export function toParts(
  { content = [] }: { readonly content?: readonly JsonObject[] },
  which: 'all' | 'texts' | 'others' = 'all',
): PartInput[] {
  return content.flatMap((each): PartInput[] => {
    const isText = each['type'] === 'text'
    if (isText ? which === 'others' : which === 'texts') return []
    if (!isText) return [{ data: each }]
    const text = textAt(each, 'text', 'value') ?? ''
    return text === '' ? [] : [{ text }]
  })
}

function textAt(value: JsonObject, key: string, inner: string): string | undefined {
  const child = value[key]
  if (typeof child !== 'object' || child === null || Array.isArray(child)) return undefined
  const text = child[inner]
  return typeof text === 'string' ? text : undefined
}
