/**
 * Spans and metrics of the tasks of a manager.
 *
 * @module
 */
import type { StatusChanged, TaskCreated, TaskEvent } from '../core/events.js'
import type { TaskManager } from '../core/task-manager.js'
import type { TaskSnapshot } from '../core/task.js'
import { ERROR, type OtelAttributes, type OtelSpan } from './api.js'
import { quietly, short, Telemetry, type TelemetryOptions } from './telemetry.js'

/**
 * Tells OpenTelemetry of all tasks of `tasks`, from now on: a span `a2a.task.execute` for each, from its creation to its
 * end, with an event per transition; short spans `a2a.task.submit` and `a2a.task.cancel`; a counter `a2a.tasks` of the
 * states that were entered; a histogram `a2a.task.duration` of the tasks that have ended, in ms.
 *
 * Spans are children of what is active where the task is created. A message that comes by another trace is a link. A
 * task that was there before gets its span with its next change, as a child of what is active then. Nothing of what is
 * said in a task is told, and nothing at all as long as no SDK is registered. What OpenTelemetry throws is swallowed.
 *
 * @returns What ends that: open spans end then, as they are.
 * @throws {TypeError} naming the option that makes no sense, or saying that `tasks` is none.
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
  const watch = new TaskWatch(tasks, telemetry)
  const onEvent = (event: TaskEvent<S>): void => watch.hear(event)
  const onExpired = (task: TaskSnapshot<S>): void => watch.lose(task.id, 'TASK_EXPIRED')
  tasks.on('task:event', onEvent)
  tasks.on('task:expired', onExpired)
  return () => {
    tasks.off('task:event', onEvent)
    tasks.off('task:expired', onExpired)
    watch.stop()
  }
}

/** @throws {TypeError} */
function requireTasks(tasks: unknown): void {
  const isObject = typeof tasks === 'object' && tasks !== null
  if (isObject && 'peekTask' in tasks && 'on' in tasks) return
  const hint = isObject && 'tasks' in tasks ? ': pass gateway.tasks, or handler.tasks' : ''
  throw new TypeError(`"tasks" must be a TaskManager${hint}`)
}

/** A task that has not ended, as a span. */
interface Life {
  readonly span: OtelSpan
  readonly traceId: string | undefined
  readonly createdAt: string
  /** The span that was linked last. */
  linked: string | undefined
  /** Stops waiting for the end of the manager. */
  readonly leave: () => void
}

class TaskWatch<S extends string> {
  readonly #tasks: TaskManager<S>
  readonly #telemetry: Telemetry
  readonly #lives = new Map<string, Life>()

  constructor(tasks: TaskManager<S>, telemetry: Telemetry) {
    this.#tasks = tasks
    this.#telemetry = telemetry
  }

  hear(event: TaskEvent<S>): void {
    if (event.type === 'created') {
      this.#submit(event)
      return
    }
    if (event.type === 'status' && event.from !== event.to) this.#move(event, this.#lifeOf(event.taskId))
    else if (event.type === 'message' && event.message.role === 'user') this.#link(this.#lifeOf(event.taskId))
  }

  /** The task is gone before it has ended. */
  lose(taskId: string, code: string | undefined): void {
    const life = this.#lives.get(taskId)
    if (life === undefined) return
    if (code !== undefined) fail(life.span, code)
    this.#end(taskId, life)
  }

  stop(): void {
    for (const [taskId, life] of this.#lives) this.#end(taskId, life)
  }

  #submit({ taskId, contextId, state, timestamp }: TaskCreated<S>): void {
    const { prefix, names } = this.#telemetry
    const about = { [names.contextId]: contextId }
    // KAOS has no id yet where it submits.
    const attributes = prefix === 'kaos' ? about : { [names.taskId]: taskId, ...about }
    const submit = this.#telemetry.startSpan(`${prefix}.task.submit`, { attributes })
    quietly(() => submit?.end())
    this.#begin(taskId, contextId, timestamp)
    this.#count(state)
  }

  /** A task that was restored, or created before anybody listened, gets its span now. */
  #lifeOf(taskId: string): Life | undefined {
    const life = this.#lives.get(taskId)
    if (life !== undefined || !this.#telemetry.isTracing) return life
    const task = this.#tasks.peekTask(taskId)
    // An end that is not heard yet will be, and ends it.
    return task === null ? undefined : this.#begin(taskId, task.contextId, task.createdAt)
  }

  #isTerminal(state: S): boolean {
    return this.#tasks.lifecycle.terminal.includes(state)
  }

  #begin(taskId: string, contextId: string, createdAt: string): Life | undefined {
    const { prefix, names } = this.#telemetry
    const attributes = { [names.taskId]: taskId, [names.contextId]: contextId }
    const span = this.#telemetry.startSpan(`${prefix}.task.execute`, { attributes })
    if (span === undefined) return undefined
    const traceId = quietly(() => span.spanContext().traceId)
    const life = { span, traceId, createdAt, linked: undefined, leave: this.#untilDestroyed(taskId) }
    this.#lives.set(taskId, life)
    return life
  }

  /** A manager that is destroyed tells no listener: only the signals of its tasks say so. */
  #untilDestroyed(taskId: string): () => void {
    // It may be gone when its events are heard.
    const signal = quietly(() => this.#tasks.signalOf(taskId))
    const onAbort = (): void => {
      const reason: unknown = signal?.reason
      const code = typeof reason === 'object' && reason !== null && 'code' in reason ? reason.code : undefined
      if (code === 'MANAGER_DESTROYED') this.lose(taskId, undefined)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    return () => signal?.removeEventListener('abort', onAbort)
  }

  #move({ taskId, from, to, timestamp }: StatusChanged<S>, life: Life | undefined): void {
    const { prefix, names } = this.#telemetry
    const state = names.stateOf(to)
    if (to === 'canceled') this.#cancel(taskId, life)
    this.#count(to)
    quietly(() =>
      life?.span.addEvent(
        `${prefix}.task.transition`,
        short({ [names.from]: names.stateOf(from), [names.state]: state }),
      ),
    )
    if (!this.#isTerminal(to)) return
    const ms = (): number => {
      const createdAt = life?.createdAt ?? this.#tasks.peekTask(taskId)?.createdAt
      return Date.parse(timestamp) - Date.parse(createdAt ?? timestamp)
    }
    this.#telemetry.recordMs(`${prefix}.task.duration`, 'From creation to end', ms, {
      [names.metricState]: state,
    })
    if (life === undefined) return
    quietly(() => life.span.setAttributes(short({ [names.state]: state })))
    if (to === 'failed') fail(life.span, 'failed')
    this.#end(taskId, life)
  }

  #cancel(taskId: string, life: Life | undefined): void {
    const { prefix, names } = this.#telemetry
    const cancel = this.#telemetry.startSpan(`${prefix}.task.cancel`, {
      attributes: { [names.taskId]: taskId },
      links: life === undefined ? [] : (quietly(() => [{ context: life.span.spanContext() }]) ?? []),
    })
    quietly(() => cancel?.end())
  }

  /** What comes by another trace than the task's own. */
  #link(life: Life | undefined): void {
    const active = this.#telemetry.spanContext()
    if (life === undefined || active === undefined) return
    if (active.traceId === life.traceId || active.spanId === life.linked) return
    life.linked = active.spanId
    quietly(() => life.span.addLink({ context: active }))
  }

  #count(state: S): void {
    const { prefix, names } = this.#telemetry
    const attributes: OtelAttributes = { [names.metricState]: names.stateOf(state) }
    this.#telemetry.count(`${prefix}.tasks`, 'Task lifecycle events', attributes)
  }

  #end(taskId: string, life: Life): void {
    this.#lives.delete(taskId)
    life.leave()
    quietly(() => life.span.end())
  }
}

function fail(span: OtelSpan, type: string): void {
  quietly(() => span.setStatus({ code: ERROR }))
  quietly(() => span.setAttributes({ 'error.type': type }))
}
