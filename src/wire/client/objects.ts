/**
 * What agents answer, in the core's terms: the objects of A2A 1.0, those of 0.3, and its ProtoJSON.
 *
 * One reader for all, since agents mix them: a card says 1.0, and a part has its kind. Only what would be ambiguous goes
 * by the version that is spoken. Lists that must not be empty may be, here: what is meant is clear.
 *
 * @module
 */
import { invalidParams } from '../../core/errors.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { Message, Part } from '../../core/task.js'
import type { JsonValue } from '../../core/json-types.js'
import type { Artifact } from '../../schemas/artifact.js'
import type { ClientResults, RemoteEvent, RemotePushConfig, RemoteTask, SendResult } from './dialect.js'
import { compact, type Fields } from './fields.js'
import { fromData } from '../v0-3/forms.js'
import { STATES, TASK_STATES } from '../v1/objects.js'
import { standardBase64 } from '../view.js'

const ROLES = { user: 'user', ROLE_USER: 'user', agent: 'agent', ROLE_AGENT: 'agent' } as const

const STATES_BY_NAME: Readonly<Record<string, TaskState>> = Object.fromEntries([
  ...TASK_STATES.flatMap((state) => [[state, state] as const, [STATES[state], state] as const]),
  ['TASK_STATE_CANCELLED', 'canceled'],
  // The agent cannot tell: the task has not ended.
  ['unknown', 'working'],
  ['TASK_STATE_UNSPECIFIED', 'working'],
])

const CONTENTS = ['text', 'raw', 'url', 'data', 'file']

function readPart(part: Fields, isOld: boolean): Part {
  const contents = CONTENTS.filter((key) => part.get(key) !== undefined)
  // Of data alone `null` is a value.
  if (contents.length > 1 || (contents.length === 0 && !part.has('data'))) {
    const got = contents.join(', ') || 'none'
    throw invalidParams(part.path, `must have exactly one of text, raw, url and data, got ${got}`)
  }
  const metadata = part.json('metadata')
  const data = isOld ? part.json('data') : undefined
  if (data !== undefined) return fromData(data, metadata, part.get('kind') === undefined)
  const file = part.object('file')
  const text = part.text('text')
  const raw = part.text('raw') ?? file?.text('bytes') ?? file?.text('fileWithBytes')
  const url = part.text('url') ?? file?.text('uri') ?? file?.text('fileWithUri')
  const about = compact({
    metadata,
    filename: file?.filled('name') ?? part.filled('filename'),
    mediaType: file?.filled('mimeType') ?? part.filled('mediaType'),
  })
  if (text !== undefined) return { text, ...about }
  if (url !== undefined) return { url, ...about }
  if (raw !== undefined) return { ...standardBase64({ raw: requireBase64(part.at('raw'), raw) }), ...about }
  if (file !== undefined) throw invalidParams(file.path, 'must have a uri or bytes')
  // Any JSON, null included.
  return { data: (part.get('data') ?? null) as JsonValue, ...about }
}

function requireBase64(path: string, raw: string): string {
  if (/^[A-Za-z0-9+/_-]*={0,2}$/.test(raw)) return raw
  throw invalidParams(path, 'must be base64')
}

export function readMessage(message: Fields, isOld: boolean): Message {
  const part = (each: Fields): Part => readPart(each, isOld)
  return compact({
    messageId: message.id('messageId'),
    role: message.oneOf('role', ROLES),
    parts: message.list('parts', part) ?? message.list('content', part) ?? [],
    contextId: message.filled('contextId'),
    taskId: message.filled('taskId'),
    metadata: message.json('metadata'),
    extensions: message.texts('extensions'),
    referenceTaskIds: message.texts('referenceTaskIds'),
  })
}

function readArtifact(artifact: Fields, isOld: boolean): Artifact {
  return compact({
    artifactId: artifact.id('artifactId'),
    name: artifact.text('name'),
    description: artifact.text('description'),
    parts: artifact.list('parts', (part) => readPart(part, isOld)) ?? [],
    metadata: artifact.json('metadata'),
    extensions: artifact.texts('extensions'),
  })
}

interface Status {
  state: TaskState
  message?: Message
  updatedAt?: string
}

function readStatus(from: Fields, isOld: boolean): Status {
  const status = requireObject(from, 'status')
  // ProtoJSON of 0.3 calls the message an update.
  const message = status.object('message') ?? status.object('update')
  return compact({
    state: status.oneOf('state', STATES_BY_NAME),
    message: message && readMessage(message, isOld),
    updatedAt: status.filled('timestamp'),
  })
}

export function readTask(task: Fields, isOld: boolean): RemoteTask {
  return compact({
    id: task.id('id'),
    contextId: task.filled('contextId'),
    ...readStatus(task, isOld),
    artifacts: task.list('artifacts', (artifact) => readArtifact(artifact, isOld)) ?? [],
    messages: task.list('history', (message) => readMessage(message, isOld)) ?? [],
    metadata: task.json('metadata') ?? {},
  })
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

/** An object in one that is named for it, or one that has its kind. */
export function readEvent(event: Fields, isOld: boolean): RemoteEvent {
  const kind = event.text('kind')
  const names =
    kind === undefined
      ? event.keys().filter((key) => Object.hasOwn(TYPES, key) && event.get(key) !== undefined)
      : [kind]
  const [name = ''] = names
  const type = Object.hasOwn(TYPES, name) ? TYPES[name] : undefined
  if (type === undefined || names.length > 1) {
    throw invalidParams(event.path, 'must be exactly one of task, message, statusUpdate and artifactUpdate')
  }
  return readAs(type, kind === undefined ? requireObject(event, name) : event, isOld)
}

function readAs(type: RemoteEvent['type'], event: Fields, isOld: boolean): RemoteEvent {
  if (type === 'task') return { type, task: readTask(event, isOld) }
  if (type === 'message') return { type, message: readMessage(event, isOld) }
  const about = {
    taskId: event.id('taskId'),
    contextId: event.filled('contextId'),
    metadata: event.json('metadata'),
  }
  if (type === 'status') return compact({ type, ...about, ...readStatus(event, isOld) })
  return compact({
    type,
    ...about,
    artifact: readArtifact(requireObject(event, 'artifact'), isOld),
    append: event.flag('append') ?? false,
    lastChunk: event.flag('lastChunk') ?? false,
  })
}

export function readSent(sent: Fields, isOld: boolean): SendResult {
  const event = readEvent(sent, isOld)
  if (event.type === 'task' || event.type === 'message') return event
  throw invalidParams(sent.path, 'must be a task or a message')
}

export function readPage(page: Fields, isOld: boolean): ClientResults['ListTasks'] {
  return compact({
    tasks: page.list('tasks', (task) => readTask(task, isOld)) ?? [],
    nextPageToken: page.text('nextPageToken') ?? '',
    totalSize: page.count('totalSize'),
  })
}

/** Flat in 1.0; in 0.3 with the configuration in an object of its own, and in ProtoJSON with both ids in a name. */
export function readPushConfig(registered: Fields): RemotePushConfig {
  const config = registered.object('pushNotificationConfig') ?? registered
  const name = config === registered ? '' : (registered.text('name') ?? '')
  const [, taskId = '', id] = /^tasks\/([^/]+)\/pushNotificationConfigs\/([^/]+)$/.exec(name) ?? []
  const authentication = config.object('authentication')
  const scheme = authentication?.filled('scheme') ?? authentication?.texts('schemes')?.[0]
  const credentials = authentication?.filled('credentials')
  return {
    taskId: registered.filled('taskId') ?? taskId,
    config: compact({
      id: config.filled('id') ?? id,
      url: config.id('url'),
      token: config.filled('token'),
      authentication: scheme === undefined ? undefined : compact({ scheme, credentials }),
    }),
  }
}

export function readPushConfigs(page: Fields): ClientResults['ListTaskPushNotificationConfigs'] {
  return {
    configs: page.list('configs', readPushConfig) ?? [],
    nextPageToken: page.text('nextPageToken') ?? '',
  }
}

function requireObject(fields: Fields, key: string): Fields {
  const object = fields.object(key)
  if (object === undefined) throw invalidParams(fields.at(key), 'is missing')
  return object
}
