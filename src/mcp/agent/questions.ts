/**
 * Requests of a server, as questions to the user of a run, or to a model.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { firstChars } from '../../runtime/cut.js'
import { toToolSchema, type ToolSchema } from '../../runtime/framework-tools.js'
import { isLink } from '../../runtime/link.js'
import { isRecord, recordOf, type Unread } from '../../runtime/unread.js'
import type { Run } from '../../server/run/run.js'
import { violationOf } from '../../wire/question/violation.js'
import type { ServerRequest } from './ongoing.js'

/** What is used of a run. */
export type McpRun = Pick<Run, 'step' | 'update' | 'requireInput' | 'approve' | 'sleep' | 'signal' | 'taskId'>

/** Answers a request of a server to sample a model: the params of `sampling/createMessage`, and its result. */
export type McpSample = (
  params: Readonly<Record<string, unknown>>,
  options: { readonly signal: AbortSignal },
) => object | Promise<object>

export interface Asking {
  readonly run: McpRun
  /** Of the call. */
  readonly label: string
  readonly sample: McpSample | undefined
  /** Aborts when the server no longer waits. */
  readonly withdrawn?: AbortSignal | undefined
}

const MAX_MESSAGE = 8_192
const MAX_QUESTION = 65_536
const MAX_LABEL = 150

/** Whether there is someone to answer. */
export function isAnswerable({ method }: ServerRequest, sample: McpSample | undefined): boolean {
  return method === 'elicitation/create' || (method === 'sampling/createMessage' && sample !== undefined)
}

/** The result for the server. */
export async function answerTo({ method, params }: ServerRequest, asking: Asking): Promise<Unread> {
  const { run, label, sample } = asking
  if (method === 'sampling/createMessage' && sample !== undefined) {
    const name = `${firstChars(label, MAX_LABEL)} sampling`
    return (await run.step(
      name,
      async ({ signal }): Promise<unknown> => await sample(params, { signal }),
    )) as Unread
  }
  try {
    return await elicit(params, asking)
  } catch (error) {
    // The user has not answered, in time or rightly, or the server has withdrawn the question.
    if (run.signal.aborted || !UNANSWERED.some((code) => A2AError.is(error, code))) throw error
    return { action: 'cancel' }
  }
}

const UNANSWERED = ['INVALID_PARAMS', 'WAIT_ABORTED', 'WAIT_TIMED_OUT'] as const

async function elicit(params: Unread, { run, label, withdrawn }: Asking): Promise<Unread> {
  const { message: said } = params
  const message = typeof said === 'string' && said.trim() !== '' ? firstChars(said, MAX_MESSAGE) : 'Continue?'
  const name = firstChars(label, MAX_LABEL)
  const options = withdrawn === undefined ? {} : { signal: withdrawn }
  if (params['mode'] === 'url') {
    const { url } = params
    if (!isLink(url) || url.length > MAX_MESSAGE) return { action: 'decline' }
    // The server knows when the user is done there: no code of this agent would send a signal.
    const asked = { ...options, message: `${message}\n\n${url}`, options: ['done', 'decline'] as const }
    return { action: (await run.approve(name, asked)) === 'done' ? 'accept' : 'decline' }
  }
  const schema = recordOf(params['requestedSchema']) ?? {}
  if (JSON.stringify(schema).length > MAX_QUESTION) return { action: 'decline' }
  if (Object.keys(recordOf(schema['properties']) ?? {}).length === 0) {
    const asked = { ...options, message, options: ['accept', 'decline'] as const }
    const action = await run.approve(name, asked)
    return action === 'accept' ? { action, content: {} } : { action: 'decline' }
  }
  const content = await run.requireInput(message, {
    ...options,
    name,
    schema: toSchema(schema),
    jsonSchema: schema,
  })
  return { action: 'accept', content }
}

/** A schema of the server. Its patterns are not used: one can take for ever. The server has the last word. */
export function toSchema(schema: Unread): ToolSchema {
  return toToolSchema(schema, (value) => {
    const found = violationOf(schema, value)
    if (found !== undefined) return `${found.path.replace(/^\./, '')} ${found.reason}`.trim()
    return isRecord(value) ? undefined : 'must be an object'
  })
}
