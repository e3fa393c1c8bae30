/**
 * `createWorker`: does the turns of tasks that handlers in other processes accept.
 *
 * @module
 */
import { A2AError, invalidParams } from '../core/errors.js'
import type { SharedTasks } from '../core/managers.js'
import { withKeepAlive } from '../runtime/clock.js'
import { describe } from '../runtime/describe.js'
import { readOptions, requireDelay, requireWhole } from '../runtime/options.js'
import type { Principal } from './caller.js'
import type { PriorityOf, Turn } from './dispatch.js'
import type { Outcome } from './execute.js'
import { givenLimit, REQUEST_LIMITS, requireHeldByWorkers } from './limits.js'
import { Agent } from './operations/operations.js'
import { toSettings, type RequestHandlerOptions, type StructuredHandlerOptions } from './options.js'
import type { StandardSchema } from './standard-schema.js'
import { isShared, requireTasks } from './tasks.js'
import { unavailable } from './unavailable.js'

/** What a worker needs of the options of a handler. */
const KEYS = [
  ...['card', 'execute', 'output', 'tasks', 'principalOf', 'retry', 'onFollowUp', 'recordStacks', 'onError'],
  ...['limits', 'onBudget', 'dialects', 'push', 'clock', 'generateId'],
] as const

type Shared<O> = Pick<O, Extract<keyof O, (typeof KEYS)[number]>>

interface WorkerSettings<M extends SharedTasks> {
  /** The manager of the tasks, over the store of the handlers. */
  readonly tasks: M
  /** How many turns a started worker does at a time. Turns that only wait do not count. Default is `10`. */
  readonly concurrency?: number | undefined
  /** How often a started worker looks for turns, in ms. Over a store with hints it also looks at once. Default is `1_000`. */
  readonly pollMs?: number | undefined
  /** As that of the handlers, for turns that continue after a sleep. */
  readonly priorityOf?: PriorityOf | undefined
}

/** Options of {@link createWorker}: those of the handler that concern the code of the agent, with the same card. */
export type WorkerOptions<
  P extends Principal = Principal,
  M extends SharedTasks = SharedTasks,
  R = Outcome,
> = Omit<Shared<RequestHandlerOptions<P, M, R>>, 'tasks'> & WorkerSettings<M>

/** {@link WorkerOptions} with a schema for the result, as of a handler. */
export type StructuredWorkerOptions<
  P extends Principal = Principal,
  M extends SharedTasks = SharedTasks,
  S extends StandardSchema = StandardSchema,
> = Omit<Shared<StructuredHandlerOptions<P, M, S>>, 'tasks'> & WorkerSettings<M>

/** Does the turns of tasks. */
export interface Worker {
  /**
   * Takes turns from the store of the tasks, the one that has waited longest first, with its head start, until {@link close}. Keeps the process
   * alive.
   *
   * @throws {A2AError} `UNAVAILABLE` once the worker is closing: create another one.
   */
  readonly start: () => void
  /**
   * Does the turn of a task, which a queue has delivered. Resolves when the turn has ended, also when its task failed, or waits
   * for the user, a time, a signal or another agent: what it waited for is another turn. Resolves at once when there is
   * nothing to do: another worker does the turn, or the task has ended or is gone. So a queue may deliver a turn twice, late or
   * in any order. The limit `concurrency` does not count here: the queue decides how many turns it delivers.
   *
   * @throws {A2AError} As a rejection, for the queue to deliver the turn again: `STORE_FAILED`; `UNAVAILABLE` once the worker
   *   is closing. `INVALID_PARAMS` for what is no turn.
   */
  readonly run: (turn: Pick<Turn, 'taskId'>) => Promise<void>
  /** How many turns this worker does, and how many of its runs only wait. */
  readonly stats: () => { readonly working: number; readonly waiting: number }
  /**
   * Takes no more turns. Lets runs end within `graceMs` (default 10,000 ms), and hands the others over to another worker. The
   * manager is not closed.
   */
  readonly close: (options?: { readonly graceMs?: number }) => Promise<void>
}

/** Creates a worker whose results a schema checks, the option `output`. */
export function createWorker<
  P extends Principal = Principal,
  M extends SharedTasks = SharedTasks,
  S extends StandardSchema = StandardSchema,
>(options: StructuredWorkerOptions<P, M, S>): Worker
/**
 * Creates a worker: it calls `execute` for the messages that handlers with the option `dispatch` accept in other processes.
 * `run` is whole: steps, questions, artifacts that clients stream from any handler, cancel, deadlines.
 *
 * @throws {TypeError | RangeError | A2AError} naming the invalid option.
 * @example
 * const worker = createWorker({ card, tasks, execute: (run) => `You said: ${run.text}` })
 * worker.start()
 */
export function createWorker<P extends Principal = Principal, M extends SharedTasks = SharedTasks>(
  options: WorkerOptions<P, M>,
): Worker
export function createWorker<P extends Principal>(
  options: WorkerOptions<P> | StructuredWorkerOptions<P>,
): Worker {
  const given = readOptions(options, [...KEYS, 'priorityOf', 'concurrency', 'pollMs'], 'createWorker')
  const { concurrency = 10, pollMs = 1_000, ...rest } = given
  requireWhole('concurrency', concurrency, 1)
  requireDelay('pollMs', pollMs)
  if (!isShared(requireTasks(rest.tasks)))
    throw new TypeError('"tasks" must be shared with the handlers: a DurableTaskManager')
  if (givenLimit(rest.limits, ['maxRuns']))
    throw new TypeError('"limits.maxRuns" of a worker is its option "concurrency"')
  requireHeldByWorkers(rest.limits)
  const ofRequests = givenLimit(rest.limits, REQUEST_LIMITS)
  if (ofRequests !== undefined) throw new TypeError(`A worker would ignore "${ofRequests}"`)
  let isStarted = false
  let isClosing = false
  let stopTimer = (): void => {}
  const limits = { ...rest.limits, maxRuns: concurrency }
  // Options of either kind, with a key less or more.
  const handlerOptions = { ...rest, limits } as RequestHandlerOptions<P, SharedTasks>
  const settings = { ...toSettings(handlerOptions, 'createWorker'), takesDue: () => isStarted }
  const agent = new Agent(settings)
  const clock = withKeepAlive(settings.clock)
  const look = (): void => {
    agent.takeDue()
    stopTimer = clock.schedule(look, pollMs)
  }
  return {
    start: () => {
      // Its timer would keep the process alive for nothing.
      if (isClosing) throw unavailable()
      if (isStarted) return
      isStarted = true
      look()
    },
    run: async (turn) => {
      try {
        await agent.take(taskIdOf(turn))
      } catch (error) {
        const isOver = A2AError.is(error, 'TASK_NOT_FOUND') || A2AError.is(error, 'TASK_TERMINAL')
        if (!isOver) throw error
      }
    },
    stats: () => agent.stats().runs,
    close: async (closing = {}) => {
      const { graceMs = 10_000 } = readOptions(closing, ['graceMs'], 'close')
      requireDelay('graceMs', graceMs, 0)
      isClosing = true
      isStarted = false
      stopTimer()
      await agent.close(graceMs)
    },
  }
}

/** What a queue delivers can be anything. */
function taskIdOf(turn: unknown): string {
  const taskId = typeof turn === 'object' && turn !== null && 'taskId' in turn ? turn.taskId : undefined
  if (typeof taskId !== 'string') throw invalidParams('turn', `must have a "taskId", got ${describe(turn)}`)
  return taskId
}
