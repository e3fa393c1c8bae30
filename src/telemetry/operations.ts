/**
 * The client's methods that send, and the extraction of attributes from their results.
 *
 * @module
 */
import type { A2AClient } from '../client/a2a-client.js'
import { OTHER } from './callee.js'

/** A method that sends. */
export interface Operation {
  /** The index of its options argument. */
  readonly optionsAt: number
  /** The A2A operation, unless the method may perform several. */
  readonly method?: string
  /** Whether it gives work to another agent. */
  readonly delegates?: boolean
  /** Whether it returns a generator. */
  readonly streams?: boolean
}

type MethodOf<T> = { [K in keyof T]: T[K] extends (...args: never) => unknown ? K : never }[keyof T]

/** A missing method of the client is a type error. */
const TABLE = {
  send: { optionsAt: 1, method: 'SendMessage', delegates: true },
  stream: { optionsAt: 1, method: 'SendStreamingMessage', delegates: true, streams: true },
  run: { optionsAt: 1, delegates: true },
  resume: { optionsAt: 1, delegates: true },
  sendTask: { optionsAt: 2, delegates: true },
  getTask: { optionsAt: 1, method: 'GetTask' },
  listTasks: { optionsAt: 0, method: 'ListTasks' },
  cancelTask: { optionsAt: 1, method: 'CancelTask' },
  subscribe: { optionsAt: 1, method: 'SubscribeToTask', streams: true },
  createPushConfig: { optionsAt: 2, method: 'CreateTaskPushNotificationConfig' },
  getPushConfig: { optionsAt: 2, method: 'GetTaskPushNotificationConfig' },
  listPushConfigs: { optionsAt: 1, method: 'ListTaskPushNotificationConfigs' },
  deletePushConfig: { optionsAt: 2, method: 'DeleteTaskPushNotificationConfig' },
  getExtendedAgentCard: { optionsAt: 0, method: 'GetExtendedAgentCard' },
} satisfies Record<MethodOf<A2AClient>, Operation>

export const OPERATIONS: ReadonlyMap<unknown, Operation> = new Map(Object.entries(TABLE))

/** The properties of a task in a result, or in an event of a stream. */
export interface ResultProperties {
  readonly taskId?: string | undefined
  readonly contextId?: string | undefined
  readonly state?: string | undefined
  /** The error code, or else the outcome or state, when the result reports a failure. */
  readonly failure?: string | undefined
}

const FAILED: readonly unknown[] = ['failed', 'rejected', 'canceled', 'timed-out', 'aborted', 'error']

/** A result may contain a task, be a task, refer to a task, or have nothing to do with one. */
export function propertiesOf(answer: unknown): ResultProperties {
  const { task, ...given } = fieldsOf(answer)
  const fields = task === undefined ? given : fieldsOf(task)
  const state = textIn(fields, 'state')
  const taskId = textIn(fields, 'taskId') ?? (state === undefined ? undefined : textIn(fields, 'id'))
  const outcome = given['ok'] === false ? given['type'] : state
  const failure = FAILED.includes(outcome) ? (textIn(fieldsOf(given['error']), 'code') ?? outcome) : undefined
  return { taskId, contextId: textIn(fields, 'contextId'), state, failure: failure as string | undefined }
}

/** A class of errors with few values, as a metric attribute requires. */
export function classOf(error: unknown): string {
  const { code } = fieldsOf(error)
  if (typeof code === 'string') return code
  return error instanceof Error ? error.name : OTHER
}

function textIn(fields: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = fields[name]
  return typeof value === 'string' ? value : undefined
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
