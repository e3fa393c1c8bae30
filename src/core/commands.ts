/**
 * Commands: checked and copied parameters of the changes to a task.
 *
 * @module
 */
import { invalidParams } from './errors.js'
import {
  read,
  requireArray,
  requireArtifact,
  requireMessage,
  takeBoolean,
  takeGeneration,
  takeName,
  takeNames,
} from './validate.js'
import { JsonTaker } from './json.js'
import { describe, quote } from '../runtime/describe.js'
import type { GenerateId } from '../runtime/ids.js'
import type { JsonObject, JsonValue } from './json-types.js'
import type { Limits } from './options.js'
import type { TaskState } from './lifecycle.js'
import type {
  AppendArtifactOptions,
  ArtifactInput,
  CancelOptions,
  ChangeOptions,
  CreateTaskParams,
  MessageInput,
  TaskUpdate,
} from './params.js'
import type { Artifact, Message } from './task.js'

/** An artifact, taken in, and an upper bound of its size. */
export interface TakenArtifact {
  readonly artifact: Artifact
  readonly append: boolean
  readonly lastChunk: boolean
  readonly atMost: number
}

/** What a new task is made of. */
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
  readonly message: string | Message | null | undefined
  readonly expectedGeneration: number | undefined
}

export interface CancelCommand {
  readonly type: 'cancel'
  readonly message: string | Message | null | undefined
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

/** What may be asked of a task. `decide` says what comes of it. */
export type TaskCommand<S extends string = TaskState> =
  UpdateCommand<S> | CancelCommand | MessageCommand | TimeoutCommand

/** The part of the rules that commands are made by. */
export interface Intake {
  readonly limits: Limits
  readonly generateId: GenerateId
}

/** Most tasks have none: they share this one. */
const NO_METADATA: JsonObject = Object.freeze({})

const NO_OPTIONS: AppendArtifactOptions = Object.freeze({})

const CREATE_KEYS = ['skill', 'input', 'metadata', 'contextId', 'referenceTaskIds', 'owner', 'id']
const UPDATE_KEYS = ['state', 'output', 'artifacts', 'message', 'expectedGeneration']
const CANCEL_KEYS = ['message', 'expectedGeneration']
const APPEND_KEYS = ['append', 'lastChunk', 'expectedGeneration']
const MESSAGE_KEYS = ['expectedGeneration']

export function toCreate(params: CreateTaskParams, { limits, generateId }: Intake): CreateCommand {
  // Callers in JavaScript pass what they like.
  const given: Partial<CreateTaskParams> = (params as unknown) ? read(params, CREATE_KEYS, 'createTask') : {}
  const { skill, input, metadata, contextId, referenceTaskIds, owner, id } = given
  if (!skill) throw invalidParams('skill', 'is missing', undefined, 'Task requires a skill parameter')
  const taker = new JsonTaker(limits.input, limits.maxDepth)
  const takenInput = input === undefined ? undefined : taker.take(input, 'input')
  const takenMetadata = metadata === undefined ? undefined : taker.takeObject(metadata, 'metadata')
  taker.check(takenInput, takenMetadata)
  const takenId = takeName(id === undefined ? generateId() : id, 'id')
  return {
    type: 'create',
    skill: takeName(skill, 'skill'),
    id: takenId,
    contextId: contextId === undefined ? takenId : takeName(contextId, 'contextId'),
    input: takenInput ?? null,
    metadata: takenMetadata ?? NO_METADATA,
    referenceTaskIds:
      referenceTaskIds === undefined ? undefined : takeNames(referenceTaskIds, 'referenceTaskIds'),
    owner: owner === undefined ? undefined : takeName(owner, 'owner'),
  }
}

export function toUpdate<S extends string>(update: TaskUpdate<S>, intake: Intake): UpdateCommand<S> {
  const { limits } = intake
  const given = read(update, UPDATE_KEYS, 'updateTask')
  const { state, output, artifacts, message } = given
  if (state !== undefined && typeof state !== 'string') {
    throw invalidParams('state', `must be a string, got ${describe(state)}`)
  }
  return {
    type: 'update',
    state,
    output: output === undefined ? undefined : takeOutput(output, limits),
    artifacts: takeArtifacts(artifacts, limits),
    message: takeStatusMessage(message, intake),
    expectedGeneration: takeExpected(given),
  }
}

export function toCancel(options: CancelOptions, intake: Intake): CancelCommand {
  const given = read(options, CANCEL_KEYS, 'cancelTask')
  const { message } = given
  return {
    type: 'cancel',
    message: takeStatusMessage(message, intake),
    expectedGeneration: takeExpected(given),
  }
}

/** A chunk is an update that brings one artifact and nothing else. */
export function toAppend(
  value: ArtifactInput,
  options: AppendArtifactOptions | undefined,
  { limits, generateId }: Intake,
): UpdateCommand<never> {
  const given = options === undefined ? NO_OPTIONS : read(options, APPEND_KEYS, 'appendArtifact')
  const append = takeBoolean(given.append ?? true, 'append')
  const lastChunk = takeBoolean(given.lastChunk ?? false, 'lastChunk')
  const taken = takeArtifact(value, 'artifact', limits, generateId)
  return {
    type: 'update',
    state: undefined,
    output: undefined,
    artifacts: [{ artifact: taken.artifact, append, lastChunk, atMost: taken.atMost }],
    message: undefined,
    expectedGeneration: takeExpected(given),
  }
}

export function toMessage(message: MessageInput, options: ChangeOptions, intake: Intake): MessageCommand {
  const given = read(options, MESSAGE_KEYS, 'addMessage')
  const taker = new JsonTaker(intake.limits.messages, intake.limits.maxDepth)
  return {
    type: 'message',
    message: takeMessage(message, taker, intake.generateId),
    atMost: taker.atMost,
    expectedGeneration: takeExpected(given),
  }
}

function takeExpected(options: ChangeOptions): number | undefined {
  const { expectedGeneration } = options
  if (expectedGeneration === undefined && Object.hasOwn(options, 'expectedGeneration')) {
    throw invalidParams(
      'expectedGeneration',
      'must be a generation, got undefined: leave it out to change any',
    )
  }
  return takeGeneration(expectedGeneration, 'expectedGeneration')
}

function takeOutput(value: unknown, limits: Limits): JsonValue {
  const taker = new JsonTaker(limits.output, limits.maxDepth)
  const output = taker.take(value, 'output')
  taker.check(output)
  return output
}

function takeArtifacts(
  artifacts: readonly ArtifactInput[] | undefined,
  limits: Limits,
): readonly TakenArtifact[] {
  if (artifacts === undefined) return []
  requireArray(artifacts, 'artifacts')
  return Array.from(artifacts, (artifact: ArtifactInput, index) =>
    takeArtifact(artifact, `artifacts[${index}]`, limits),
  )
}

/** With `generateId`, an artifact that has no id gets one. */
function takeArtifact(
  value: ArtifactInput,
  root: string,
  limits: Limits,
  generateId?: GenerateId,
): TakenArtifact {
  const taker = new JsonTaker(limits.artifacts, limits.maxDepth)
  const artifact = taker.takeObject(value, root)
  if (generateId !== undefined) artifact['artifactId'] ??= taker.take(generateId(), `${root}.artifactId`)
  requireArtifact(artifact, root)
  return { artifact, append: false, lastChunk: false, atMost: taker.atMost }
}

function takeStatusMessage(
  message: string | MessageInput | null | undefined,
  { limits, generateId }: Intake,
): string | Message | null | undefined {
  if (message === undefined || message === null) return message
  const taker = new JsonTaker(limits.messages, limits.maxDepth)
  if (typeof message === 'string') {
    taker.check(taker.take(message, 'message'))
    return message
  }
  if (typeof message === 'object') return takeMessage(message, taker, generateId)
  throw invalidParams('message', `must be a string or a message, got ${quote(message)}`)
}

function takeMessage(value: MessageInput, taker: JsonTaker, generateId: GenerateId): Message {
  const message = taker.takeObject(value, 'message')
  // Set in place: a copy with one more key would have a hidden class of its own on V8, 276 bytes for each message.
  message['messageId'] ??= taker.take(generateId(), 'message.messageId')
  taker.check(message)
  return requireMessage(message, 'message')
}
