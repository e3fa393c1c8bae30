/**
 * From what a caller passes to a command: checked, copied, and no longer within the caller's reach.
 *
 * @module
 */
import { invalidParams } from './errors.js'
import { describe, hasLoneSurrogate, JsonTaker } from './json.js'
import type { Limits } from './limits.js'
import type { TaskState } from './lifecycle.js'
import type { GenerateId } from './ports.js'
import type { Artifact, JsonInput, JsonObject, JsonValue, Message } from './task.js'

export interface CreateTaskParams {
  /** The skill that the task asks for. */
  readonly skill: string
  /** JSON. Default is `null`. */
  readonly input?: JsonInput | undefined
  /** A JSON object. Default is `{}`. */
  readonly metadata?: object | undefined
  /** The conversation that the task belongs to. Default is a new one, named after the task that begins it. */
  readonly contextId?: string | undefined
  /** Tasks that this one builds on. They need not exist here. */
  readonly referenceTaskIds?: readonly string[] | undefined
  /** To whom the task belongs. The core only stores it and filters by it. */
  readonly owner?: string | undefined
  /** Default is a generated one. Refused when a task has it. */
  readonly id?: string | undefined
}

export interface ChangeOptions {
  /** Refuse the change with `TASK_GENERATION_MISMATCH` unless the task is at this generation. */
  readonly expectedGeneration?: number | undefined
}

/** A message as callers write it. */
export interface MessageInput extends Omit<Message, 'messageId' | 'parts' | 'metadata'> {
  /** Default is a generated one. */
  readonly messageId?: string
  readonly parts: readonly object[]
  readonly metadata?: object
}

export interface TaskUpdate<S extends string = TaskState> extends ChangeOptions {
  /** The state to move to. Without it the update is a progress report, legal in every state that is not terminal. */
  readonly state?: S | undefined
  /** JSON that takes the place of the present output. */
  readonly output?: JsonInput | undefined
  /** JSON objects to add. One whose `artifactId` the task knows takes that artifact's place. */
  readonly artifacts?: readonly object[] | undefined
  /** The new status message. */
  readonly message?: string | MessageInput | undefined
}

export interface CancelOptions extends ChangeOptions {
  /** The new status message. */
  readonly message?: string | MessageInput | undefined
}

export interface AppendArtifactOptions extends ChangeOptions {
  /** `false` replaces the artifact instead of continuing it. Default is `true`. */
  readonly append?: boolean | undefined
  /** Says that no chunk will follow. Default is `false`. */
  readonly lastChunk?: boolean | undefined
}

/** An artifact, taken in, and an upper bound of its size. */
export interface TakenArtifact {
  readonly artifact: Artifact
  readonly append: boolean
  readonly lastChunk: boolean
  readonly atMost: number
}

/** What may be asked of a task. `decide` says what comes of it. */
export type Command<S extends string = TaskState> =
  CreateCommand | UpdateCommand<S> | CancelCommand | MessageCommand | TimeoutCommand

export interface CreateCommand {
  readonly type: 'create'
  readonly id: string
  readonly contextId: string
  readonly skill: string
  readonly input: JsonValue
  readonly metadata: JsonObject
  readonly referenceTaskIds: readonly string[] | undefined
  readonly owner: string | undefined
}

export interface UpdateCommand<S extends string = TaskState> {
  readonly type: 'update'
  readonly state: S | undefined
  readonly output: JsonValue | undefined
  readonly artifacts: readonly TakenArtifact[]
  readonly message: string | Message | undefined
  readonly expectedGeneration: number | undefined
}

export interface CancelCommand {
  readonly type: 'cancel'
  readonly message: string | Message | undefined
  readonly expectedGeneration: number | undefined
}

export interface MessageCommand {
  readonly type: 'message'
  readonly message: Message
  /** An upper bound of its size. */
  readonly atMost: number
  readonly expectedGeneration: number | undefined
}

/** The task has outlived `taskTimeoutMs`. */
export interface TimeoutCommand {
  readonly type: 'timeout'
}

/** The part of the rules that commands are made by. */
export interface Intake {
  readonly limits: Limits
  readonly generateId: GenerateId
}

/** Most tasks have none: they share this one. */
const NO_METADATA: JsonObject = Object.freeze({})

/** Long enough for any id or URI, short enough not to be a payload. In UTF-16 units. */
const MAX_NAME_LENGTH = 1024
const MAX_REFERENCES = 1000

const CREATE_KEYS = ['skill', 'input', 'metadata', 'contextId', 'referenceTaskIds', 'owner', 'id']
const UPDATE_KEYS = ['state', 'output', 'artifacts', 'message', 'expectedGeneration']
const CANCEL_KEYS = ['message', 'expectedGeneration']
const APPEND_KEYS = ['append', 'lastChunk', 'expectedGeneration']
const MESSAGE_KEYS = ['expectedGeneration']

export function toCreate(params: CreateTaskParams, { limits, generateId }: Intake): CreateCommand {
  // Callers in JavaScript pass what they like.
  const given: Partial<CreateTaskParams> = (params as unknown) ? read(params, CREATE_KEYS, 'createTask') : {}
  const { skill, input, metadata, contextId, referenceTaskIds, owner, id } = given
  if (!skill) throw invalidParams('Task', 'requires a skill parameter')
  const taker = new JsonTaker(limits.input, limits.maxDepth)
  const takenInput = input === undefined ? undefined : taker.take(input, 'input')
  const takenMetadata = metadata === undefined ? undefined : taker.takeObject(metadata, 'metadata')
  taker.check(takenInput, takenMetadata)
  const takenId = takeName(id ?? generateId(), 'id')
  return {
    type: 'create',
    skill: takeName(skill, 'skill'),
    id: takenId,
    contextId: contextId === undefined ? takenId : takeName(contextId, 'contextId'),
    input: takenInput ?? null,
    metadata: takenMetadata ?? NO_METADATA,
    referenceTaskIds: referenceTaskIds && takeNames(referenceTaskIds, 'referenceTaskIds'),
    owner: owner === undefined ? undefined : takeName(owner, 'owner'),
  }
}

export function toUpdate<S extends string>(update: TaskUpdate<S>, intake: Intake): UpdateCommand<S> {
  const { limits } = intake
  const { state, output, artifacts, message, expectedGeneration } = read(update, UPDATE_KEYS, 'updateTask')
  if (state !== undefined && typeof state !== 'string') {
    throw invalidParams('state', `must be a string, got ${describe(state)}`)
  }
  return {
    type: 'update',
    state,
    output: output === undefined ? undefined : takeOutput(output, limits),
    artifacts: takeArtifacts(artifacts, limits),
    message: message === undefined ? undefined : takeStatusMessage(message, intake),
    expectedGeneration: takeGeneration(expectedGeneration, 'expectedGeneration'),
  }
}

export function toCancel(options: CancelOptions, intake: Intake): CancelCommand {
  const { message, expectedGeneration } = read(options, CANCEL_KEYS, 'cancelTask')
  return {
    type: 'cancel',
    message: message === undefined ? undefined : takeStatusMessage(message, intake),
    expectedGeneration: takeGeneration(expectedGeneration, 'expectedGeneration'),
  }
}

/** A chunk is an update that brings one artifact and nothing else. */
export function toAppend(
  artifact: object,
  options: AppendArtifactOptions,
  intake: Intake,
): UpdateCommand<never> {
  const {
    append = true,
    lastChunk = false,
    expectedGeneration,
  } = read(options, APPEND_KEYS, 'appendArtifact')
  const taken = takeArtifact(artifact, 'artifact', intake.limits)
  taken.artifact.artifactId ??= intake.generateId()
  return {
    type: 'update',
    state: undefined,
    output: undefined,
    artifacts: [
      {
        artifact: taken.artifact,
        append: takeBoolean(append, 'append'),
        lastChunk: takeBoolean(lastChunk, 'lastChunk'),
        atMost: taken.atMost,
      },
    ],
    message: undefined,
    expectedGeneration: takeGeneration(expectedGeneration, 'expectedGeneration'),
  }
}

export function toMessage(message: MessageInput, options: ChangeOptions, intake: Intake): MessageCommand {
  const { expectedGeneration } = read(options, MESSAGE_KEYS, 'addMessage')
  const taker = new JsonTaker(intake.limits.messages, intake.limits.maxDepth)
  return {
    type: 'message',
    message: takeMessage(message, taker, intake.generateId),
    atMost: taker.atMost,
    expectedGeneration: takeGeneration(expectedGeneration, 'expectedGeneration'),
  }
}

function takeOutput(value: JsonInput, limits: Limits): JsonValue {
  const taker = new JsonTaker(limits.output, limits.maxDepth)
  const output = taker.take(value, 'output')
  taker.check(output)
  return output
}

function takeArtifacts(artifacts: readonly object[] | undefined, limits: Limits): readonly TakenArtifact[] {
  if (artifacts === undefined) return []
  if (!Array.isArray(artifacts))
    throw invalidParams('artifacts', `must be an array, got ${describe(artifacts)}`)
  return Array.from(artifacts, (artifact: object, index) =>
    takeArtifact(artifact, `artifacts[${index}]`, limits),
  )
}

function takeArtifact(value: object, root: string, limits: Limits): TakenArtifact {
  const taker = new JsonTaker(limits.artifacts, limits.maxDepth)
  const artifact = taker.takeObject(value, root)
  taker.check(artifact)
  const { artifactId, parts, metadata } = artifact
  if (artifactId !== undefined) takeName(artifactId, `${root}.artifactId`)
  if (parts !== undefined) requireObjects(parts, `${root}.parts`)
  if (metadata !== undefined) requireObject(metadata, `${root}.metadata`)
  return { artifact, append: false, lastChunk: false, atMost: taker.atMost }
}

function takeStatusMessage(message: string | MessageInput, { limits, generateId }: Intake): string | Message {
  const taker = new JsonTaker(limits.messages, limits.maxDepth)
  if (typeof message !== 'string') return takeMessage(message, taker, generateId)
  taker.check(taker.take(message, 'message'))
  return message
}

function takeMessage(value: MessageInput, taker: JsonTaker, generateId: GenerateId): Message {
  const message = taker.takeObject(value, 'message')
  taker.check(message)
  const { messageId = generateId(), role, parts, metadata } = message
  takeName(messageId, 'message.messageId')
  if (role !== 'user' && role !== 'agent') throw invalidParams('message.role', 'must be "user" or "agent"')
  requireObjects(parts, 'message.parts').forEach(requireContent)
  if (metadata !== undefined) requireObject(metadata, 'message.metadata')
  for (const key of ['contextId', 'taskId']) {
    if (message[key] !== undefined) takeName(message[key], `message.${key}`)
  }
  for (const key of ['extensions', 'referenceTaskIds']) {
    if (message[key] !== undefined) takeNames(message[key], `message.${key}`)
  }
  // Set in place: a copy with one more key would have a hidden class of its own on V8, 276 bytes for each message.
  message['messageId'] = messageId
  // Every field that `Message` types has just been checked.
  return message as unknown as Message
}

const CONTENTS = ['text', 'raw', 'url', 'data']

function requireContent(part: JsonObject, index: number): void {
  const path = `message.parts[${index}]`
  const [content, second] = CONTENTS.filter((key) => Object.hasOwn(part, key))
  if (content === undefined || second !== undefined) {
    throw invalidParams(path, `must have exactly one of ${CONTENTS.join(', ')}`)
  }
  if (content !== 'data' && typeof part[content] !== 'string') {
    throw invalidParams(`${path}.${content}`, `must be a string, got ${describe(part[content])}`)
  }
}

export function requireObject(value: JsonValue | undefined, path: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw invalidParams(path, `must be an object, got ${describe(value)}`)
}

export function requireObjects(value: JsonValue | undefined, path: string): JsonObject[] {
  if (!Array.isArray(value)) throw invalidParams(path, `must be an array, got ${describe(value)}`)
  return value.map((element, index) => requireObject(element, `${path}[${index}]`))
}

/** An id, a skill, an owner: a short string with something in it. */
export function takeName(value: unknown, path: string): string {
  if (typeof value !== 'string') throw invalidParams(path, `must be a string, got ${describe(value)}`)
  if (value === '') throw invalidParams(path, 'must not be empty')
  if (value.length > MAX_NAME_LENGTH) {
    throw invalidParams(path, `must have at most ${MAX_NAME_LENGTH} characters, got ${value.length}`)
  }
  if (hasLoneSurrogate(value)) throw invalidParams(path, 'has a lone surrogate, which UTF-8 cannot hold')
  return value
}

export function takeNames(value: unknown, path: string): string[] {
  if (!Array.isArray(value)) throw invalidParams(path, `must be an array, got ${describe(value)}`)
  if (value.length > MAX_REFERENCES) throw invalidParams(path, `must have at most ${MAX_REFERENCES} elements`)
  return Array.from(value, (element, index) => takeName(element, `${path}[${index}]`))
}

function takeBoolean(value: unknown, path: string): boolean {
  if (typeof value !== 'boolean') throw invalidParams(path, `must be a boolean, got ${describe(value)}`)
  return value
}

/** A generation, as a cursor or an expectation: 0 is before the first event. */
export function takeGeneration(value: unknown, path: string): number | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    const got = typeof value === 'number' ? String(value) : describe(value)
    throw invalidParams(path, `must be a generation (an integer, 0 or more), got ${got}`)
  }
  return value
}

/**
 * A copy of `params`, each property read once. An unknown one is refused: a misspelt key that is ignored is an update
 * that is lost, or a filter that lets everything through.
 */
export function read<T extends object>(params: T, known: readonly string[], method: string): T {
  const given: unknown = params
  if (typeof given !== 'object' || given === null) {
    throw invalidParams(`${method}()`, `takes an object, got ${describe(given)}`)
  }
  let copy: T
  try {
    copy = { ...params }
  } catch (error) {
    throw invalidParams(unreadable(params) ?? `${method}()`, 'could not be read', error)
  }
  for (const key of Object.keys(copy)) {
    if (known.includes(key)) continue
    throw invalidParams(`${method}(): "${key.slice(0, 80)}"`, `is unknown; known are ${known.join(', ')}`)
  }
  return copy
}

/** The first property whose getter throws. */
function unreadable(params: object): string | undefined {
  for (const key of Object.keys(params)) {
    try {
      Reflect.get(params, key)
    } catch {
      return key
    }
  }
  return undefined
}
