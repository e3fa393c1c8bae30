/**
 * One message to another agent, and the task of that agent which it leads to.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import { JsonReader } from '../core/json.js'
import type { ReadonlyJson } from '../core/json-types.js'
import type { NamedEntry } from '../core/history/named-entry.js'
import { allSpent, spendingOf, type Amounts } from '../core/spending.js'
import type { RunHandle, Runner, RunnerResult } from './runner.js'

/** What is followed. */
export interface Leg {
  readonly runner: Runner
  readonly message: object
  /** The URL of the agent, or its name. */
  readonly agent: string
  /** The name of the delegation, with its occurrence. */
  readonly label: string
  /** The position that the journal has, if the message was sent before, or may have been. */
  readonly known: RunHandle | undefined
  /** Whether the journal has the agent's task. */
  readonly isFollowed: boolean
  readonly maxBytes: number
  readonly maxDepth: number
  /** What earlier messages have made the agent's task spend, in each unit of the budget. Absent without a budget. */
  readonly counted?: Amounts | undefined
}

/** What the agent's run came to. */
export type FollowerOutcome = { readonly result: ReadonlyJson } | { readonly error: unknown }

/** Receives what there is to record, and the outcome. */
export interface FollowerSink {
  readonly record: (entry: NamedEntry) => void
  /** Resolves when everything so far is stored. */
  readonly stored: () => Promise<void> | undefined
  /** Called once. */
  readonly settle: (outcome: FollowerOutcome) => void
}

/**
 * Sends the message, unless an earlier process has, and follows the agent's task. It holds on to nothing of the code that
 * waits for it but its sink, which can be replaced.
 */
export class Follower {
  readonly label: string
  readonly #leg: Pick<Leg, 'label' | 'counted'>
  #sink: FollowerSink
  readonly #controller = new AbortController()
  #isSettled = false

  constructor(leg: Leg, sink: FollowerSink) {
    this.label = leg.label
    this.#leg = { label: leg.label, counted: leg.counted }
    this.#sink = sink
    void this.#follow(leg)
  }

  /** Cancels a task of an agent that no follower reads. */
  static cancel(leg: Leg, reason: unknown): Promise<FollowerOutcome> {
    const sink = { record: () => undefined, stored: () => undefined, settle: () => undefined }
    return new Follower(leg, sink).canceled(reason)
  }

  /** See {@link endedEntry}. */
  entryOf(result: ReadonlyJson): NamedEntry {
    return endedEntry(this.#leg, result)
  }

  /** Reports to `sink` from now on. */
  handTo(sink: FollowerSink): void {
    this.#sink = sink
  }

  /** Cancels the agent's task, and then settles. */
  cancel(reason: unknown): void {
    this.#controller.abort(reason)
  }

  /** Cancels the agent's task in place of the code that waits for it. Resolves to the outcome. */
  canceled(reason: unknown): Promise<FollowerOutcome> {
    return new Promise((settle) => {
      this.handTo({ record: () => undefined, stored: () => undefined, settle })
      this.cancel(reason)
    })
  }

  /** Leaves the agent's task to another process, and settles with `reason`. */
  stop(reason: unknown): void {
    const text = 'This process does not follow the task of the agent any more'
    this.#controller.abort(new A2AError('LEASE_LOST', text, { taskId: '' }, { cause: reason }))
    this.#settle({ error: reason })
  }

  async #follow(leg: Leg): Promise<void> {
    try {
      this.#settle({ result: await this.#run(leg) })
    } catch (error) {
      this.#settle({ error })
    }
  }

  async #run({
    runner,
    message,
    agent,
    label,
    known,
    isFollowed,
    maxBytes,
    maxDepth,
  }: Leg): Promise<ReadonlyJson> {
    let hasBegun = known !== undefined
    let hasTask = isFollowed
    const result = await runner.run(message, {
      signal: this.#controller.signal,
      ...(known !== undefined && { repeats: known }),
      onStart: async (handle) => {
        const isNew = !hasBegun
        hasBegun = true
        if (isNew) this.#sink.record({ kind: 'delegate', name: label, handle: toJson(handle), agent })
        await this.#sink.stored()
      },
      onUpdate: ({ handle }) => {
        if (hasTask || handle.taskId === undefined || this.#isSettled) return
        hasTask = true
        this.#sink.record({ kind: 'handle', name: label, handle: toJson(handle) })
      },
    })
    return readResult(result, label, maxBytes, maxDepth)
  }

  #settle(outcome: FollowerOutcome): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#sink.settle(outcome)
  }
}

/** The entry for what came of the message, with what the agent's task has spent for it. */
export function endedEntry(
  { label, counted = {} }: Pick<Leg, 'label' | 'counted'>,
  result: ReadonlyJson,
): NamedEntry {
  const { task } = result as { readonly task?: object }
  const now = allSpent(spendingOf(task))
  const risen = Object.entries(counted).flatMap(([unit, before]) => {
    const { [unit]: amount = 0 } = now
    return amount > before ? [[unit, amount - before] as const] : []
  })
  const spent = risen.length > 0 && { spent: Object.fromEntries(risen) }
  return { kind: 'delegated', name: label, result, ...spent }
}

/** Whether the agent's task has ended, as far as is known. */
export function isOver(outcome: FollowerOutcome): boolean {
  if ('error' in outcome) return false
  // The result of a follower is an object.
  const { type } = outcome.result as { readonly type?: unknown }
  return ['message', 'completed', 'failed', 'rejected', 'canceled'].includes(String(type))
}

function readResult(
  { ok, type, text, task, message, error }: RunnerResult,
  label: string,
  maxBytes: number,
  maxDepth: number,
): ReadonlyJson {
  const limit = { subject: `Result of ${label}`, option: 'limits.maxStepBytes', maxBytes }
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

function toJson(handle: RunHandle): ReadonlyJson {
  // A handle is plain JSON.
  return JSON.parse(JSON.stringify(handle)) as ReadonlyJson
}
