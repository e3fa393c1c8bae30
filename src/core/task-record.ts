/**
 * Records of the tasks in a manager. Callers receive only the frozen task of `snapshot`.
 *
 * @module
 */
import type { JournalEntry, JournalRecorded, NewLog, TaskEvent } from './events.js'
import { compactLog, eventsOf, historyOf, type CompactLog } from './compact-log.js'
import { apply, copyTask, copyWith, create, findArtifact, thawTask } from './evolve.js'
import { isPassed } from './history/named-entry.js'
import type { Artifact, DeepReadonly, TaskSnapshot, Task } from './task.js'
import type { EndReason, RemovalCode } from './errors.js'
import { freezeDeep, type Size } from './json.js'
import type { Instant } from './timeline.js'
import { costOfTask, costsOf, EVENT_COST, payloadSize, usageAfter, type Usage } from './sizes.js'
import { TaskLog, type LogReader } from './task-log.js'

/** A call of `waitFor` that is pending. */
export interface Waiter<S extends string> {
  /** Whether the waiter may settle in `state`. Waiters for a state cost nothing while the task is in other states. */
  accepts(state: S): boolean
  offer(task: TaskSnapshot<S>): void
  abandon(code: RemovalCode): void
}

export interface Watchers<S extends string> {
  controller: AbortController | undefined
  readonly waiters: Set<Waiter<S>>
  /** Resolve the pending `next()` of subscribers. */
  readonly wakers: Set<() => void>
}

/** The task that continues a dead letter. */
export interface RedriveClaim {
  readonly taskId: string
  /** Whether the task is known to be stored. Until then, the dead letter stays in the list. */
  readonly isMade?: boolean
}

/** A position in a {@link Chain}. */
export interface Link<S extends string> {
  readonly record: TaskRecord<S>
  readonly chain: Chain<S>
  /** Of the task, which moves to a new link with each change. Links lie side by side in memory, tasks do not. */
  readonly updatedAt: string
  previous: Link<S> | undefined
  next: Link<S> | undefined
}

/** The tasks with one value of a property, least recently changed first. */
export interface Chain<S extends string> {
  readonly key: string
  size: number
  first: Link<S> | undefined
  last: Link<S> | undefined
  /** Milliseconds that were sorted, by their time, until the list changes. */
  sorted: Map<string, Millisecond<S>> | undefined
}

/** The tasks of a list whose latest change was in the same millisecond, and the last link of an earlier one. */
export interface Millisecond<S extends string> {
  readonly records: readonly TaskRecord<S>[]
  readonly before: Link<S> | undefined
}

/** An artifact that a turn writes to. */
interface Rewritten {
  /** What it held before; `null` for one that the turn created. */
  readonly before: DeepReadonly<Artifact> | null
  /** The steps that have written since, and are not over; {@link NO_STEP} for other code. */
  readonly by: Set<string>
}

/** What a turn writes that its next attempt may write again. */
interface Rewriting {
  readonly artifacts: Map<string, Rewritten>
  /** The ids of artifacts, by the steps that have written to them. */
  readonly ids: Map<string, Set<string>>
  /** Steps that have failed, and are done again only if their error ends the attempt. */
  readonly failed: Set<string>
}

/** Steps have names. */
const NO_STEP = ''

/** In place of the history of a compact task. */
const NO_HISTORY: never[] = []

const NO_USAGE: Usage = { artifacts: 0, messages: 0 }

export class TaskRecord<S extends string> {
  /** Neighbours in the order of creation. */
  previous: TaskRecord<S> | undefined
  next: TaskRecord<S> | undefined
  /** Rank in the order of the latest change. */
  stamp = 0
  /** This task's links in the indexes in use, by the slot of the index. */
  links: (Link<S> | undefined)[] | undefined

  readonly created: Instant
  usage: Usage
  /** Absent for a task without events after its first one, and for an ended task with a compact log. */
  #log: TaskLog<S> | undefined
  #compact: CompactLog<S> | undefined
  /** The estimated bytes of heap that the task takes, without its log. */
  #ownCost: number
  #task: Task<S>
  #journal: JournalRecorded[] | undefined
  #rewriting: Rewriting | undefined
  #isFrozen = false

  /**
   * Why work on the task is no longer needed: the reason of its removal or, once it has ended, of its aborted signal.
   */
  endReason: EndReason | undefined
  /** The task that continues this dead letter, in memory. */
  redriven: RedriveClaim | undefined
  /** Signal, waiters and subscribers. Most tasks never have any. */
  watchers: Watchers<S> | undefined

  /** @param cost The cost of the task, if it is known. */
  constructor(
    task: Task<S>,
    created: Instant,
    usage: Usage = NO_USAGE,
    dropped = 0,
    cost: number = costOfTask(task),
  ) {
    this.#task = task
    this.#ownCost = cost
    this.created = created
    this.usage = usage
    if (dropped > 0) this.#log = new TaskLog(dropped)
  }

  /** The current task. Valid until the next change: do not keep it. */
  get task(): TaskSnapshot<S> {
    if (this.#compact !== undefined && this.#task.history === NO_HISTORY)
      this.#task.history = historyOf(this.#compact, this.#task)
    return this.#task
  }

  /** As {@link task}, without what a compact task does not have at hand. */
  get head(): Omit<TaskSnapshot<S>, 'history'> {
    return this.#task
  }

  /** A deep copy of the task that the caller owns. Leaves a compact task as it is. */
  copy(): Task<S> {
    const compact = this.#compact
    return compact === undefined ? copyTask(this.#task) : copyWith(this.#task, historyOf(compact, this.#task))
  }

  /** The event of `generation`; `undefined` if it is not held, or not among the latest `size`. */
  eventAt(generation: number, size: number): TaskEvent<S> | undefined {
    return this.log.at(generation, this.#task, size)
  }

  /** The latest events. */
  get log(): LogReader<S> {
    const compact = this.#compact
    if (compact === undefined) return (this.#log ??= new TaskLog(0))
    const events = eventsOf(compact, this.#task)
    return {
      at: (generation, { generation: latest }, size) =>
        generation <= latest - size ? undefined : events[generation - 1],
    }
  }

  /** The journal of a task in memory. */
  get journal(): readonly JournalRecorded[] {
    return this.#journal ?? []
  }

  /**
   * The artifacts that the turn has written since the latest entry of the journal, or in steps that are not over, by id: what
   * they held before; `null` for those that it created.
   */
  get rewritten(): ReadonlyMap<string, DeepReadonly<Artifact> | null> {
    const { artifacts, failed } = this.#rewriting ?? {}
    const open = [...(artifacts ?? [])].filter(([, { by }]) => [...by].some((step) => !failed?.has(step)))
    return new Map(open.map(([artifactId, { before }]) => [artifactId, before]))
  }

  /** Continues the turn of a saved task. */
  resume(
    journal: readonly JournalRecorded[],
    rewritten: ReadonlyMap<string, DeepReadonly<Artifact> | null>,
  ): void {
    this.#journal = [...journal]
    for (const [artifactId, before] of rewritten) this.#keep(artifactId, NO_STEP, () => before)
    for (const event of journal) this.#ownCost += payloadSize(event).cost + EVENT_COST
  }

  /** The estimated bytes of heap that the task and its log take. Values in both count once. */
  get cost(): number {
    return this.#ownCost + (this.#log?.cost ?? 0)
  }

  /**
   * The task, frozen. The same object until the task changes. Freezing costs more than copying, so a task is frozen
   * only on request, and in place; the next change continues with a copy of the parts that it writes to.
   */
  snapshot(): TaskSnapshot<S> {
    if (!this.#isFrozen) {
      this.#isFrozen = true
      freezeDeep(this.task)
    }
    return this.#task
  }

  /** @param keepsJournal - Whether the record holds the task's journal, which outlives the log. */
  append(event: TaskEvent<S>, logSize: number, size: Size = payloadSize(event), keepsJournal = false): void {
    if (this.#isFrozen) {
      this.#task = thawTask(this.#task)
      this.#isFrozen = false
    }
    if (keepsJournal) this.#keepRewritten(event)
    const { bytes, cost } = size
    const usage = usageAfter(this.usage, this.#task, event, bytes)
    const { inTask, inLog } = costsOf(this.#task, event, cost)
    const log = (this.#log ??= new TaskLog(0))
    if (event.type === 'status' && event.metadata !== undefined) log.keepCreated(this.#task)
    apply(this.#task, event)
    this.usage = usage
    this.#ownCost += inTask
    log.push(event, bytes + EVENT_COST, inLog + EVENT_COST, logSize)
    if (!keepsJournal || event.type !== 'journal') return
    // Of a turn without end, the last round is kept.
    const isFresh = event.entry.kind === 'turn' && event.entry.continued !== undefined
    if (isFresh) for (const old of this.journal) this.#ownCost -= payloadSize(old).cost + EVENT_COST
    if (this.#journal === undefined || isFresh) this.#journal = [event]
    else this.#journal.push(event)
    this.#ownCost += cost + EVENT_COST
  }

  /** A step may write before the turn has recorded anything. */
  #keepRewritten(event: TaskEvent<S>): void {
    if (event.type === 'journal') this.#settle(event.entry)
    if (event.type !== 'artifact' || (event.step === undefined && this.#task.turn === undefined)) return
    const { artifactId } = event.artifact
    if (artifactId === undefined) return
    this.#keep(artifactId, event.step ?? NO_STEP, () => {
      const known = this.#task.artifacts[findArtifact(this.#task.artifacts, artifactId)]
      return known === undefined ? null : { ...known, ...(known.parts && { parts: [...known.parts] }) }
    })
  }

  #keep(artifactId: string, step: string, before: () => Rewritten['before']): void {
    this.#rewriting ??= { artifacts: new Map(), ids: new Map(), failed: new Set() }
    const { artifacts, ids } = this.#rewriting
    const rewritten: Rewritten = artifacts.get(artifactId) ?? { before: before(), by: new Set<string>() }
    if (rewritten.by.has(step)) return
    artifacts.set(artifactId, rewritten)
    rewritten.by.add(step)
    ids.set(step, (ids.get(step) ?? new Set<string>()).add(artifactId))
  }

  /** What came before an entry stays, unless a step has written it that is not over, or whose error ends the attempt. */
  #settle(entry: JournalEntry): void {
    const { failed } = this.#rewriting ?? {}
    if (failed === undefined) return
    const isNext = entry.kind === 'turn' && entry.continued !== undefined
    if (entry.kind === 'end' || entry.kind === 'failure' || isNext) this.#rewriting = undefined
    else if (entry.kind === 'step' && entry.error !== undefined) failed.add(entry.name)
    else if (entry.kind === 'attempt') {
      for (const step of failed) if (step !== entry.step) this.#leave(step)
      failed.clear()
    } else if (isPassed(entry)) {
      this.#leave(NO_STEP)
      if (entry.kind === 'step') this.#leave(entry.name)
    }
  }

  /** What the step has written stays. */
  #leave(step: string): void {
    const { artifacts, ids } = this.#rewriting ?? {}
    for (const artifactId of ids?.get(step) ?? []) {
      const { by } = artifacts?.get(artifactId) ?? {}
      by?.delete(step)
      if (by?.size === 0) artifacts?.delete(artifactId)
    }
    ids?.delete(step)
  }

  /**
   * Frees what a task needs no longer that has ended.
   *
   * @param states - Those of the lifecycle, to keep a short log and the history in a compact form.
   */
  trim(states?: readonly S[]): void {
    this.#compact = states && this.#log && compactLog(this.#task, this.#log, states)
    if (this.#compact === undefined) {
      this.#task.history = this.#task.history.slice()
      this.#log?.trim()
    } else {
      this.#task.history = NO_HISTORY
      this.#log = undefined
      // Nothing is added to it.
      this.usage = NO_USAGE
    }
  }

  watch(): Watchers<S> {
    this.watchers ??= { controller: undefined, waiters: new Set(), wakers: new Set() }
    return this.watchers
  }

  wake(): void {
    if (this.watchers === undefined) return
    const wakers = [...this.watchers.wakers]
    this.watchers.wakers.clear()
    for (const wake of wakers) wake()
  }
}

/**
 * The record of a new task with these events.
 *
 * @param keepsJournal - As in {@link TaskRecord.append}.
 * @param cost - The cost of the task after its first event, if it is known.
 */
export function recordOf<S extends string>(
  log: NewLog<S>,
  now: Instant,
  logSize: number,
  keepsJournal: boolean,
  cost?: number,
): TaskRecord<S> {
  const record = new TaskRecord(create(log[0]), now, undefined, undefined, cost)
  for (const event of log)
    if (event.type !== 'created') record.append(event, logSize, undefined, keepsJournal)
  return record
}
