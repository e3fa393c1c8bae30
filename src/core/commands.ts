/**
 * Commands: checked and copied parameters of changes to a task.
 *
 * @module
 */
import { invalidParams } from './errors.js'
import {
  readParams,
  requireArray,
  refuseUnknownKeys,
  refuseUnknownPartKeys,
  requireArtifact,
  requireMessage,
  readBoolean,
  readGeneration,
  readName,
  readNames,
} from './validate.js'
import type { ArtifactChanged, JournalEntry } from './events.js'
import { copyJson, JsonReader, NO_SIZE, sharedJson, sizeOf, type Size, type SizeLimit } from './json.js'
import { TAGS } from './tagged-json.js'
import { describe, quote } from '../runtime/describe.js'
import type { GenerateId } from '../runtime/ids.js'
import { refuseOwnKeys } from './metadata.js'
import type { JsonObject, JsonValue } from './json-types.js'
import type { Limits } from './options.js'
import type { TaskState } from './lifecycle.js'
import type {
  AppendArtifactOptions,
  ArtifactInput,
  CancelOptions,
  ChangeOptions,
  CreateTaskParams,
  JournalChange,
  MessageInput,
  TaskUpdate,
} from './params.js'
import type { Artifact, Message } from './task.js'

/** A checked artifact, with its size. */
export interface ArtifactChange extends HowChanged {
  readonly artifact: Artifact
  readonly size: Size
}

/** What the event of an artifact says beside it. */
type HowChanged = Pick<ArtifactChanged, 'append' | 'lastChunk' | 'step' | 'restored'>

/** The parameters of a new task. */
export interface CreateCommand {
  readonly type: 'create'
  readonly id: string
  readonly contextId: string
  readonly skill: string
  readonly input: JsonValue
  readonly metadata: JsonObject
  readonly referenceTaskIds: readonly string[] | undefined
  readonly owner: string | undefined
  /** The estimated bytes of heap that input and metadata take. */
  readonly jsonCost: number
}

export interface UpdateCommand<S extends string = TaskState> {
  readonly type: 'update'
  readonly state: S | undefined
  readonly output: JsonValue | undefined
  readonly artifacts: readonly ArtifactChange[]
  readonly outputSize: Size
  readonly message: StatusMessage
  readonly messageSize: Size
  /** Changes of the task's metadata. */
  readonly metadata?: JsonObject | undefined
  readonly expectedGeneration: number | undefined
}

/** A status message: `null` removes it, `undefined` leaves it as it is. */
type StatusMessage = string | Message | null | undefined

export interface CancelCommand {
  readonly type: 'cancel'
  readonly message: StatusMessage
  readonly messageSize: Size
  readonly expectedGeneration: number | undefined
}

export interface MessageCommand {
  readonly type: 'message'
  readonly message: Message
  readonly size: Size
  readonly expectedGeneration: number | undefined
}

/** Entries of the journal, with the message and the update that belong to them, in one change. */
export interface JournalCommand<S extends string = TaskState> {
  readonly type: 'journal'
  readonly entries: readonly JournalEntry[]
  readonly message: MessageCommand | undefined
  readonly update: UpdateCommand<S> | undefined
}

/** The task has outlived `taskTimeoutMs`. */
export interface TimeoutCommand {
  readonly type: 'timeout'
}

/** The changes that can be requested of a task. `decide` turns a command into events. */
export type TaskCommand<S extends string = TaskState> =
  UpdateCommand<S> | CancelCommand | MessageCommand | JournalCommand<S> | TimeoutCommand

/** The settings that commands are built with. */
export interface CommandRules {
  readonly limits: Limits
  readonly generateId: GenerateId
}

/** Ends a task that waits for the client, to make room for others. */
export const GIVE_UP: CancelCommand = {
  type: 'cancel',
  message: 'Canceled to make room for other tasks',
  messageSize: sizeOf('Canceled to make room for other tasks'),
  expectedGeneration: undefined,
}

/** Shared by all tasks without metadata, which are most. */
const NO_METADATA: JsonObject = Object.freeze({})

const NO_OPTIONS: AppendArtifactOptions = Object.freeze({})

const CREATE_KEYS = ['skill', 'input', 'metadata', 'contextId', 'referenceTaskIds', 'owner', 'id']
const UPDATE_KEYS = ['state', 'output', 'artifacts', 'message', 'metadata', 'expectedGeneration']
const CANCEL_KEYS = ['message', 'expectedGeneration']
const APPEND_KEYS = ['append', 'lastChunk', 'step', 'restored', 'expectedGeneration']
const MESSAGE_KEYS = ['expectedGeneration']

export function toCreate(params: CreateTaskParams, { limits, generateId }: CommandRules): CreateCommand {
  // JavaScript callers can pass anything.
  const given: Partial<CreateTaskParams> = (params as unknown)
    ? readParams(params, CREATE_KEYS, 'createTask')
    : {}
  const { skill, input, metadata, contextId, referenceTaskIds, owner, id } = given
  if (!skill) throw invalidParams('skill', 'is missing', undefined, 'Task requires a skill parameter')
  const reader = new JsonReader(limits.input, limits.maxDepth)
  const checkedInput = input === undefined ? undefined : reader.read(input, 'input')
  const checkedMetadata = metadata === undefined ? undefined : reader.readObject(metadata, 'metadata')
  reader.check(checkedInput, checkedMetadata)
  refuseOwnKeys(checkedMetadata)
  const taskId = readName(id === undefined ? generateId() : id, 'id')
  return {
    type: 'create',
    skill: readName(skill, 'skill'),
    id: taskId,
    contextId: contextId === undefined ? taskId : readName(contextId, 'contextId'),
    input: checkedInput ?? null,
    metadata: checkedMetadata ?? NO_METADATA,
    referenceTaskIds:
      referenceTaskIds === undefined ? undefined : readNames(referenceTaskIds, 'referenceTaskIds'),
    owner: owner === undefined ? undefined : readName(owner, 'owner'),
    jsonCost: reader.cost,
  }
}

export function toUpdate<S extends string>(
  update: TaskUpdate<S>,
  rules: CommandRules,
  method = 'updateTask',
): UpdateCommand<S> {
  const { limits } = rules
  const given = readParams(update, UPDATE_KEYS, method)
  const { state, output, artifacts, message, metadata } = given
  if (state !== undefined && typeof state !== 'string') {
    throw invalidParams('state', `must be a string, got ${describe(state)}`)
  }
  const ofOutput = output === undefined ? undefined : new JsonReader(limits.output, limits.maxDepth, true)
  const readOutput = ofOutput && readChecked(output, 'output', ofOutput)
  const changes = readArtifacts(artifacts, limits)
  const ofMessage = readerOfStatus(message, rules)
  return {
    type: 'update',
    state,
    output: readOutput,
    outputSize: ofOutput?.size ?? NO_SIZE,
    artifacts: changes,
    message: readStatusMessage(message, ofMessage, rules),
    messageSize: ofMessage?.size ?? NO_SIZE,
    ...(metadata !== undefined && { metadata: readMetadata(metadata, limits) }),
    expectedGeneration: readExpectedGeneration(given),
  }
}

export function toCancel(options: CancelOptions, rules: CommandRules): CancelCommand {
  const given = readParams(options, CANCEL_KEYS, 'cancelTask')
  const { message } = given
  const reader = readerOfStatus(message, rules)
  return {
    type: 'cancel',
    message: readStatusMessage(message, reader, rules),
    messageSize: reader?.size ?? NO_SIZE,
    expectedGeneration: readExpectedGeneration(given),
  }
}

/** A chunk is an update with a single artifact. */
export function toAppend(
  value: ArtifactInput,
  options: AppendArtifactOptions | undefined,
  { limits, generateId }: CommandRules,
): UpdateCommand<never> {
  const given = options === undefined ? NO_OPTIONS : readParams(options, APPEND_KEYS, 'appendArtifact')
  const { step, restored } = given
  const how = {
    append: readBoolean(given.append ?? true, 'append'),
    lastChunk: readBoolean(given.lastChunk ?? false, 'lastChunk'),
    ...(step !== undefined && { step: readName(step, 'step') }),
    ...(restored !== undefined && { restored: readBoolean(restored, 'restored') }),
  }
  return {
    type: 'update',
    state: undefined,
    output: undefined,
    outputSize: NO_SIZE,
    artifacts: [readArtifact(value, 'artifact', limits, how, generateId)],
    message: undefined,
    messageSize: NO_SIZE,
    expectedGeneration: readExpectedGeneration(given),
  }
}

export function toMessage(
  message: MessageInput,
  options: ChangeOptions,
  rules: CommandRules,
): MessageCommand {
  const given = readParams(options, MESSAGE_KEYS, 'addMessage')
  const reader = new JsonReader(rules.limits.messages, rules.limits.maxDepth, true)
  return {
    type: 'message',
    message: readMessage(message, reader, rules.generateId),
    size: reader.size,
    expectedGeneration: readExpectedGeneration(given),
  }
}

export function toJournal<S extends string>(
  entries: readonly JournalEntry[],
  { message, update }: JournalChange<S>,
  rules: CommandRules,
): JournalCommand<S> {
  return {
    type: 'journal',
    entries: entries.map((entry) => copyJson(entry)),
    message: message && toMessage(message, {}, rules),
    update: update && toUpdate(update, rules),
  }
}

/** The most bytes of a signal, and of all that a task has not received. */
export const SIGNALS: SizeLimit = { option: 'signals', subject: 'Signals', maxBytes: 1_048_576 }

/** The most characters of a name that code gives to a step, a wait or another entry of the journal. */
export const MAX_ENTRY_NAME = 200

export function toSignal<S extends string>(
  name: string,
  value: unknown,
  { limits }: Pick<CommandRules, 'limits'>,
): JournalCommand<S> {
  const reader = new JsonReader(SIGNALS, limits.maxDepth, false, TAGS)
  const { json, tagged } = reader.readTagged(value, 'value')
  reader.check(json)
  const entry: JournalEntry = {
    ...{ kind: 'signal', name: readName(name, 'name', MAX_ENTRY_NAME), value: json },
    ...(tagged && { tagged }),
  }
  return { type: 'journal', entries: [entry], message: undefined, update: undefined }
}

function readExpectedGeneration(options: ChangeOptions): number | undefined {
  const { expectedGeneration } = options
  if (expectedGeneration === undefined && Object.hasOwn(options, 'expectedGeneration')) {
    throw invalidParams(
      'expectedGeneration',
      'must be a generation, got undefined: leave it out to change any',
    )
  }
  return readGeneration(expectedGeneration, 'expectedGeneration')
}

function readChecked(value: unknown, root: string, reader: JsonReader): JsonValue {
  const read = reader.read(value, root)
  reader.check(read)
  return read
}

export function readMetadata(value: object, limits: Limits): JsonObject {
  const metadata = new JsonReader(limits.input, limits.maxDepth).readObject(value, 'metadata')
  refuseOwnKeys(metadata)
  return metadata
}

function readArtifacts(
  artifacts: readonly ArtifactInput[] | undefined,
  limits: Limits,
): readonly ArtifactChange[] {
  if (artifacts === undefined) return []
  requireArray(artifacts, 'artifacts')
  return Array.from(artifacts, (artifact: ArtifactInput, index) =>
    readArtifact(artifact, `artifacts[${index}]`, limits),
  )
}

/** With `generateId`, an artifact without an id receives one. */
function readArtifact(
  value: ArtifactInput,
  root: string,
  limits: Limits,
  how: HowChanged = { append: false, lastChunk: false },
  generateId?: GenerateId,
): ArtifactChange {
  const reader = new JsonReader(limits.artifacts, limits.maxDepth, true)
  const artifact = reader.readObject(value, root)
  if (generateId !== undefined && (artifact['artifactId'] ?? null) === null)
    reader.add(artifact, 'artifactId', generateId(), root)
  refuseUnknownPartKeys(requireArtifact(artifact, root), root)
  return { artifact, ...how, size: reader.size }
}

/** The reader of a status message; `undefined` where there is none. */
function readerOfStatus(message: unknown, { limits }: CommandRules): JsonReader | undefined {
  const isGiven = message !== undefined && message !== null
  return isGiven ? new JsonReader(limits.messages, limits.maxDepth, true) : undefined
}

function readStatusMessage(
  message: string | MessageInput | null | undefined,
  reader: JsonReader | undefined,
  { generateId }: CommandRules,
): StatusMessage {
  if (reader === undefined || message === undefined || message === null) return message as null | undefined
  // The copy of a string is a string.
  if (typeof message === 'string') return readChecked(message, 'message', reader) as string
  if (typeof message === 'object') return readMessage(message, reader, generateId)
  throw invalidParams('message', `must be a string or a message, got ${quote(message)}`)
}

function readMessage(value: MessageInput, reader: JsonReader, generateId: GenerateId): Message {
  const message = reader.readObject(value, 'message')
  // Set in place: on V8, a copy with one more key has a hidden class of its own, 276 bytes for each message.
  if ((message['messageId'] ?? null) === null) reader.add(message, 'messageId', generateId(), 'message')
  reader.check(message)
  // What a message can have much of.
  for (const key of ['parts', 'metadata'] as const)
    if (sharedJson.has(value[key] as object)) message[key] = value[key] as JsonValue
  const read = requireMessage(message, 'message')
  refuseUnknownKeys(read, 'message')
  return read
}
