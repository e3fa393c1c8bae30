/**
 * Handler for tasks that other agents send to the sessions of a corvid-agent: `POST /a2a/tasks/send` and
 * `GET /a2a/tasks/:id`.
 *
 * @module
 */
import { readOptions, requireFunction, requireWhole } from '../../runtime/options.js'
import { describe } from '../../runtime/describe.js'
import { systemClock } from '../../runtime/clock.js'
import { unavailable } from '../../server/unavailable.js'
import { RateLimiter, type RateLimitOptions } from '../../runtime/rate-limit.js'
import { reportError } from '../../runtime/report.js'
import { MAX_DEPTH } from './dialect.js'
import { inboundFetch } from './routes.js'
import { InboundStore } from './store.js'
import type { A2ATask, A2ATaskDeps, A2ATaskSendRequest, InboundSession } from './types.js'
import type { HandlerObserver } from '../../server/observers.js'
import { guarded, type ErrorContext } from '../../server/options.js'

/** Options of {@link createInboundHandler}. */
export interface InboundHandlerOptions {
  /** The most tasks to hold, ended ones included. Default is `1_000`. */
  readonly maxTasks?: number | undefined
  /** The greatest `depth` that a task may have. Deeper tasks are refused with `LIMIT_EXCEEDED`. Default is `3`. */
  readonly maxDepth?: number | undefined
  /**
   * The rate limit of `POST /a2a/tasks/send`, as of `createRequestHandler`: per principal that is passed to `fetch`, and one
   * for all requests without a principal. Requests beyond it get 429. Polls and `handleTaskSend` are not limited. Default is
   * no limit.
   */
  readonly rateLimit?: RateLimitOptions | undefined
  /** Receives errors that no caller gets. Default is a process warning, where the runtime has them. */
  readonly onError?: ((error: unknown, context: ErrorContext) => void) | undefined
}

/** A handler with its own store of tasks. */
export interface InboundHandler {
  /** As {@link handleTaskSend}. Throws `UNAVAILABLE` when the handler is closed. */
  readonly handleTaskSend: (body: A2ATaskSendRequest | A2ATaskSendRequest['params']) => A2ATask
  /** As {@link handleTaskGet}. */
  readonly handleTaskGet: (taskId: string) => A2ATask | null
  /** As {@link clearTaskStore}. */
  readonly clearTaskStore: () => void
  /**
   * Serves `POST /a2a/tasks/send` and `GET /a2a/tasks/{id}`. Failures have the body `{ error }`: 400 for an invalid request,
   * 404, 405, 408 for a body that takes longer than 30 seconds, 413 for more than 1 MiB, 429 beyond `rateLimit`, 503 while no task is accepted or
   * too many bytes of bodies are being received, and 500 when a function of `deps` throws; `onError` receives that error.
   * Never rejects. Does not use `this`, so you can pass it to `toNodeListener`.
   */
  readonly fetch: (request: Request) => Promise<Response>
  /** As `observe` of a `RequestHandler`: makes a `fetch` that notifies the observer of each request. */
  readonly observe: (observer: HandlerObserver) => Pick<InboundHandler, 'fetch' | 'observe'>
  /** Clears the store, and refuses new tasks. */
  readonly close: () => void
}

const KEYS = ['maxTasks', 'maxDepth', 'rateLimit', 'onError']

/** Both functions answer before a store could, and another process cannot receive the events of a session of this one. */
const NO_TASKS =
  '"tasks" is not an option of createInboundHandler: its tasks live as long as the sessions of this process. ' +
  'Use createRequestHandler({ tasks, execute, dialects: [corvid()] }), which serves the same routes'

/**
 * Creates a handler whose tasks are separate from those of every other handler.
 *
 * @throws {TypeError | RangeError} naming the function that `deps` lacks, or the option that is wrong.
 * @example
 * const inbound = createInboundHandler({ db, processManager, listAgents, createSession })
 * const { id } = inbound.handleTaskSend({ message: 'Summarize the README' })
 * inbound.handleTaskGet(id)?.state // 'working', later 'completed'
 * createServer(toNodeListener(inbound.fetch)).listen(3000)
 */
export function createInboundHandler<Db, Session extends InboundSession>(
  deps: A2ATaskDeps<Db, Session>,
  options: InboundHandlerOptions = {},
): InboundHandler {
  requireDeps(deps)
  if (Object.hasOwn(Object(options) as object, 'tasks')) throw new TypeError(NO_TASKS)
  const given = readOptions(options, KEYS, 'createInboundHandler')
  const { maxTasks, maxDepth = MAX_DEPTH, rateLimit, onError } = given
  requireWhole('maxDepth', maxDepth)
  const report = onError === undefined ? reportError : guarded(onError)
  const { clock = systemClock } = deps
  const store = new InboundStore({ clock, maxTasks, maxDepth, onError: report })
  const rateLimiter = rateLimit && new RateLimiter(rateLimit, 'createInboundHandler', clock)
  let isClosed = false
  const send = (body: unknown): A2ATask => {
    if (isClosed) throw unavailable()
    return store.send(deps, body)
  }
  const get = (taskId: string): A2ATask | null => store.get(taskId)
  return {
    handleTaskSend: send,
    handleTaskGet: get,
    ...inboundFetch({ send, get, onError: report, clock, rateLimiter }),
    clearTaskStore: () => store.clear(),
    close() {
      isClosed = true
      store.clear()
    },
  }
}

/** The store of {@link handleTaskSend}. */
let shared: InboundStore | undefined

/**
 * Creates a task, and a session that works on it, for the first agent with a `defaultProjectId`. The texts of the session
 * join the task's messages. The task is completed when the session exits or is stopped. It fails when the session reports an
 * error, and after `timeoutMs`.
 *
 * One store of this module holds up to 1,000 tasks. When it is full, the 100 tasks that ended longest ago are removed. A task
 * that has not ended is never removed.
 *
 * The parameters may be in `body` or in `body.params`, as in {@link A2ATaskSendRequest}. `body.params` takes precedence.
 *
 * @returns A copy of the task, usually `working`. It does not follow later changes: see {@link handleTaskGet}.
 * @throws {A2AError} `INVALID_PARAMS`; `LIMIT_EXCEEDED` for more than 1 MiB or a `depth` above 3; `NOT_FOUND`, a `NotFoundError`, without
 *   such an agent; `TASK_LIMIT_REACHED` when 1,000 tasks are worked on.
 * @throws what `createSession`, `subscribe` or `startProcess` throws. The task has then failed.
 * @throws {TypeError} naming the function that `deps` lacks, or when the store has tasks of another clock.
 */
export function handleTaskSend<Db, Session extends InboundSession>(
  deps: A2ATaskDeps<Db, Session>,
  body: A2ATaskSendRequest | A2ATaskSendRequest['params'],
): A2ATask {
  requireDeps(deps)
  const clock = deps.clock ?? systemClock
  shared ??= new InboundStore({ clock, maxTasks: undefined, maxDepth: MAX_DEPTH, onError: reportError })
  if (shared.clock !== clock) {
    throw new TypeError(
      '"deps.clock" must be that of the tasks before: clearTaskStore(), or createInboundHandler()',
    )
  }
  return shared.send(deps, body)
}

/** Returns a copy of the task; `null` when there is no such task, or it was removed. */
export function handleTaskGet(taskId: string): A2ATask | null {
  return shared?.get(taskId) ?? null
}

/** Drops all tasks, with their timers and subscriptions. Running sessions continue, and their events are ignored. */
export function clearTaskStore(): void {
  shared?.clear()
  shared = undefined
}

function requireDeps<Db, Session extends InboundSession>(deps: A2ATaskDeps<Db, Session>): void {
  requireMethods('deps', deps, ['listAgents', 'createSession'])
  requireMethods('deps.processManager', deps.processManager, ['subscribe', 'startProcess'])
}

function requireMethods(path: string, owner: unknown, names: readonly string[]): void {
  if (typeof owner !== 'object' || owner === null) {
    throw new TypeError(`"${path}" must be an object, got ${describe(owner)}`)
  }
  for (const name of names) requireFunction(`${path}.${name}`, Reflect.get(owner, name))
}
