/**
 * Tasks from other agents for the sessions of a corvid-agent: what answers `POST /a2a/tasks/send` and
 * `GET /a2a/tasks/:id`.
 *
 * @module
 */
import { readOptions, requireFunction } from '../../runtime/options.js'
import { read } from '../../core/validate.js'
import { describe } from '../../runtime/describe.js'
import { systemClock } from '../../runtime/clock.js'
import { unavailable } from '../unavailable.js'
import { reportError } from '../../runtime/report.js'
import { inboundFetch } from './routes.js'
import { InboundStore } from './store.js'
import type { A2ATask, A2ATaskDeps, A2ATaskSendRequest, InboundSession } from './types.js'
import { guarded, type ErrorContext } from '../options.js'

export interface InboundHandlerOptions {
  /** How many tasks are held, those that have ended included. Default is `1_000`. */
  readonly maxTasks?: number | undefined
  /** Is told what went wrong where no caller is. Default is a warning of the process, where the runtime has them. */
  readonly onError?: ((error: unknown, context: ErrorContext) => void) | undefined
}

/** Inbound tasks with a store of their own. */
export interface InboundHandler {
  /** As {@link handleTaskSend}. Throws `UNAVAILABLE` when the handler is closed. */
  readonly handleTaskSend: (body: A2ATaskSendRequest | A2ATaskSendRequest['params']) => A2ATask
  /** As {@link handleTaskGet}. */
  readonly handleTaskGet: (taskId: string) => A2ATask | null
  /** As {@link clearTaskStore}. */
  readonly clearTaskStore: () => void
  /**
   * Answers `POST /a2a/tasks/send` and `GET /a2a/tasks/{id}` with tasks, all else with `{ error }`: 400 for what is no
   * request, 404, 405, 413 for more than 1 MiB, 503 where no task is taken, 500 for what `deps` throw, which `onError`
   * is told. Never rejects. Needs no `this`: pass it on as it is, to `toNodeListener` too.
   */
  readonly fetch: (request: Request) => Promise<Response>
  /** Clears the store, and takes no more tasks. */
  readonly close: () => void
}

/**
 * Takes tasks for sessions, apart from all other handlers.
 *
 * @throws {TypeError | RangeError | A2AError} naming what of `deps` is missing, or the option that makes no sense.
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
  const { maxTasks, onError } = readOptions(options, ['maxTasks', 'onError'], 'createInboundHandler')
  const report = onError === undefined ? reportError : guarded(onError)
  const store = new InboundStore({ clock: deps.clock ?? systemClock, maxTasks, onError: report })
  let isClosed = false
  const send = (body: unknown): A2ATask => {
    if (isClosed) throw unavailable()
    return store.send(deps, body)
  }
  const get = (taskId: string): A2ATask | null => store.get(taskId)
  return {
    handleTaskSend: send,
    handleTaskGet: get,
    fetch: inboundFetch({ send, get, onError: report }),
    clearTaskStore: () => store.clear(),
    close() {
      isClosed = true
      store.clear()
    },
  }
}

/** That of all who make none of their own. */
let shared: InboundStore | undefined

/**
 * Has a session work on a message: the first agent with a `defaultProjectId` gets it. What the session says joins the
 * task's messages; that it exits or is stopped completes the task, an error of it or the end of `timeoutMs` fails it.
 *
 * Tasks are kept in one store of this module, up to 1,000: for a new one the 100 that ended longest ago give way, one
 * that is worked on never does.
 *
 * The parameters may stand in `body`, or in `body.params`, as in {@link A2ATaskSendRequest}; if in both, those count.
 *
 * @returns The task as it stands, `working` as a rule: a copy, which does not follow what happens. See `handleTaskGet`.
 * @throws {A2AError} `INVALID_PARAMS`; `LIMIT_EXCEEDED` for more than 1 MiB; `NOT_FOUND`, a `NotFoundError`, without
 *   such an agent; `TASK_LIMIT_REACHED` when 1,000 tasks are worked on.
 * @throws what `createSession`, `subscribe` or `startProcess` throws. The task has failed then.
 * @throws {TypeError} naming what of `deps` is missing, or when the store has tasks by another clock.
 */
export function handleTaskSend<Db, Session extends InboundSession>(
  deps: A2ATaskDeps<Db, Session>,
  body: A2ATaskSendRequest | A2ATaskSendRequest['params'],
): A2ATask {
  requireDeps(deps)
  const clock = deps.clock ?? systemClock
  shared ??= new InboundStore({ clock, maxTasks: undefined, onError: reportError })
  if (shared.clock !== clock) {
    throw new TypeError(
      '"deps.clock" must be that of the tasks before: clearTaskStore(), or createInboundHandler()',
    )
  }
  return shared.send(deps, body)
}

/** The task as it stands, as a copy; `null` when there is none of this id, or none any more. */
export function handleTaskGet(taskId: string): A2ATask | null {
  return shared?.get(taskId) ?? null
}

/** Forgets all tasks: no timer and no subscription is left. Sessions that are at work go on, unheard. */
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
