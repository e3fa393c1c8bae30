/**
 * Events as executors publish them, in the forms of both lines of the SDK, read into the objects of this library.
 *
 * @module
 */
import type { TaskState } from '../core/lifecycle.js'
import type { ArtifactInput, PartInput } from '../core/params.js'
import { describe, quote } from '../runtime/describe.js'
import type { Say } from '../server/run/run.js'
import type { SdkVersion } from './agent-executor.js'

/** A message of the agent. */
export type Said = Exclude<Say, string>

export interface Status {
  readonly state: TaskState
  readonly message: Said | undefined
}

interface Update {
  readonly taskId: string
  readonly metadata: object | undefined
}

/** An event, whichever form it had. */
export type Published =
  | { readonly type: 'message'; readonly message: Said }
  | (Update & {
      readonly type: 'task'
      readonly contextId: string
      readonly status: Status
      readonly artifacts: readonly ArtifactInput[]
      /** The ids of the agent's messages in the history. */
      readonly said: readonly string[]
    })
  | (Update & { readonly type: 'status'; readonly status: Status; readonly isFinal: boolean })
  | (Update & {
      readonly type: 'artifact'
      readonly artifact: ArtifactInput
      readonly append: boolean
      readonly lastChunk: boolean
    })

/** Any object: each property is read with its checks. */
interface Given {
  readonly [key: string]: unknown
}

interface Form {
  readonly taskStates: readonly (readonly [unknown, TaskState])[]
  readonly agent: unknown
  readonly kinds: Readonly<Record<string, Published['type']>>
  /** The object in the event. */
  readonly unwrap: (event: Given) => unknown
  readonly toPart: (part: Given) => PartInput
}

const V1: Form = {
  taskStates: [
    [1, 'submitted'],
    [2, 'working'],
    [3, 'completed'],
    [4, 'failed'],
    [5, 'canceled'],
    [6, 'input-required'],
    [7, 'rejected'],
    [8, 'auth-required'],
  ],
  agent: 2,
  kinds: { message: 'message', task: 'task', statusUpdate: 'status', artifactUpdate: 'artifact' },
  unwrap: ({ data }) => data,
  toPart: fromModernPart,
}

const V0_3: Form = {
  taskStates: V1.taskStates.map(([, state]) => [state, state]),
  agent: 'agent',
  kinds: { message: 'message', task: 'task', 'status-update': 'status', 'artifact-update': 'artifact' },
  unwrap: (event) => event,
  toPart: fromLegacyPart,
}

const FORMS: Readonly<Record<SdkVersion, Form>> = { '1.0': V1, '0.3': V0_3 }

/** @throws {TypeError} naming what is wrong with the event, also when it is an event of the other line of the SDK. */
export function readPublished(event: unknown, version: SdkVersion): Published {
  const form = FORMS[version]
  const given = requireObject(event, 'event')
  requireVersion(given, version)
  const kind = String(given['kind'])
  const type = Object.hasOwn(form.kinds, kind) ? form.kinds[kind] : undefined
  if (type === undefined) {
    throw new TypeError(
      `"event.kind" must be one of ${Object.keys(form.kinds).join(', ')}, got ${quote(given['kind'])}`,
    )
  }
  const data = requireObject(form.unwrap(given), 'event.data')
  const { taskId, metadata } = data
  const update = { taskId: textOr(taskId, ''), metadata: toMetadata(metadata) }
  switch (type) {
    case 'message':
      return { type, message: toSaid(form, data) }
    case 'task':
      return { ...update, ...toTask(form, data) }
    case 'status': {
      const status = toStatus(form, data['status'])
      return { ...update, type, status, isFinal: data['final'] === true }
    }
    case 'artifact': {
      const artifact = toArtifact(form, requireObject(data['artifact'], 'event.artifact'))
      const { append, lastChunk } = data
      return { ...update, type, artifact, append: append === true, lastChunk: lastChunk === true }
    }
  }
}

/** The forms differ in whether the object is in `data`. */
function requireVersion(event: Given, version: SdkVersion): void {
  const found: SdkVersion = 'data' in event ? '1.0' : '0.3'
  if (found === version) return
  throw new TypeError(
    `The executor publishes events of @a2a-js/sdk ${found}: fromAgentExecutor(executor, { version: '${found}' })`,
  )
}

function toTask(
  form: Form,
  data: Given,
): Omit<Extract<Published, { type: 'task' }>, keyof Update> & Pick<Update, 'taskId'> {
  const { id, contextId, status, artifacts, history } = data
  const messages = listOf(history, 'event.history')
  return {
    type: 'task',
    taskId: textOr(id, ''),
    contextId: textOr(contextId, ''),
    status: toStatus(form, status),
    artifacts: listOf(artifacts, 'event.artifacts').map((artifact) => toArtifact(form, artifact)),
    said: messages.filter(({ role }) => role === form.agent).map(({ messageId }) => textOr(messageId, '')),
  }
}

function toStatus(form: Form, given: unknown): Status {
  const { state: name, message } = requireObject(given, 'event.status')
  const [, state] = form.taskStates.find(([known]) => known === name) ?? []
  if (state === undefined) {
    const known = form.taskStates.map(([each]) => each).join(', ')
    throw new TypeError(`"event.status.state" must be one of ${known}, got ${quote(name)}`)
  }
  const said = message == null ? undefined : toSaid(form, requireObject(message, 'event.status.message'))
  // A message needs content.
  return { state, message: said?.parts.length === 0 ? undefined : said }
}

function toSaid(form: Form, message: Given): Said {
  const { messageId, parts, metadata, extensions, referenceTaskIds } = message
  return {
    ...textField('messageId', messageId),
    parts: listOf(parts, 'event.parts').map(form.toPart),
    ...metadataField(metadata),
    ...listField('extensions', extensions),
    ...listField('referenceTaskIds', referenceTaskIds),
  }
}

function toArtifact(form: Form, artifact: Given): ArtifactInput {
  const { artifactId, name, description, parts, metadata, extensions } = artifact
  const given = listOf(parts, 'event.artifact.parts').map(form.toPart)
  return {
    ...textField('artifactId', artifactId),
    ...textField('name', name),
    ...textField('description', description),
    // A last chunk may be empty there, but an artifact has at least one part.
    parts: given.length === 0 ? [{ text: '' }] : given,
    ...metadataField(metadata),
    ...listField('extensions', extensions),
  }
}

function fromModernPart({ content, metadata, filename, mediaType }: Given): PartInput {
  const { $case, value } = requireObject(content, 'event.parts.content')
  const rest = {
    ...metadataField(metadata),
    ...textField('filename', filename),
    ...textField('mediaType', mediaType),
  }
  if ($case === 'text') return { text: value as string, ...rest }
  if ($case === 'url') return { url: value as string, ...rest }
  if ($case === 'data') return { data: value ?? null, ...rest }
  if ($case === 'raw')
    return { raw: value instanceof Uint8Array ? toBase64(value) : (value as string), ...rest }
  throw new TypeError(`"event.parts.content.$case" must be text, raw, url or data, got ${quote($case)}`)
}

function fromLegacyPart({ kind, text, file, data, metadata }: Given): PartInput {
  const rest = metadataField(metadata)
  if (kind === 'text') return { text: text as string, ...rest }
  if (kind === 'data') return { data: data ?? null, ...rest }
  if (kind !== 'file') {
    throw new TypeError(`"event.parts.kind" must be text, file or data, got ${quote(kind)}`)
  }
  const { bytes, uri, name, mimeType } = requireObject(file, 'event.parts.file')
  const content = bytes === undefined ? { url: uri as string } : { raw: bytes as string }
  return { ...content, ...textField('filename', name), ...textField('mediaType', mimeType), ...rest }
}

function toBase64(bytes: Uint8Array): string {
  let digits = ''
  // A multiple of 3, so that the pieces have no padding. The arguments of a call are limited.
  for (let start = 0; start < bytes.length; start += 24_573) {
    digits += btoa(String.fromCharCode(...bytes.subarray(start, start + 24_573)))
  }
  return digits
}

function requireObject(value: unknown, path: string): Given {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Given
  throw new TypeError(`"${path}" must be an object, got ${describe(value)}`)
}

function listOf(value: unknown, path: string): Given[] {
  if (value == null) return []
  if (!Array.isArray(value)) throw new TypeError(`"${path}" must be an array, got ${describe(value)}`)
  return value.map((item: unknown, index) => requireObject(item, `${path}[${index}]`))
}

function textOr<T>(value: unknown, otherwise: T): string | T {
  return typeof value === 'string' ? value : otherwise
}

/** Protobuf has `''` and `[]` for what is absent. */
function textField<K extends string>(key: K, value: unknown): { readonly [key in K]?: string } {
  if (value === undefined || value === null || value === '') return {}
  // The manager checks the type.
  return { [key]: value } as { readonly [key in K]: string }
}

function listField<K extends string>(key: K, value: unknown): { readonly [key in K]?: readonly string[] } {
  if (!Array.isArray(value) || value.length === 0) return {}
  return { [key]: value as unknown } as { readonly [key in K]: readonly string[] }
}

function toMetadata(value: unknown): object | undefined {
  const isEmpty = typeof value !== 'object' || value === null || Object.keys(value).length === 0
  return isEmpty ? undefined : value
}

function metadataField(value: unknown): { readonly metadata?: object } {
  const metadata = toMetadata(value)
  return metadata === undefined ? {} : { metadata }
}
