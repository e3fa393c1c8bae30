/**
 * The methods of a client that send, and what there is to tell of their answers.
 *
 * @module
 */
import type { A2AClient } from '../client/a2a-client.js'
import { OTHER } from './callee.js'

/** A method that sends. */
export interface Operation {
  /** Which of its arguments are the options. */
  readonly optionsAt: number
  /** The operation of A2A; none where it is as many as it takes. */
  readonly method?: string
  /** Whether another agent is given work. */
  readonly delegates?: boolean
  /** Whether it answers with a generator. */
  readonly streams?: boolean
}

type MethodOf<T> = { [K in keyof T]: T[K] extends (...args: never) => unknown ? K : never }[keyof T]

/** All of them: a method that is missing here does not compile. */
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

/** What an answer, or an event of a stream, tells of a task. */
export interface Told {
  readonly taskId?: string | undefined
  readonly contextId?: string | undefined
  readonly state?: string | undefined
  /** How it went wrong, where an answer says so. */
  readonly failure?: string | undefined
}

const FAILED: readonly unknown[] = ['failed', 'rejected', 'canceled', 'timed-out', 'aborted', 'error']

/** Answers are many; each has a task, is one, is about one, or is of none. */
export function toldBy(answer: unknown): Told {
  const { task, ...given } = fieldsOf(answer)
  const fields = task === undefined ? given : fieldsOf(task)
  const state = textIn(fields, 'state')
  const taskId = textIn(fields, 'taskId') ?? (state === undefined ? undefined : textIn(fields, 'id'))
  const outcome = given['ok'] === false ? given['type'] : state
  const failure = FAILED.includes(outcome) ? (textIn(fieldsOf(given['error']), 'code') ?? outcome) : undefined
  return { taskId, contextId: textIn(fields, 'contextId'), state, failure: failure as string | undefined }
}

/** A class of errors, of which there are few. */
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
