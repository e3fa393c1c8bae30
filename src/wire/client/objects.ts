/**
 * Conversion of the objects in agents' responses to those of the core.
 *
 * Agents mix versions, so every object is read in two steps: {@link normalize} converts it to the form of A2A 1.0, and
 * the schemas of 1.0 validate it, with rules that are lenient where the meaning is clear.
 *
 * @module
 */
import { invalidParams } from '../../core/errors.js'
import type { Message } from '../../core/task.js'
import type { Artifact } from '../../schemas/artifact.js'
import { TaskPushNotificationConfigSchema, type TaskPushNotificationConfig } from '../../schemas/push.js'
import {
  ReceivedArtifactUpdateSchema,
  ReceivedMessageSchema,
  ReceivedPushConfigPageSchema,
  ReceivedStatusUpdateSchema,
  ReceivedTaskPageSchema,
  ReceivedTaskSchema,
} from '../../schemas/received.js'
import type { SchemaOf } from '../../schemas/schema.js'
import type { Task, TaskStatus } from '../../schemas/task.js'
import { validate } from '../check.js'
import { isRecord } from '../../runtime/unread.js'
import { normalize, type Spelling } from '../normalize.js'
import { CORE_STATES, fromMessage, fromPushConfig } from '../v1/objects.js'
import { standardBase64 } from '../view.js'
import type { ClientResults, RemoteEvent, RemotePushConfig, RemoteTask, SendResult } from './dialect.js'
import { bareKindOf } from './missing.js'
import { PUSH_CONFIG, PUSH_CONFIG_PAGE, SPELLINGS, type Spellings } from './spellings.js'

/**
 * @throws {A2AError} `INVALID_PARAMS` with the path, after `root`, of a value that is missing or has the wrong type.
 */
function read<T>(value: unknown, spelling: Spelling, schema: SchemaOf<T>, root: string): T {
  return validate(schema, normalize(value, spelling, root), root)
}

function spellingsOf(isOld: boolean): Spellings {
  return isOld ? SPELLINGS.old : SPELLINGS.new
}

export function readMessage(message: unknown, root: string, isOld: boolean): Message {
  return fromMessage(read(message, spellingsOf(isOld).message, ReceivedMessageSchema, root))
}

function fromArtifact(artifact: Artifact): Artifact {
  return { ...artifact, parts: artifact.parts.map(standardBase64) }
}

function fromStatus({
  state,
  message,
  timestamp,
}: TaskStatus): Pick<RemoteTask, 'state' | 'message' | 'updatedAt'> {
  return {
    state: CORE_STATES[state],
    ...(message !== undefined && { message: fromMessage(message) }),
    ...(timestamp !== undefined && { updatedAt: timestamp }),
  }
}

function fromTask({ id, contextId, status, artifacts = [], history = [], metadata = {} }: Task): RemoteTask {
  return {
    id,
    ...(contextId !== undefined && { contextId }),
    ...fromStatus(status),
    artifacts: artifacts.map(fromArtifact),
    messages: history.map(fromMessage),
    metadata,
  }
}

export function readTask(task: unknown, root: string, isOld: boolean): RemoteTask {
  return fromTask(read(task, spellingsOf(isOld).task, ReceivedTaskSchema, root))
}

const TYPES: Readonly<Record<string, RemoteEvent['type']>> = {
  task: 'task',
  message: 'message',
  msg: 'message',
  'status-update': 'status',
  statusUpdate: 'status',
  'artifact-update': 'artifact',
  artifactUpdate: 'artifact',
}

type EventReaders = {
  readonly [T in RemoteEvent['type']]: (event: unknown, root: string, isOld: boolean) => RemoteEvent
}

const EVENTS: EventReaders = {
  task: (task, root, isOld) => ({ type: 'task', task: readTask(task, root, isOld) }),
  message: (message, root, isOld) => ({ type: 'message', message: readMessage(message, root, isOld) }),
  status(event, root, isOld) {
    const spelling = spellingsOf(isOld).statusUpdate
    const { status, ...about } = read(event, spelling, ReceivedStatusUpdateSchema, root)
    return { type: 'status', ...about, ...fromStatus(status) }
  },
  artifact(event, root, isOld) {
    const spelling = spellingsOf(isOld).artifactUpdate
    const update = read(event, spelling, ReceivedArtifactUpdateSchema, root)
    const { artifact, append = false, lastChunk = false, ...about } = update
    return { type: 'artifact', ...about, artifact: fromArtifact(artifact), append, lastChunk }
  },
}

/** Reads one event of a stream. In 1.0 a property names the event; in 0.3 the event has a `kind`, or its shape shows it. */
export function readEvent(event: unknown, root: string, isOld: boolean): RemoteEvent {
  // The schema of a task reports the type of any other value.
  if (!isRecord(event)) return EVENTS.task(event, root, isOld)
  const hasEnvelope = Object.keys(TYPES).some((each) => event[each] != null)
  const kind = isOld && !hasEnvelope ? bareKindOf(event) : event['kind']
  const names = kind == null ? Object.keys(TYPES).filter((each) => event[each] != null) : [kind]
  const name = names.length === 1 && typeof names[0] === 'string' ? names[0] : ''
  const type = Object.hasOwn(TYPES, name) ? TYPES[name] : undefined
  if (type === undefined) {
    throw invalidParams(root, 'must be exactly one of task, message, statusUpdate and artifactUpdate')
  }
  if (kind != null) return EVENTS[type](event, root, isOld)
  return EVENTS[type](event[name], `${root}.${name}`, isOld)
}

/** Reads the response to a message. */
export function readSent(sent: unknown, root: string, isOld: boolean): SendResult {
  const event = readEvent(sent, root, isOld)
  if (event.type === 'task' || event.type === 'message') return event
  throw invalidParams(root, 'must be a task or a message')
}

export function readTaskPage(page: unknown, root: string, isOld: boolean): ClientResults['ListTasks'] {
  const { tasks, ...others } = read(page, spellingsOf(isOld).taskPage, ReceivedTaskPageSchema, root)
  return { tasks: tasks.map(fromTask), ...others }
}

function fromRegisteredConfig({ taskId = '', ...config }: TaskPushNotificationConfig): RemotePushConfig {
  return { taskId, config: fromPushConfig(config) }
}

export function readPushConfig(registered: unknown, root: string): RemotePushConfig {
  return fromRegisteredConfig(read(registered, PUSH_CONFIG, TaskPushNotificationConfigSchema, root))
}

export function readPushConfigPage(
  page: unknown,
  root: string,
): ClientResults['ListTaskPushNotificationConfigs'] {
  const { configs, nextPageToken } = read(page, PUSH_CONFIG_PAGE, ReceivedPushConfigPageSchema, root)
  return { configs: configs.map(fromRegisteredConfig), nextPageToken }
}
