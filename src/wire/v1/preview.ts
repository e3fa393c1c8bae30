/**
 * Preview of the A2A 1.1 draft: the generation of a task.
 *
 * @module
 */
import { A2AError, invalidParams } from '../../core/errors.js'
import type { JsonObject } from '../../core/json-types.js'
import type { Codecs, Dialect, StreamEntry, TaskView } from '../dialect.js'
import { isRecord } from '../../runtime/unread.js'
import { protoNameOf } from '../proto-json.js'
import { CODECS as V1, toArtifactUpdate, toStatusUpdate, v1 } from './dialect.js'

function toTask(view: TaskView): JsonObject {
  return { ...V1.GetTask.encode(view), generation: view.task.generation }
}

function toStreamResponse(entry: StreamEntry): JsonObject {
  if (entry.type === 'task') return { task: toTask(entry) }
  if (entry.type === 'message') return V1.SendStreamingMessage.encode(entry)
  const { event, contextId } = entry
  const { generation } = event
  if (event.type === 'status') return { statusUpdate: { ...toStatusUpdate(event, contextId), generation } }
  return { artifactUpdate: { ...toArtifactUpdate(event, contextId), generation } }
}

function fromSendRequest(params: unknown): ReturnType<typeof V1.SendMessage.decode> {
  const request = V1.SendMessage.decode(params)
  const configuration = isRecord(params) ? params['configuration'] : undefined
  const ifGeneration = readGenerationField(configuration, 'ifGenerationMatch', 'configuration.')
  return ifGeneration === undefined ? request : { ...request, ifGeneration }
}

/** An `int64`: ProtoJSON writes it as a string and reads a number as well. */
function readGenerationField(object: unknown, key: string, root = ''): number | undefined {
  if (!isRecord(object)) return undefined
  const protoName = protoNameOf(key)
  const { [key]: value = object[protoName] } = object
  if (object[key] !== undefined && object[protoName] !== undefined) {
    throw invalidParams(root + protoName, `must not be given together with ${key}`)
  }
  if (value == null) return undefined
  const generation = typeof value === 'string' && /^\d{1,19}$/.test(value) ? Number(value) : value
  if (typeof generation === 'number' && Number.isInteger(generation) && generation >= 0) return generation
  throw invalidParams(root + key, 'must be an integer, 0 or more, as a number or as its digits in a text')
}

// A call, because bundlers drop an unused pure call but keep a spread.
function makeCodecs() {
  return {
    ...V1,
    SendMessage: {
      decode: fromSendRequest,
      encode: (sent) => (sent.type === 'task' ? { task: toTask(sent) } : V1.SendMessage.encode(sent)),
    },
    SendStreamingMessage: { decode: fromSendRequest, encode: toStreamResponse },
    GetTask: {
      decode(params) {
        const request = V1.GetTask.decode(params)
        const currentGeneration = readGenerationField(params, 'currentGeneration')
        return currentGeneration === undefined ? request : { ...request, currentGeneration }
      },
      encode: toTask,
    },
    ListTasks: {
      ...V1.ListTasks,
      encode: ({ tasks, ...page }) => ({ tasks: tasks.map(toTask), ...page }),
    },
    CancelTask: { ...V1.CancelTask, encode: toTask },
    SubscribeToTask: { ...V1.SubscribeToTask, encode: toStreamResponse },
  } satisfies Codecs
}

/** The draft and `error.data` name the present generation differently. Both names are sent. */
function asDraft(error: A2AError): A2AError {
  if (!A2AError.is(error, 'TASK_GENERATION_MISMATCH')) return error
  const data = { ...error.data, currentGeneration: error.data.generation }
  return new A2AError(error.code, error.message, data, { cause: error })
}

/**
 * The part of the A2A 1.1 draft that concerns `generation`: a preview, for handlers with
 * `preview: { generation: true }`. Used only for clients that send `A2A-Version: 1.1`.
 *
 * @see A2A, branch `dev-1.1`, commit 28491879, §3.2.7
 */
export function v1_1(): Dialect {
  const base = v1()
  const codecs = makeCodecs()
  return {
    ...base,
    version: '1.1',
    // Cards do not advertise the 1.1 draft; clients opt in.
    isInCards: false,
    rpc: codecs,
    rest: codecs,
    recognizes: () => false,
    encodeRpcError: (error) => base.encodeRpcError(asDraft(error)),
    encodeHttpError: (error, status) => base.encodeHttpError(asDraft(error), status),
    encodeNotification: toStreamResponse,
  }
}
