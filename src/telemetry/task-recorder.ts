/**
 * Recorder of the tasks of one manager: their open spans, and their metrics.
 *
 * @module
 */
import { onAbort } from '../runtime/abort.js'
import type { StatusChanged, TaskCreated, TaskEvent } from '../core/events.js'
import type { Announce, LocalTasks, SharedTasks, TasksObserver } from '../core/managers.js'
import type { TaskKey, TaskSnapshot } from '../core/task.js'
import type { TraceHeaders } from '../runtime/trace-headers.js'
import { ERROR, type OtelAttributes, type OtelContext, type OtelSpan, type OtelSpanContext } from './api.js'
import { spendingOf } from '../core/spending.js'
import { LeftSpans } from './left-spans.js'
import { classOf } from './operations.js'
import { attributesOf, measure } from './spending.js'
import { quietly, short, type Telemetry } from './telemetry.js'

/** Whether other processes may share the tasks. */
export function isShared<S extends string>(tasks: LocalTasks<S> | SharedTasks<S>): tasks is SharedTasks<S> {
  return 'lease' in tasks
}

/** The span of a task that has not ended. */
interface TaskSpan {
  readonly span: OtelSpan
  readonly traceId: string | undefined
  readonly createdAt: string
  /** The id of the span that was linked last. */
  linked: string | undefined
  /** Removes the listener for the end of the manager. */
  readonly stopWaiting: () => void
}

/** The part of a task that its span begins with. */
type Begun = Pick<TaskSnapshot, 'id' | 'contextId' | 'createdAt'>

/** The most tasks of a shared manager that are followed at a time. The span of the oldest ends to make room. */
const MAX_HELD = 10_000

/** Codes of the reasons for which a lease is lost. Other reasons mean that the task is gone. */
const LOSSES: readonly unknown[] = ['LEASE_LOST', 'STORE_FAILED', 'UNAVAILABLE']

export class TaskRecorder<S extends string> implements TasksObserver<S> {
  readonly #tasks: LocalTasks<S> | SharedTasks<S>
  readonly #telemetry: Telemetry
  readonly #spans = new Map<string, TaskSpan>()
  /**
   * Of a shared manager: the tasks that this process created or acquired, oldest first, with their times of creation. Only
   * they have spans here.
   */
  readonly #held: Map<string, string> | undefined
  readonly #left: LeftSpans | undefined

  constructor(tasks: LocalTasks<S> | SharedTasks<S>, telemetry: Telemetry) {
    this.#tasks = tasks
    this.#telemetry = telemetry
    this.#held = isShared(tasks) ? new Map() : undefined
    this.#left = isShared(tasks) ? new LeftSpans(tasks.documents, telemetry) : undefined
  }

  onEvent(event: TaskEvent<S>): void {
    if (event.type === 'created') {
      this.#submit(event)
      return
    }
    if (event.type === 'journal' && event.entry.kind === 'spend') measure(event.entry, this.#telemetry)
    else if (event.type === 'status' && event.metadata !== undefined)
      this.#showSpending(event.taskId, event.metadata)
    if (event.type === 'status' && event.from !== event.to) this.#move(event, this.#spanOf(event.taskId))
    else if (event.type === 'message' && event.message.role === 'user') this.#link(this.#spanOf(event.taskId))
  }

  #showSpending(taskId: string, metadata: object): void {
    const spending = spendingOf({ metadata })
    if (spending === undefined) return
    const attributes = attributesOf(spending, this.#telemetry.prefix)
    quietly(() => this.#spanOf(taskId)?.span.setAttributes(short(attributes)))
  }

  bind(): Announce {
    const context = this.#telemetry.active()
    return (announce) => this.#telemetry.within(context, announce)
  }

  trace(): TraceHeaders | undefined {
    return quietly(() => this.#telemetry.trace())
  }

  within(trace: TraceHeaders, work: () => void): void {
    this.#telemetry.within(this.#telemetry.contextOf(trace), work)
  }

  onHeld(task: TaskSnapshot<S>, isRequested: boolean, trace?: TraceHeaders): void {
    if (this.#held?.get(task.id) === task.createdAt) return
    this.#hold(task)
    const active = isRequested ? this.#telemetry.active() : undefined
    const begun = (trace && this.#telemetry.contextOf(trace)) ?? active
    // Maintenance runs in the context of an unrelated caller.
    const taskSpan = this.#begin(task, begun === undefined, begun)
    if (taskSpan === undefined) return
    // A request that leads to a recovery is linked, and the span that an earlier holder has left.
    if (isRequested) this.#link(taskSpan)
    this.#left?.link(task, (earlier) => this.#linkTo(taskSpan, earlier))
  }

  /** The process that made the changes has counted them. */
  onRead({ id, createdAt }: TaskKey, events: readonly TaskEvent<S>[]): void {
    for (const event of events) {
      if (this.#held?.get(id) !== createdAt) return
      if (event.type !== 'status' || event.from === event.to) continue
      const taskSpan = this.#spans.get(id)
      this.#addTransition(event, taskSpan)
      if (this.#isTerminal(event.to)) this.#finish(event, taskSpan)
    }
  }

  onLetGo({ id, createdAt }: TaskKey, reason: Error | undefined): void {
    if (this.#held?.get(id) !== createdAt) return
    const code = reason && classOf(reason)
    if (LOSSES.includes(code)) {
      const { prefix } = this.#telemetry
      this.#telemetry.count(`${prefix}.lost_leases`, 'Leases lost before the task ended', {
        'error.type': code,
      })
    }
    const taskSpan = this.#spans.get(id)
    const task = this.#taskOf(id)
    const isWaiting = code === undefined && task !== undefined && !this.#isTerminal(task.state)
    if (isWaiting && taskSpan !== undefined) this.#left?.leave({ id, createdAt }, taskSpan.span)
    this.abandon(id, code)
  }

  onDestroyed(): void {
    this.stop()
  }

  /** Ends the span of a task that is gone before it has ended. */
  abandon(taskId: string, code: string | undefined): void {
    const taskSpan = this.#spans.get(taskId)
    if (taskSpan !== undefined && code !== undefined) fail(taskSpan.span, code)
    this.#end(taskId, taskSpan)
  }

  stop(): void {
    for (const [taskId, taskSpan] of this.#spans) this.#end(taskId, taskSpan)
    this.#held?.clear()
  }

  #submit({ taskId, contextId, state, timestamp }: TaskCreated<S>): void {
    const { prefix, names } = this.#telemetry
    const about = { [names.contextId]: contextId }
    // KAOS assigns the id only after the submission.
    const attributes = prefix === 'kaos' ? about : { [names.taskId]: taskId, ...about }
    const submit = this.#telemetry.startSpan(`${prefix}.task.submit`, { attributes })
    quietly(() => submit?.end())
    const task = { id: taskId, contextId, createdAt: timestamp }
    this.#hold(task)
    this.#begin(task)
    this.#count(state)
  }

  /** Adds the task to those of a shared manager that have spans here. */
  #hold({ id, createdAt }: TaskKey): void {
    const held = this.#held
    if (held === undefined) return
    // Another task had the same id.
    this.abandon(id, undefined)
    held.set(id, createdAt)
    const [oldest] = held.keys()
    if (held.size > MAX_HELD && oldest !== undefined) this.abandon(oldest, undefined)
  }

  /** A task that was restored, or created before the listener was added, gets its span now. */
  #spanOf(taskId: string): TaskSpan | undefined {
    const taskSpan = this.#spans.get(taskId)
    if (taskSpan !== undefined || !this.#telemetry.isTracing) return taskSpan
    if (this.#held?.has(taskId) === false) return undefined
    const task = this.#taskOf(taskId)
    // A missing task has ended, and the event of its end is still to come.
    return task && this.#begin(task)
  }

  #taskOf(taskId: string): TaskSnapshot<S> | undefined {
    const tasks = this.#tasks
    return isShared(tasks) ? tasks.lastSeen(taskId) : (tasks.peekTask(taskId) ?? undefined)
  }

  #isTerminal(state: S): boolean {
    return this.#tasks.lifecycle.terminal.includes(state)
  }

  #begin({ id, contextId, createdAt }: Begun, root = false, parent?: OtelContext): TaskSpan | undefined {
    const { prefix, names } = this.#telemetry
    const attributes = { [names.taskId]: id, [names.contextId]: contextId }
    const span = this.#telemetry.startSpan(`${prefix}.task.execute`, { attributes, root }, parent)
    if (span === undefined) return undefined
    const traceId = quietly(() => span.spanContext().traceId)
    const taskSpan = { span, traceId, createdAt, linked: undefined, stopWaiting: this.#untilDestroyed(id) }
    this.#spans.set(id, taskSpan)
    return taskSpan
  }

  /** A destroyed local manager emits no event. Only the signals of its tasks are aborted. */
  #untilDestroyed(taskId: string): () => void {
    const tasks = this.#tasks
    if (isShared(tasks)) return () => undefined
    // The task may be gone by the time its events arrive.
    const signal = quietly(() => tasks.signalOf(taskId))
    return onAbort(signal, () => {
      const reason: unknown = signal?.reason
      const code = typeof reason === 'object' && reason !== null && 'code' in reason ? reason.code : undefined
      if (code === 'MANAGER_DESTROYED') this.abandon(taskId, undefined)
    })
  }

  #move(event: StatusChanged<S>, taskSpan: TaskSpan | undefined): void {
    const { taskId, to, timestamp } = event
    const { prefix, names } = this.#telemetry
    if (to === 'canceled') this.#cancel(taskId, taskSpan)
    this.#count(to)
    this.#addTransition(event, taskSpan)
    if (!this.#isTerminal(to)) return
    const ms = (): number => {
      const createdAt = taskSpan?.createdAt ?? this.#taskOf(taskId)?.createdAt
      return Date.parse(timestamp) - Date.parse(createdAt ?? timestamp)
    }
    this.#telemetry.recordMs(`${prefix}.task.duration`, 'From creation to end', ms, {
      [names.metricState]: names.stateOf(to),
    })
    this.#finish(event, taskSpan)
  }

  #addTransition({ from, to }: StatusChanged<S>, taskSpan: TaskSpan | undefined): void {
    const { prefix, names } = this.#telemetry
    const attributes = { [names.from]: names.stateOf(from), [names.state]: names.stateOf(to) }
    quietly(() => taskSpan?.span.addEvent(`${prefix}.task.transition`, short(attributes)))
  }

  /** Ends the span of a task that has ended. */
  #finish({ taskId, to }: StatusChanged<S>, taskSpan: TaskSpan | undefined): void {
    const { names } = this.#telemetry
    quietly(() => taskSpan?.span.setAttributes(short({ [names.state]: names.stateOf(to) })))
    if (to === 'failed' && taskSpan !== undefined) fail(taskSpan.span, 'failed')
    this.#end(taskId, taskSpan)
  }

  #cancel(taskId: string, taskSpan: TaskSpan | undefined): void {
    const { prefix, names } = this.#telemetry
    const cancel = this.#telemetry.startSpan(`${prefix}.task.cancel`, {
      attributes: { [names.taskId]: taskId },
      links: taskSpan === undefined ? [] : (quietly(() => [{ context: taskSpan.span.spanContext() }]) ?? []),
    })
    quietly(() => cancel?.end())
  }

  /** Links a context of another trace to the task's span. */
  #link(taskSpan: TaskSpan | undefined): void {
    const active = this.#telemetry.spanContext()
    if (taskSpan !== undefined && active !== undefined) this.#linkTo(taskSpan, active)
  }

  #linkTo(taskSpan: TaskSpan, other: OtelSpanContext): void {
    if (other.traceId === taskSpan.traceId || other.spanId === taskSpan.linked) return
    taskSpan.linked = other.spanId
    quietly(() => taskSpan.span.addLink({ context: other }))
  }

  #count(state: S): void {
    const { prefix, names } = this.#telemetry
    const attributes: OtelAttributes = { [names.metricState]: names.stateOf(state) }
    this.#telemetry.count(`${prefix}.tasks`, 'Task lifecycle events', attributes)
  }

  #end(taskId: string, taskSpan: TaskSpan | undefined): void {
    this.#held?.delete(taskId)
    this.#spans.delete(taskId)
    taskSpan?.stopWaiting()
    quietly(() => taskSpan?.span.end())
  }
}

function fail(span: OtelSpan, type: string): void {
  quietly(() => span.setStatus({ code: ERROR }))
  quietly(() => span.setAttributes({ 'error.type': type }))
}
