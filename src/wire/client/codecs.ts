/**
 * Codecs of a client's operations: one encoder per version, and one reader for the responses of all.
 *
 * @module
 */
import { A2AError, invalidAnswer, invalidParams } from '../../core/errors.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { JsonObject } from '../../core/json-types.js'
import type { ClientCodecs, ClientRequests, ClientResults } from './dialect.js'
import type { Operation } from '../dialect.js'
import { readEvent, readPushConfig, readPushConfigPage, readSent, readTask, readTaskPage } from './objects.js'
import { TASK_STATES } from '../v1/objects.js'

/** Encoders of requests. Operations that a binding does not have are absent. */
export type Encoders = { readonly [O in Operation]?: (request: ClientRequests[O]) => JsonObject }

type Readers = {
  readonly [O in Operation]?: (answer: unknown, root: string, isOld: boolean) => ClientResults[O]
}

const READERS: Readers = {
  SendMessage: readSent,
  SendStreamingMessage: readEvent,
  GetTask: readTask,
  ListTasks: readTaskPage,
  CancelTask: readTask,
  SubscribeToTask: readEvent,
  CreateTaskPushNotificationConfig: readPushConfig,
  GetTaskPushNotificationConfig: readPushConfig,
  ListTaskPushNotificationConfigs: readPushConfigPage,
}

/** `others`: the second forms of requests, see {@link ClientCodec}. */
export function codecsOf(encoders: Encoders, isOld: boolean, others: Encoders = {}): ClientCodecs {
  const entries = namesOf(encoders).map((operation) => {
    const decode = (answer: unknown): unknown => decodeAs(operation, answer, isOld)
    return [operation, { encode: encoders[operation], encodeAgain: others[operation], decode }]
  })
  // Every operation has the encoder and the reader of its types.
  return Object.fromEntries(entries) as ClientCodecs
}

/** @throws {A2AError} `INVALID_AGENT_RESPONSE`: "The agent's answer is not A2A: result.status.state must be …". */
function decodeAs(operation: Operation, answer: unknown, isOld: boolean): unknown {
  // The SDKs respond with null, {}, or nothing.
  if (operation === 'DeleteTaskPushNotificationConfig') return null
  const read = READERS[operation]
  // The caller reads cards with parseAgentCard.
  if (read === undefined) return answer
  try {
    return read(isOld ? inObject(operation, answer) : answer, 'result', isOld)
  } catch (cause) {
    throw A2AError.is(cause, 'INVALID_PARAMS') ? invalidAnswer(cause.message, cause) : cause
  }
}

/** Agents of 0.3 return lists as bare arrays. Some return configurations in an object. */
function inObject(operation: Operation, answer: unknown): unknown {
  const isBare = Array.isArray(answer)
  // An agent of 1.0 takes this path for that of a tenant `v1` and returns an empty page.
  if (operation === 'ListTasks' && !isBare) throw invalidAnswer('result must be an array')
  return isBare && operation.startsWith('List') ? { tasks: answer, configs: answer } : answer
}

function namesOf(encoders: Encoders): Operation[] {
  // The table has no other keys.
  return Object.keys(encoders) as Operation[]
}

export const same = (request: object): JsonObject => ({ ...request })

/** @throws {A2AError} `INVALID_PARAMS`: an unknown state would not filter. */
export function requireState(given: TaskState | 'cancelled'): TaskState {
  const state = given === 'cancelled' ? 'canceled' : given
  if (TASK_STATES.includes(state)) return state
  throw invalidParams('state', `must be one of ${TASK_STATES.join(', ')}`)
}
