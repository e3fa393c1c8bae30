/**
 * Delegations of a run: tasks of other agents that the history of the task keeps.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { copyJson, JsonReader } from '../../core/json.js'
import type { JsonObject, ReadonlyJson } from '../../core/json-types.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { DeepReadonly, Part, TaskSnapshot } from '../../core/task.js'
import { readOptions, requireBoolean, requireFunctions, requireMethods } from '../../runtime/options.js'
import { agentIdOf, LINEAGE, nextLineage, readLineage, toMetadata } from '../lineage.js'
import type { Journal, NamedEntry } from './journal.js'
import { requireName } from './names.js'

/** A message to another agent: a text, or parts. */
export type DelegatedMessage =
  string | { readonly parts: readonly Part[]; readonly metadata?: JsonObject | undefined }

/** The position of a run at another agent. */
export interface DelegationHandle {
  readonly messageId: string
  readonly taskId?: string
  readonly contextId?: string
}

/** The end of a delegation, as JSON. `type` and `text` are those of the result of `A2AClient.run`. */
export interface DelegationResult {
  /** Whether the agent has completed the task, or replied. */
  readonly ok: boolean
  readonly type: string
  readonly text: string
  /** The agent's task, as far as it is known. */
  readonly task?: ReadonlyJson
  /** The agent's reply without a task. */
  readonly message?: ReadonlyJson
  /** The code of the error, where there is one. */
  readonly code?: string
}

/** What `run.delegate` needs of an agent: an `A2AClient` is one. */
export interface DelegationAgent {
  readonly card: { readonly name: string }
  run(
    message: never,
    options: never,
  ): Promise<{ readonly ok: boolean; readonly type: string; readonly text: string }>
}

/** Options of `run.delegate`. */
export interface DelegateOptions {
  /**
   * Answers a question of the agent. It is called again when the turn continues. If it returns `undefined`, the result is
   * `input-required`. Default is to ask the user, by `run.requireInput`.
   */
  readonly onInputRequired?: ((question: DelegationResult) => AnswerOf | Promise<AnswerOf>) | undefined
  /** Whether the agent may be one that has led to this task. Default is `false`. */
  readonly mayRepeat?: boolean | undefined
}

type AnswerOf = DelegatedMessage | undefined

interface Asked {
  readonly parts: readonly DeepReadonly<Part>[]
}

/** What delegations use of their run. */
export interface DelegationHost {
  readonly journal: Journal
  readonly self: string
  readonly metadata: { readonly [key: string]: unknown } | undefined
  readonly limits: {
    readonly maxStepBytes: number
    readonly maxDepth: number
    readonly maxDelegationDepth: number
  }
  readonly taskId: () => string
  readonly work: () => void
  readonly peek: () => TaskSnapshot | null
  readonly signal: () => AbortSignal
  /** Resolves when everything so far is stored. */
  readonly stored: () => Promise<void> | undefined
  readonly ask: (prompt: string) => Promise<Asked>
}

/** The methods of a client, as far as delegations call them. */
interface Runner {
  run(
    message: object,
    options: {
      readonly signal: AbortSignal
      readonly onStart: (handle: DelegationHandle) => Promise<void>
      readonly onUpdate: (update: { readonly handle: DelegationHandle }) => void
      readonly repeats?: DelegationHandle
    },
  ): Promise<RunnerResult>
}

interface RunnerResult {
  readonly ok: boolean
  readonly type: string
  readonly text: string
  readonly task?: { readonly id: string; readonly contextId?: string }
  readonly message?: object
  readonly error?: { readonly code: string }
}

/** See `Run.delegate`. */
export async function delegate(
  host: DelegationHost,
  name: string,
  agent: DelegationAgent,
  message: DelegatedMessage,
  options: DelegateOptions,
): Promise<DelegationResult> {
  requireName('delegation', name)
  requireMethods('agent', agent, ['run'])
  const { onInputRequired, mayRepeat = false } = readOptions(
    options,
    ['onInputRequired', 'mayRepeat'],
    'run.delegate',
  )
  requireFunctions(options, ['onInputRequired'])
  requireBoolean('mayRepeat', mayRepeat)
  const answerTo = onInputRequired ?? (async ({ text }) => partsOf(await host.ask(text)))
  const agentId = agentIdOf(agent.card)
  const lineage = nextLineage(readLineage(host.metadata), host.self, host.taskId(), agentId, {
    maxDepth: host.limits.maxDelegationDepth,
    mayRepeat,
  })
  // The client checks what it is given. Its types are those of another folder.
  const runner = agent as unknown as Runner
  let next: object = withMetadata(message, toMetadata(lineage))
  for (;;) {
    const result = await runLeg(host, name, runner, next)
    if (result.type !== 'input-required') return result
    const answer = await answerTo(result)
    if (answer === undefined) return result
    const { id: taskId, contextId } = result.task as { readonly id: string; readonly contextId?: string }
    next = {
      ...withMetadata(answer, toMetadata(lineage)),
      taskId,
      ...(contextId !== undefined && { contextId }),
    }
  }
}

/** One message to the agent, and what comes of it until the agent's task ends or waits. */
async function runLeg(
  host: DelegationHost,
  name: string,
  runner: Runner,
  message: object,
): Promise<DelegationResult> {
  const { journal } = host
  host.work()
  const label = journal.nameOf('delegate', name)
  const begun = journal.pass('delegate', label)
  const followed = journal.pass('handle', label)
  const recorded = await journal.next('delegated', label)
  // An earlier attempt recorded it.
  if (recorded !== undefined) return recorded.result as unknown as DelegationResult
  const leave = journal.enter()
  const ended = followEnd(host)
  const record = (entry: NamedEntry): void => journal.record(entry, journal.inFlight - 1)
  try {
    const known = (followed ?? begun)?.handle as DelegationHandle | undefined
    let isBegun = begun !== undefined
    let isFollowed = followed !== undefined
    const result = await runner.run(
      { ...message, messageId: `${host.taskId()}/${label}` },
      {
        signal: ended.signal,
        ...(known !== undefined && { repeats: known }),
        onStart: async (handle) => {
          if (!isBegun) record({ kind: 'delegate', name: label, handle: toJson(handle) })
          isBegun = true
          await host.stored()
        },
        onUpdate: ({ handle }) => {
          if (isFollowed || handle.taskId === undefined) return
          isFollowed = true
          record({ kind: 'handle', name: label, handle: toJson(handle) })
        },
      },
    )
    // The run is over: what becomes of the agent's task is up to the next attempt of the turn.
    host.signal().throwIfAborted()
    const json = readResult(result, label, host.limits)
    record({ kind: 'delegated', name: label, result: json })
    await host.stored()
    return json as unknown as DelegationResult
  } finally {
    ended.stop()
    leave()
  }
}

/** Aborts when the task has ended, and not when this process lets go of it: then another one follows the agent. */
function followEnd({ signal: signalOf, peek }: DelegationHost): {
  readonly signal: AbortSignal
  readonly stop: () => void
} {
  const signal = signalOf()
  const controller = new AbortController()
  const onAbort = (): void => {
    const task = peek()
    const isOver = task !== null && isTerminal(task.state)
    const isGone = A2AError.is(signal.reason, 'TASK_CANCELED') || A2AError.is(signal.reason, 'TASK_TIMED_OUT')
    if (isOver || isGone) controller.abort(signal.reason)
  }
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  return { signal: controller.signal, stop: () => signal.removeEventListener('abort', onAbort) }
}

function withMetadata(message: DelegatedMessage, lineage: JsonObject): object {
  const content = typeof message === 'string' ? { parts: [{ text: message }] } : message
  return { ...content, metadata: { ...content.metadata, ...lineage }, extensions: [LINEAGE] }
}

function partsOf({ parts }: Asked): DelegatedMessage {
  // Messages of the conversation are frozen: the client gets a copy of its own.
  return { parts: copyJson(parts) as Part[] }
}

function readResult(
  { ok, type, text, task, message, error }: RunnerResult,
  label: string,
  { maxStepBytes, maxDepth }: DelegationHost['limits'],
): ReadonlyJson {
  const limit = { subject: `Result of ${label}`, option: 'limits.maxStepBytes', maxBytes: maxStepBytes }
  const reader = new JsonReader(limit, maxDepth)
  const given = {
    ok,
    type,
    text,
    ...(task && { task }),
    ...(message && { message }),
    ...(error && { code: error.code }),
  }
  const read = reader.read(JSON.parse(JSON.stringify(given)), 'result')
  reader.check(read)
  return read
}

function toJson(handle: DelegationHandle): ReadonlyJson {
  // A handle is plain JSON.
  return JSON.parse(JSON.stringify(handle)) as ReadonlyJson
}
