/**
 * Tasks and messages of this library in the forms that executors read: the objects of the SDK's two lines.
 *
 * @module
 */
import type { TaskState } from '../core/lifecycle.js'
import type { DeepReadonly, Message, Part, TaskSnapshot } from '../core/task.js'
import { JSON_MESSAGES, toMessage as toLegacyMessage } from '../wire/v0-3/messages.js'
import { JSON_FORM, toTask as toLegacyTask } from '../wire/v0-3/objects.js'
import { artifactsOf, statusMessage } from '../wire/view.js'
import type { SdkVersion } from './agent-executor.js'
import { toBuffer } from '../runtime/buffer.js'

/** Conversions to the objects of one line. Each result is a copy that the executor may change. */
export interface SdkObjects {
  readonly toMessage: (message: DeepReadonly<Message>) => object
  readonly toTask: (task: TaskSnapshot) => object
}

/** The numbers of `TaskState` in the SDK. */
const STATES = {
  submitted: 1,
  working: 2,
  completed: 3,
  failed: 4,
  canceled: 5,
  'input-required': 6,
  rejected: 7,
  'auth-required': 8,
} as const satisfies Record<TaskState, number>

/** The numbers of `Role`. */
const ROLES = { user: 1, agent: 2 } as const

export const SDK_OBJECTS: Readonly<Record<SdkVersion, SdkObjects>> = {
  '1.0': { toMessage, toTask },
  '0.3': {
    toMessage: (message) => structuredClone(toLegacyMessage(JSON_MESSAGES, message)),
    toTask: (task) => structuredClone(toLegacyTask(JSON_FORM, { task })),
  },
}

function toTask(task: TaskSnapshot): object {
  const { id, contextId, state, message, updatedAt: timestamp, messages, metadata } = task
  const said = message === undefined ? undefined : toMessage(statusMessage(message, id, contextId))
  return {
    id,
    contextId,
    status: { state: STATES[state], message: said, timestamp },
    artifacts: artifactsOf(task).map(({ artifactId, name = '', description = '', parts, ...rest }) => ({
      ...{ artifactId, name, description, parts: parts.map(toPart) },
      ...{ metadata: copyOf(rest.metadata), extensions: [...(rest.extensions ?? [])] },
    })),
    history: messages.map(toMessage),
    metadata: copyOf(metadata),
  }
}

function toMessage(message: DeepReadonly<Message>): object {
  const { messageId, contextId = '', taskId = '', role, parts, metadata } = message
  return {
    ...{ messageId, contextId, taskId, role: ROLES[role], parts: parts.map(toPart) },
    metadata: copyOf(metadata),
    extensions: [...(message.extensions ?? [])],
    referenceTaskIds: [...(message.referenceTaskIds ?? [])],
  }
}

function toPart(part: DeepReadonly<Part>): object {
  const { metadata, filename = '', mediaType = '' } = part
  return { content: toContent(part), metadata: copyOf(metadata), filename, mediaType }
}

function toContent({ text, raw, url, data }: DeepReadonly<Part>): object {
  if (text !== undefined) return { $case: 'text', value: text }
  if (raw !== undefined) return { $case: 'raw', value: toBytes(raw) }
  if (url !== undefined) return { $case: 'url', value: url }
  return { $case: 'data', value: structuredClone(data) }
}

function toBytes(base64: string): Uint8Array {
  return toBuffer(Uint8Array.from(atob(base64), (digit) => digit.charCodeAt(0)))
}

function copyOf<T>(metadata: T): T {
  return structuredClone(metadata)
}
