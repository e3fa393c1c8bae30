/**
 * Conversion of responses of the Responses API to updates.
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
import { codeOf, parseAnswer } from '../shared/answers.js'

export const ResponseSchema = object({
  id: nonEmptyString,
  status: string,
  output: optional(list(JsonObjectSchema)),
  error: optional(object({ code: optional(string) })),
  incomplete_details: optional(object({ reason: optional(string) })),
})
type Response = Infer<typeof ResponseSchema>

const ItemSchema = object({
  type: string,
  id: optional(string),
  call_id: optional(string),
  name: optional(string),
  consent_link: optional(string),
  content: optional(list(object({ type: string, text: optional(string), refusal: optional(string) }))),
})
type Item = Infer<typeof ItemSchema>

const STATES: Readonly<Record<string, TaskState>> = {
  queued: 'submitted',
  in_progress: 'working',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'canceled',
  incomplete: 'failed',
}

/**
 * Calls that the caller has to answer, and the type of their result. For a call that the service runs itself, the same
 * response contains the result.
 */
const CALLS: Readonly<Record<string, string>> = {
  function_call: 'function_call_output',
  custom_tool_call: 'custom_tool_call_output',
  computer_call: 'computer_call_output',
  local_shell_call: 'local_shell_call_output',
  shell_call: 'shell_call_output',
  apply_patch_call: 'apply_patch_call_output',
  mcp_approval_request: 'mcp_approval_response',
}

/** Whether a failure with this code may be avoided by a retry. */
export function isTransient(code: string | undefined): boolean {
  return ['server_error', 'rate_limit_exceeded', 'vector_store_timeout'].includes(code ?? '')
}

/** Translates a response. `wasStreamed`: its texts have already been sent as chunks. */
export function toResponseUpdate(
  service: Service,
  response: Response,
  conversationId: string,
  wasStreamed = false,
): TaskUpdate {
  const { id: responseId, status, output = [], error, incomplete_details: details } = response
  const state = Object.hasOwn(STATES, status) ? STATES[status] : undefined
  if (state === undefined) throw service.error(`response status ${JSON.stringify(status)} is not known`)
  const ref = { responseId, conversationId }
  const items = output.map((raw) => ({ raw, item: parseAnswer(service, ItemSchema, raw) }))
  const texts = wasStreamed || status === 'in_progress' ? [] : textsOf(items)
  const question = state === 'completed' ? toQuestion(items, texts) : undefined
  if (question !== undefined) return { ...question, ref: { ...ref, ...question.ref } }
  const code = codeOf(error?.code ?? details?.reason ?? status)
  return {
    ref,
    state,
    ...(texts.length > 0 && { artifacts: [{ artifactId: responseId, parts: texts }] }),
    ...(state === 'failed' && {
      message: `The agent failed: ${code}`,
      failure: { code, retryable: isTransient(code) },
    }),
  }
}

interface OutputItem {
  readonly raw: JsonObject
  readonly item: Item
}

/** Returns the agent's question, if there is one: for the service, a response with open calls is complete. */
function toQuestion(items: readonly OutputItem[], texts: readonly PartInput[]): TaskUpdate | undefined {
  const consents = items.filter(({ item }) => item.type === 'oauth_consent_request')
  const answered = new Set(items.map(({ item: { type, call_id = '' } }) => `${type} ${call_id}`))
  const calls = items.filter(({ item }) => isUnanswered(item, answered))
  const questions = [...consents, ...calls]
  if (questions.length === 0) return undefined
  const data = questions.map(({ raw }) => ({ data: raw }))
  const shown =
    texts.length > 0 ? texts : [{ text: questions.map(({ item }) => sentenceFor(item)).join('\n') }]
  const pending = calls.map(({ item: { call_id, id = '' } }) => call_id ?? id)
  return {
    ...(pending.length > 0 && { ref: { pending } }),
    state: consents.length > 0 ? 'auth-required' : 'input-required',
    message: { parts: [...shown, ...data] },
  }
}

function isUnanswered({ type, call_id: callId }: Item, answered: ReadonlySet<string>): boolean {
  const answer = Object.hasOwn(CALLS, type) ? CALLS[type] : undefined
  if (answer === undefined) return false
  return callId === undefined || !answered.has(`${answer} ${callId}`)
}

function sentenceFor({ type, name, consent_link: link }: Item): string {
  if (type === 'oauth_consent_request') return `The agent needs your consent: ${link ?? 'at its service'}`
  if (type === 'mcp_approval_request') return `The agent wants to use ${name ?? 'a tool'}: is it approved?`
  return `The agent waits for the result of ${name ?? type}`
}

function textsOf(items: readonly OutputItem[]): PartInput[] {
  return items.flatMap(({ item: { type, content = [] } }) => {
    if (type !== 'message') return []
    const text = content.map(({ text: said = '', refusal = '' }) => said + refusal).join('')
    return text === '' ? [] : [{ text }]
  })
}
