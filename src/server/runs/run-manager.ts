/**
 * The run manager: accepts messages, begins runs for them, and ends them.
 *
 * @module
 */
import { invalidParams } from '../../core/errors.js'
import type { JsonValue } from '../../core/json-types.js'
import type { MaybePromise } from '../../core/managers.js'
import type { OwnerFilter } from '../../core/queries.js'
import type { Message, TaskKey, TaskSnapshot } from '../../core/task.js'
import { requireMessage } from '../../core/validate.js'
import { settleWithin } from '../../runtime/shutdown.js'
import type { Requests, SendRequest } from '../../wire/dialect.js'
import { textOf } from '../../wire/text.js'
import { acceptedBy, type AcceptedMessage } from './accepted-message.js'
import { toActiveRun, type ActiveRun } from './active-run.js'
import { AutoStart } from './auto-start.js'
import { failLate } from './deadlines.js'
import { finish, requeueUnread } from './finish-run.js'
import { LocalRuns } from './local-runs.js'
import type { QueuedMessage } from './message-queue.js'
import { ReplicaRuns } from './replica-runs.js'
import type { RunContext } from './run-context.js'
import { RunController } from './run-controller.js'
import { RunFailures } from './run-failures.js'
import { RunRegistry } from './run-registry.js'
import type { BeginOptions, RunHost, RunScheduler } from './run-scheduler.js'
import { ownedBy, type Caller, type Principal } from '../caller.js'
import type { Offer, Settings } from '../options.js'
import { isPromise, isShared } from '../tasks.js'
import { unavailable } from '../unavailable.js'

type MessageRequest = Requests['SendMessage']

export class RunManager<P extends Principal> {
  readonly #settings: Settings<P>
  readonly #onCreated: (taskId: string, caller: Caller<P>) => void
  readonly #registry: RunRegistry<P>
  readonly #failures: RunFailures<P>
  readonly #autoStart: AutoStart<P>
  readonly #scheduler: RunScheduler<P>

  /** @param onCreated - Called with each new task, before any client can request it. */
  constructor(settings: Settings<P>, onCreated: (taskId: string, caller: Caller<P>) => void) {
    const { tasks, clock, limits } = settings
    this.#settings = settings
    this.#onCreated = onCreated
    this.#registry = new RunRegistry(clock, limits.maxRuns)
    this.#failures = new RunFailures(settings.onError)
    this.#autoStart = new AutoStart(clock)
    const host: RunHost<P> = {
      settings,
      registry: this.#registry,
      failures: this.#failures,
      begin: (message, options) => this.#begin(message, options),
    }
    this.#scheduler = isShared(tasks) ? new ReplicaRuns(tasks, host) : new LocalRuns(tasks, host)
  }

  /**
   * Accepts a message: as the beginning of a new task, as an answer to a task that waits, or as a follow-up of one that is
   * worked on.
   *
   * @throws {A2AError} `UNAVAILABLE`; `INVALID_PARAMS`; for a task that the message names: `TASK_NOT_FOUND`,
   *   `TASK_GENERATION_MISMATCH`, `TASK_TERMINAL`, `UNSUPPORTED_OPERATION` by `onFollowUp`. What `execute.accept` throws.
   *   Where tasks are shared, `STORE_FAILED`.
   */
  accept(request: MessageRequest, caller: Caller<P>, isStream: boolean): Promise<AcceptedMessage> {
    const accept = (): Promise<AcceptedMessage> => this.#accept(request, caller, isStream)
    const { chosenId, tenant } = request
    if (chosenId === undefined) return accept()
    return this.#scheduler.acceptChosen(accept, chosenId, () => ownedBy(caller.principal, tenant))
  }

  /** Refuses new work. Resolves when all runs have ended: by themselves within `graceMs`, or aborted then. */
  async close(graceMs: number): Promise<void> {
    this.#registry.close()
    for (const { run } of this.#registry) if (run.isWaiting) run.abort(unavailable())
    const ended = [...this.#registry].map((active) => active.ended)
    await settleWithin(this.#settings.clock, graceMs, ended)
    for (const active of this.#registry) {
      this.#failures.shutDown(active)
      active.run.detach(unavailable())
      this.#release(active)
    }
    this.#registry.deadlines.close()
    await this.#scheduler.close()
  }

  async #accept(given: MessageRequest, caller: Caller<P>, isStream: boolean): Promise<AcceptedMessage> {
    this.#registry.requireOpen()
    const owner = ownedBy(caller.principal, given.tenant)
    const identified = this.#identify(given, owner)
    const request = isPromise(identified) ? await identified : identified
    if (request.message.role !== 'user') {
      throw invalidParams('message.role', "must be the user's: only the agent speaks as the agent")
    }
    // The same checks as the core's, before any work begins.
    const { taskId } = requireMessage(asJson(request.message), 'message')
    const queued = { request, caller, owner }
    if (taskId !== undefined) return this.#scheduler.followUp(taskId, queued)
    const loading = this.#scheduler.loadReferences(request, owner)
    const references = loading && (await loading)
    this.#registry.requireRoom()
    const accepting = this.#settings.execute.accept?.({ ...toOffer(request, caller), ...owner })
    if (accepting !== undefined) {
      await accepting
      // Other messages were accepted in between, and the agent may be closing.
      this.#registry.requireRoom()
    }
    const active = this.#begin(queued, { isStream, references })
    const response = await active.run.response.wait()
    if (response.type === 'message') return response
    if (active.stored !== undefined) await active.stored
    return acceptedBy(active, response.taskId, active.opening)
  }

  /** Adds the message's id, and the task that the client's chosen id belongs to, if it exists. */
  #identify(given: MessageRequest, owner: OwnerFilter): MaybePromise<SendRequest> {
    const { message, chosenId } = given
    const { generateId, tasks } = this.#settings
    const complete = { ...message, messageId: message.messageId ?? generateId() }
    const request = { ...given, message: complete }
    if (chosenId === undefined) return request
    // Clients that choose ids may send a new context with every message: the task's own counts.
    const withTask = (task: TaskSnapshot | null): SendRequest =>
      task === null
        ? request
        : { ...given, message: { ...complete, taskId: task.id, contextId: task.contextId } }
    const known = tasks.peekTask(chosenId, owner)
    return isPromise(known) ? known.then(withTask) : withTask(known)
  }

  /** The callback of schedulers: see {@link RunHost.begin}. */
  #begin(message: QueuedMessage<P>, options: BeginOptions): ActiveRun<P> {
    const { isStream = false, task, references, isNoted = false } = options
    const registry = this.#registry
    const scheduler = this.#scheduler
    const { request, caller, owner } = message
    const onTask = ({ id, createdAt }: TaskKey): void => {
      if (task === undefined) {
        this.#onNewTask({ id, createdAt }, request, caller)
        active.stored = scheduler.stored(id)
      }
      active.task = { id, createdAt }
      registry.assign(id, active)
      if (isStream) active.opening = scheduler.tasks.peekTask(id) ?? undefined
    }
    const context: RunContext<P> = {
      settings: this.#settings,
      tasks: scheduler.tasks,
      message,
      note: scheduler.noteOf(message),
      referenceTasks: () => references ?? scheduler.referencesOf(request, owner),
      onTask,
      nextMessage: (id) => {
        const next = registry.queues.shift(id)
        if (next !== undefined) scheduler.assigned(id, next)
        return next
      },
      onWaiting: (isWaiting) => {
        active.stopTimer()
        if (!isWaiting && registry.has(active)) this.#startTimer(active)
        if (isWaiting && registry.isClosing) run.abort(unavailable())
      },
    }
    const run = new RunController(context, task?.id)
    const active = toActiveRun(run, message)
    if (task !== undefined) {
      // Before any client reads the task: one that waits for this turn must not see the state that ended the last one.
      run.start()
      onTask(task)
      if (!isNoted) scheduler.assigned(task.id, message)
    }
    registry.add(active)
    this.#startTimer(active)
    active.ended = this.#execute(active, request.needsTask === true).catch((error: unknown) => {
      // The manager of tasks itself has failed.
      this.#settings.onError(error, { during: 'execute', taskId: run.taskId })
      run.response.reject(error as Error)
    })
    return active
  }

  #onNewTask(task: TaskKey, { timeoutMs }: SendRequest, caller: Caller<P>): void {
    // The events of an earlier task with this id may not have reached our listeners yet.
    this.#registry.drop(task.id)
    this.#registry.deadlines.clear(task)
    this.#onCreated(task.id, caller)
    if (timeoutMs !== undefined) this.#registry.deadlines.set(task, timeoutMs, () => this.#endLate(task))
  }

  async #execute(active: ActiveRun<P>, needsTask: boolean): Promise<void> {
    const { run } = active
    const { queues } = this.#registry
    this.#autoStart.add(run)
    try {
      if (needsTask) run.start()
      const { execute, generateId } = this.#settings
      await finish(active, await execute(run), queues, generateId)
    } catch (error) {
      // The required task could not be created, so there is none to fail.
      if (needsTask && run.taskId === undefined) run.response.reject(error as Error)
      else this.#failures.fail(active, error)
    } finally {
      this.#autoStart.delete(run)
      this.#registry.delete(active)
      active.stopTimer()
      run.leave()
      // A message may have arrived since the executor returned.
      requeueUnread(active, queues)
      this.#release(active)
    }
  }

  /** Ends the run's claim on its task, whose next turn is then the scheduler's to decide. */
  #release(active: ActiveRun<P>): void {
    const { run, task } = active
    if (task === undefined) {
      // A task that refused its first message has ended, and was never assigned to the run.
      if (run.taskId !== undefined) this.#scheduler.runEnded(run.taskId, active)
      return
    }
    if (this.#registry.runOf(task.id) !== active) return
    this.#registry.unassign(task.id)
    if (run.isTerminal) this.#registry.deadlines.clear(task)
    this.#scheduler.runEnded(task.id, active)
  }

  #startTimer(active: ActiveRun<P>): void {
    const { limits, clock } = this.#settings
    if (!Number.isFinite(limits.runTimeoutMs)) return
    active.stopTimer = clock.schedule(() => this.#failures.timeOut(active), limits.runTimeoutMs)
  }

  /** Fails a task at its deadline, also while it waits for the user or no run works on it. */
  #endLate(task: TaskKey): void {
    const { id: taskId, createdAt } = task
    const active = this.#registry.runOf(taskId)
    if (active?.task?.createdAt === createdAt) this.#failures.timeOut(active)
    // The run's own change is not stored if its lease was lost before.
    const { tasks, onError } = this.#settings
    failLate(tasks, task).catch((error: unknown) => onError(error, { during: 'execute', taskId }))
  }
}

/** Messages are JSON: their interface only lacks an index signature. */
function asJson(message: Message): JsonValue {
  return message as unknown as JsonValue
}

function toOffer<P extends Principal>(
  { message, metadata = {}, tenant }: SendRequest,
  { principal }: Caller<P>,
): Omit<Offer<P>, 'owner'> {
  return { message, text: textOf(message), metadata, tenant, principal }
}
