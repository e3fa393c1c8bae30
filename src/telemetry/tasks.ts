/**
 * Spans and metrics of a task manager's tasks.
 *
 * @module
 */
import type { StatusChanged, TaskCreated, TaskEvent } from '../core/events.js'
import type { TaskManager } from '../core/task-manager.js'
import type { TaskSnapshot } from '../core/task.js'
import { ERROR, type OtelAttributes, type OtelSpan } from './api.js'
import { quietly, short, Telemetry, type TelemetryOptions } from './telemetry.js'

/**
 * Records all tasks of a manager from now on. Each task has a span `a2a.task.execute` from its creation to its end,
 * with an event per transition. Creations and cancellations also have short spans, `a2a.task.submit` and
 * `a2a.task.cancel`. The counter `a2a.tasks` counts the states that were entered. The histogram `a2a.task.duration`
 * records the duration of ended tasks, in ms.
 *
 * Spans are children of the context that is active where the task is created. A message from another trace becomes a
 * link. A task that already exists gets its span with its next change, as a child of the context that is active then.
 * The content of tasks is not recorded, and nothing is recorded while no SDK is registered. Errors that OpenTelemetry
 * throws are ignored.
 *
 * @returns A function that stops recording and ends the open spans without a final state.
 * @throws {TypeError} naming the invalid option, or saying that `tasks` is no task manager.
 * @example
 * const tasks = new TaskManager()
 * const stop = instrumentTasks(tasks)
 * const handler = instrumentHandler(createRequestHandler({ card, execute, tasks }))
 */
export function instrumentTasks<S extends string>(
  tasks: TaskManager<S>,
  options: TelemetryOptions = {},
): () => void {
  const telemetry = new Telemetry(options, 'instrumentTasks')
  requireTasks(tasks)
  const recorder = new TaskRecorder(tasks, telemetry)
  const onEvent = (event: TaskEvent<S>): void => recorder.onEvent(event)
  const onExpired = (task: TaskSnapshot<S>): void => recorder.abandon(task.id, 'TASK_EXPIRED')
  tasks.on('task:event', onEvent)
  tasks.on('task:expired', onExpired)
  return () => {
    tasks.off('task:event', onEvent)
    tasks.off('task:expired', onExpired)
    recorder.stop()
  }
}

/** @throws {TypeError} */
function requireTasks(tasks: unknown): void {
  const isObject = typeof tasks === 'object' && tasks !== null
  if (isObject && 'peekTask' in tasks && 'on' in tasks) return
  const hint = isObject && 'tasks' in tasks ? ': pass gateway.tasks, or handler.tasks' : ''
  throw new TypeError(`"tasks" must be a TaskManager${hint}`)
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

class TaskRecorder<S extends string> {
  readonly #tasks: TaskManager<S>
  readonly #telemetry: Telemetry
  readonly #spans = new Map<string, TaskSpan>()

  constructor(tasks: TaskManager<S>, telemetry: Telemetry) {
    this.#tasks = tasks
    this.#telemetry = telemetry
  }

  onEvent(event: TaskEvent<S>): void {
    if (event.type === 'created') {
      this.#submit(event)
      return
    }
    if (event.type === 'status' && event.from !== event.to) this.#move(event, this.#spanOf(event.taskId))
    else if (event.type === 'message' && event.message.role === 'user') this.#link(this.#spanOf(event.taskId))
  }

  /** Ends the span of a task that is gone before it has ended. */
  abandon(taskId: string, code: string | undefined): void {
    const taskSpan = this.#spans.get(taskId)
    if (taskSpan === undefined) return
    if (code !== undefined) fail(taskSpan.span, code)
    this.#end(taskId, taskSpan)
  }

  stop(): void {
    for (const [taskId, taskSpan] of this.#spans) this.#end(taskId, taskSpan)
  }

  #submit({ taskId, contextId, state, timestamp }: TaskCreated<S>): void {
    const { prefix, names } = this.#telemetry
    const about = { [names.contextId]: contextId }
    // KAOS assigns the id only after the submission.
    const attributes = prefix === 'kaos' ? about : { [names.taskId]: taskId, ...about }
    const submit = this.#telemetry.startSpan(`${prefix}.task.submit`, { attributes })
    quietly(() => submit?.end())
    this.#begin(taskId, contextId, timestamp)
    this.#count(state)
  }

  /** A task that was restored, or created before the listener was added, gets its span now. */
  #spanOf(taskId: string): TaskSpan | undefined {
    const taskSpan = this.#spans.get(taskId)
    if (taskSpan !== undefined || !this.#telemetry.isTracing) return taskSpan
    const task = this.#tasks.peekTask(taskId)
    // A missing task has ended, and the event of its end is still to come.
    return task === null ? undefined : this.#begin(taskId, task.contextId, task.createdAt)
  }

  #isTerminal(state: S): boolean {
    return this.#tasks.lifecycle.terminal.includes(state)
  }

  #begin(taskId: string, contextId: string, createdAt: string): TaskSpan | undefined {
    const { prefix, names } = this.#telemetry
    const attributes = { [names.taskId]: taskId, [names.contextId]: contextId }
    const span = this.#telemetry.startSpan(`${prefix}.task.execute`, { attributes })
    if (span === undefined) return undefined
    const traceId = quietly(() => span.spanContext().traceId)
    const taskSpan = {
      span,
      traceId,
      createdAt,
      linked: undefined,
      stopWaiting: this.#untilDestroyed(taskId),
    }
    this.#spans.set(taskId, taskSpan)
    return taskSpan
  }

  /** A destroyed manager emits no event. Only the signals of its tasks are aborted. */
  #untilDestroyed(taskId: string): () => void {
    // The task may be gone by the time its events arrive.
    const signal = quietly(() => this.#tasks.signalOf(taskId))
    const onAbort = (): void => {
      const reason: unknown = signal?.reason
      const code = typeof reason === 'object' && reason !== null && 'code' in reason ? reason.code : undefined
      if (code === 'MANAGER_DESTROYED') this.abandon(taskId, undefined)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    return () => signal?.removeEventListener('abort', onAbort)
  }

  #move({ taskId, from, to, timestamp }: StatusChanged<S>, taskSpan: TaskSpan | undefined): void {
    const { prefix, names } = this.#telemetry
    const state = names.stateOf(to)
    if (to === 'canceled') this.#cancel(taskId, taskSpan)
    this.#count(to)
    quietly(() =>
      taskSpan?.span.addEvent(
        `${prefix}.task.transition`,
        short({ [names.from]: names.stateOf(from), [names.state]: state }),
      ),
    )
    if (!this.#isTerminal(to)) return
    const ms = (): number => {
      const createdAt = taskSpan?.createdAt ?? this.#tasks.peekTask(taskId)?.createdAt
      return Date.parse(timestamp) - Date.parse(createdAt ?? timestamp)
    }
    this.#telemetry.recordMs(`${prefix}.task.duration`, 'From creation to end', ms, {
      [names.metricState]: state,
    })
    if (taskSpan === undefined) return
    quietly(() => taskSpan.span.setAttributes(short({ [names.state]: state })))
    if (to === 'failed') fail(taskSpan.span, 'failed')
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
    if (taskSpan === undefined || active === undefined) return
    if (active.traceId === taskSpan.traceId || active.spanId === taskSpan.linked) return
    taskSpan.linked = active.spanId
    quietly(() => taskSpan.span.addLink({ context: active }))
  }

  #count(state: S): void {
    const { prefix, names } = this.#telemetry
    const attributes: OtelAttributes = { [names.metricState]: names.stateOf(state) }
    this.#telemetry.count(`${prefix}.tasks`, 'Task lifecycle events', attributes)
  }

  #end(taskId: string, taskSpan: TaskSpan): void {
    this.#spans.delete(taskId)
    taskSpan.stopWaiting()
    quietly(() => taskSpan.span.end())
  }
}

function fail(span: OtelSpan, type: string): void {
  quietly(() => span.setStatus({ code: ERROR }))
  quietly(() => span.setAttributes({ 'error.type': type }))
}
