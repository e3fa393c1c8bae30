/**
 * Spans and metrics of a task manager's tasks.
 *
 * @module
 */
import type { TaskEvent } from '../core/events.js'
import type { LocalTasks, SharedTasks } from '../core/managers.js'
import type { TaskSnapshot } from '../core/task.js'
import { isShared, TaskRecorder } from './task-recorder.js'
import { Telemetry, type Gauge, type TelemetryOptions } from './telemetry.js'

/**
 * Records all tasks of a `TaskManager` or `DurableTaskManager` from now on. Each task has a span `a2a.task.execute` from
 * its creation to its end, with an event per transition. Creations and cancellations also have short spans,
 * `a2a.task.submit` and `a2a.task.cancel`. The counter `a2a.tasks` counts the states that were entered. The histogram
 * `a2a.task.duration` records the duration of ended tasks, in ms.
 *
 * Spans are children of the context that is active where the task is created. A message from another trace becomes a
 * link. A task that already exists gets its span with its next change, as a child of the context that is active then.
 * The content of tasks is not recorded, and nothing is recorded while no SDK is registered. Errors that OpenTelemetry
 * throws are ignored.
 *
 * Over a `DurableTaskManager`, a process has spans of the tasks that it creates, and of those whose leases it acquires.
 * The span of a task also ends when the process releases or loses the lease, or no longer has the task in memory. The
 * counter `a2a.lost_leases` counts the lost leases. Each change is counted by the process that makes it.
 *
 * @returns A function that stops recording and ends the open spans without a final state.
 * @throws {TypeError} naming the invalid option, or saying that `tasks` is no task manager.
 * @example
 * const tasks = new TaskManager()
 * const stop = instrumentTasks(tasks)
 * const handler = instrumentHandler(createRequestHandler({ card, execute, tasks }))
 */
export function instrumentTasks<S extends string>(
  tasks: LocalTasks<S> | SharedTasks<S>,
  options: TelemetryOptions = {},
): () => void {
  const telemetry = new Telemetry(options, 'instrumentTasks')
  requireTasks(tasks)
  const recorder = new TaskRecorder(tasks, telemetry)
  const onEvent = (event: TaskEvent<S>): void => recorder.onEvent(event)
  const onExpired = (task: TaskSnapshot<S>): void => recorder.abandon(task.id, 'TASK_EXPIRED')
  tasks.on('task:event', onEvent)
  tasks.on('task:expired', onExpired)
  const stopObserving = isShared(tasks) ? tasks.observe(recorder) : undefined
  const removeGauges = telemetry.addGauges(gaugesOf(tasks, telemetry))
  return () => {
    tasks.off('task:event', onEvent)
    tasks.off('task:expired', onExpired)
    stopObserving?.()
    removeGauges()
    recorder.stop()
  }
}

function gaugesOf<S extends string>(
  tasks: LocalTasks<S> | SharedTasks<S>,
  { prefix, names }: Telemetry,
): Gauge[] {
  const { states, terminal } = tasks.lifecycle
  const live: Gauge = {
    name: `${prefix}.server.task.in_progress`,
    description: 'Tasks that have not ended',
    unit: '{task}',
    observe: () =>
      Promise.all(
        states
          .filter((state) => !terminal.includes(state))
          .map(async (state) => ({
            value: await tasks.countTasks({ state }),
            attributes: { [names.metricState]: names.stateOf(state) },
          })),
      ),
  }
  if (!isShared(tasks)) return [live]
  return [
    live,
    {
      name: `${prefix}.server.leases`,
      description: 'Leases that this process holds',
      unit: '{lease}',
      observe: () => [{ value: tasks.stats().leases }],
    },
    {
      name: `${prefix}.server.log.lag`,
      description: 'Age of what this process knows of the tasks in use',
      unit: 's',
      observe: () => [{ value: tasks.stats().logLagMs / 1_000 }],
    },
    ...backlogOf(tasks, prefix),
  ]
}

/** A store that cannot tell has no values. */
function backlogOf<S extends string>(tasks: SharedTasks<S>, prefix: string): Gauge[] {
  const read = tasks.backlog?.bind(tasks)
  if (read === undefined) return []
  return [
    {
      name: `${prefix}.server.turns`,
      description: 'Turns of all processes of the store',
      unit: '{turn}',
      observe: async () => {
        const { waiting, busy } = await read()
        return [
          { value: waiting, attributes: { state: 'waiting' } },
          { value: busy, attributes: { state: 'busy' } },
        ]
      },
    },
    {
      name: `${prefix}.server.turn.wait`,
      description: 'How long the first turn has waited for a process',
      unit: 's',
      observe: async () => [{ value: (await read()).oldestMs / 1_000 }],
    },
  ]
}

/** The methods that telemetry needs of every manager, and those of a shared one. */
const METHODS = ['on', 'off', 'peekTask', 'countTasks', 'signalOf']
const SHARED_METHODS = ['lastSeen', 'observe', 'stats']

/** @throws {TypeError} */
function requireTasks(tasks: unknown): void {
  const isObject = typeof tasks === 'object' && tasks !== null
  const isMissing = (name: string): boolean => !isObject || typeof Reflect.get(tasks, name) !== 'function'
  if (!isObject || METHODS.some(isMissing) || !('lifecycle' in tasks)) {
    throw new TypeError(`"tasks" must be a TaskManager or a DurableTaskManager${hintFor(tasks)}`)
  }
  const missing = isMissing('lease') ? undefined : SHARED_METHODS.find(isMissing)
  if (missing === undefined) return
  throw new TypeError(
    `"tasks" is a manager of leases without the method "${missing}": use a DurableTaskManager of a2a-tasks/durable`,
  )
}

function hintFor(tasks: unknown): string {
  if (typeof tasks !== 'object' || tasks === null) return ''
  if (tasks instanceof Promise) return ', got a promise: await it'
  if ('tasks' in tasks) return ': pass gateway.tasks, or handler.tasks'
  if ('acquire' in tasks && 'commit' in tasks) return ', got a store: new DurableTaskManager({ store })'
  return ''
}
