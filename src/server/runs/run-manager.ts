/**
 * The runs that are going on: who starts them, what messages they get, and how they end.
 *
 * @module
 */
import { A2AError, ended, invalidParams } from '../../core/errors.js'
import { requireMessage } from '../../core/validate.js'
import { isInterrupted } from '../../core/lifecycle.js'
import type { OwnerFilter } from '../../core/queries.js'
import type { Message, TaskSnapshot, TaskKey } from '../../core/task.js'
import type { JsonValue } from '../../core/json-types.js'
import { settleWithin } from '../../runtime/shutdown.js'
import { unavailable } from '../unavailable.js'
import { textOf } from '../../wire/text.js'
import type { Requests, SendRequest } from '../../wire/dialect.js'
import { acceptedBy, type Accepted, type AcceptedTask } from './accepted-message.js'
import type { Queued } from './question.js'
import type { Offer, Settings } from '../options.js'
import { Deadlines, failLate } from './deadlines.js'
import { finish, takeBack } from './finish-run.js'
import { policyFor, requireTaking } from './follow-up.js'
import { isListening, steer, toLive, type LiveRun } from './active-run.js'
import { Openings } from './auto-start.js'
import { Queues } from './message-queue.js'
import { referencesOf } from './references.js'
import { Replica } from './replica-runs.js'
import type { Incoming, RunContext, Start } from './run-context.js'
import { FAILED, RunFailures, SHUT_DOWN } from './run-failures.js'
import { toNote } from './run-note.js'
import { TaskRun } from './run-controller.js'
import { isPending, isShared, type WorkedTasks } from '../tasks.js'
import type { MaybePromise } from '../../core/managers.js'
import { ownedBy, requireVisible, type Caller, type Principal } from '../caller.js'
import type { RunsHere } from './lease-scheduler.js'

/** Why a task that is still there is not worked on here any more. */
const LOST = ['LEASE_LOST', 'STORE_FAILED', 'UNAVAILABLE'] as const

/** A message as it comes, with what was asked beside. */
export type IncomingRequest = Requests['SendMessage']

export class Runs<P extends Principal> implements RunsHere<P> {
  readonly queues = new Queues<P>()
  readonly #settings: Settings<P>
  readonly #onCreated: (taskId: string, caller: Caller<P>) => void
  readonly #tasks: WorkedTasks
  /** Where tasks are shared with other processes. */
  readonly #replica: Replica<P> | undefined
  readonly #live = new Set<LiveRun<P>>()
  readonly #byTask = new Map<string, LiveRun<P>>()
  readonly #deadlines: Deadlines
  readonly #failures: RunFailures<P>
  readonly #openings: Openings<P>
  isClosing = false

  /** @param onCreated - Is told of each task that is made, before anybody can ask for it. */
  constructor(settings: Settings<P>, onCreated: (taskId: string, caller: Caller<P>) => void) {
    const { tasks, clock } = settings
    this.#settings = settings
    this.#onCreated = onCreated
    this.#deadlines = new Deadlines(clock)
    this.#failures = new RunFailures(settings.onError)
    this.#openings = new Openings(clock)
    if (isShared(tasks)) {
      this.#replica = new Replica(settings, tasks, this)
      this.#tasks = this.#replica.leased
    } else {
      this.#tasks = tasks
      tasks.on('task:evicted', this.#onGone)
      tasks.on('task:expired', this.#onGone)
    }
  }

  /**
   * Takes a message in: as the beginning of a new task, as an answer, or as more to a task that goes on.
   *
   * @throws {A2AError} `UNAVAILABLE`; `INVALID_PARAMS`; of a task that the message names: `TASK_NOT_FOUND`,
   *   `TASK_GENERATION_MISMATCH`, `TASK_TERMINAL`, `UNSUPPORTED_OPERATION` by `onFollowUp`. What `execute.accept` throws.
   *   Where tasks are shared, `STORE_FAILED`.
   */
  accept(given: IncomingRequest, caller: Caller<P>, isStream: boolean): Promise<Accepted> {
    const accept = (): Promise<Accepted> => this.#accept(given, caller, isStream)
    const { chosenId, tenant } = given
    if (this.#replica === undefined || chosenId === undefined) return accept()
    return this.#replica.acceptChosen(accept, chosenId, () => ownedBy(caller.principal, tenant))
  }

  async #accept(given: IncomingRequest, caller: Caller<P>, isStream: boolean): Promise<Accepted> {
    this.requireOpen()
    const owner = ownedBy(caller.principal, given.tenant)
    const identified = this.#identify(given, owner)
    const request = isPending(identified) ? await identified : identified
    if (request.message.role !== 'user') {
      throw invalidParams('message.role', "must be the user's: only the agent speaks as the agent")
    }
    // What the core will refuse once work has begun is refused before.
    const { taskId } = requireMessage(asJson(request.message), 'message')
    if (taskId !== undefined) {
      if (this.#replica !== undefined) return await this.#replica.followUp(taskId, { request, caller, owner })
      const found = requireVisible(this.#settings.tasks, taskId, owner)
      return this.takeIn(isPending(found) ? await found : found, { request, caller, owner })
    }
    const { tasks } = this.#settings
    const references = isShared(tasks) ? await referencesOf(tasks, request, owner) : undefined
    this.#requireRoom()
    const asked = this.#settings.execute.accept?.({ ...toOffer(request, caller), ...owner })
    if (asked !== undefined) {
      await asked
      // Meanwhile others were let in, and all this may be over.
      this.#requireRoom()
    }
    const live = this.start({ request, caller }, owner, { isStream, references })
    const decision = await live.run.decision.wait()
    if (decision.type === 'message') return decision
    if (live.stored !== undefined) await live.stored
    return acceptedBy(live, decision.taskId, live.opening)
  }

  /** With an id for the message, and the task that is meant by the id that the client has chosen, if there is one. */
  #identify(given: IncomingRequest, owner: OwnerFilter): MaybePromise<SendRequest> {
    const { message, chosenId } = given
    const { generateId, tasks } = this.#settings
    const complete = { ...message, messageId: message.messageId ?? generateId() }
    const request = { ...given, message: complete }
    if (chosenId === undefined) return request
    // Whoever names a task by his own id for it may make up another session for each message.
    const naming = (task: TaskSnapshot | null): SendRequest =>
      task === null
        ? request
        : { ...given, message: { ...complete, taskId: task.id, contextId: task.contextId } }
    const known = tasks.peekTask(chosenId, owner)
    return isPending(known) ? known.then(naming) : naming(known)
  }

  /** No new work from now on. Resolves when all runs have ended: by themselves within `graceMs`, or aborted then. */
  async close(graceMs: number): Promise<void> {
    this.isClosing = true
    for (const live of this.#live) if (live.run.isWaiting) live.run.abort(unavailable())
    const { clock, tasks } = this.#settings
    const work = [...this.#live].map((live) => live.ended)
    await settleWithin(clock, graceMs, work)
    for (const live of this.#live) {
      this.#shutDown(live)
      live.run.detach(unavailable())
      this.#letGo(live)
    }
    this.#deadlines.close()
    tasks.off('task:evicted', this.#onGone)
    tasks.off('task:expired', this.#onGone)
    await this.#replica?.close()
  }

  /** Whoever works on it still does not work on the one that takes its id. */
  readonly #onGone = ({ id, createdAt }: TaskSnapshot): void => {
    const { task = { createdAt } } = this.#byTask.get(id) ?? {}
    if (task.createdAt === createdAt) this.#drop(id)
    this.#deadlines.clear({ id, createdAt })
  }

  /** `reason` is why the run is over; default is that its task is gone. */
  #drop(taskId: string, reason?: Error): void {
    this.queues.delete(taskId)
    this.#byTask.get(taskId)?.run.detach(reason ?? ended('TASK_EXPIRED', taskId))
    this.#byTask.delete(taskId)
  }

  /** The task is not this process's to work on any more. `task`: where no run is working on it. */
  lose(taskId: string, reason: Error, task?: TaskKey): void {
    const live = this.#byTask.get(taskId)
    this.#drop(taskId, reason)
    live?.break(reason)
    const key = live?.task ?? task
    // One that is others' now is late when it is late; one that is gone, or never came to be, never is.
    const isElsewhere = LOST.some((code) => A2AError.is(reason, code))
    if (key !== undefined && !isElsewhere) this.#deadlines.clear(key)
  }

  runOf(taskId: string): LiveRun<P> | undefined {
    return this.#byTask.get(taskId)
  }

  /** A task that waits for the user goes on waiting: he may answer the next process. */
  #shutDown(live: LiveRun<P>): void {
    const { run } = live
    if (run.hasEnded) return
    if (run.taskId === undefined || !isInterrupted(run.task.state)) this.#failures.failTask(live, SHUT_DOWN)
  }

  /** Takes a message in to a task that nobody else works on: as an answer, or as more. */
  takeIn(task: TaskSnapshot, incoming: Incoming<P>): AcceptedTask {
    const { request, caller, owner, references } = incoming
    requireTaking(task, request)
    const { id, contextId, state } = task
    const message = { ...request.message, contextId }
    const isWorking = this.#byTask.has(id) && !isInterrupted(state)
    const policy = isWorking ? policyFor(this.#settings.onFollowUp, message, task) : undefined
    // An answer, as a message to a task that nobody works on, sets somebody to work.
    if (!isWorking) this.#requireRoom()
    // Once more: onFollowUp() may have changed the task.
    const { ifGeneration } = request
    this.#tasks.addMessage(
      id,
      message,
      ifGeneration === undefined ? {} : { expectedGeneration: ifGeneration },
    )
    const next = { request: { ...request, message }, caller }
    // Whoever hears of the message may have sent another.
    const live = this.#byTask.get(id)
    if (live === undefined) {
      const started = this.start(next, owner, { isStream: true, task, references })
      return acceptedBy(started, id, started.opening)
    }
    const isTaken = isWorking ? policy === 'steer' && isListening(live) : live.run.resume(next)
    if (!isTaken) this.queues.push(id, next)
    else if (isWorking) void steer(live, next)
    else this.#replica?.workOn(id, next)
    return acceptedBy(live, id, this.#tasks.peekTask(id) ?? undefined)
  }

  requireOpen(): void {
    if (this.isClosing) throw unavailable()
  }

  /** Runs that wait for the user take no place; those whose task has ended do, for as long as they go on. */
  #requireRoom(): void {
    this.requireOpen()
    if (!this.hasRoom(0)) throw unavailable('has too much to do')
  }

  /** Whether one more run may begin, beside `others` that are about to. */
  hasRoom(others: number): boolean {
    const { maxRuns } = this.#settings.limits
    if (this.#live.size + others < maxRuns) return true
    let working = others
    for (const { run } of this.#live) if (!run.isWaiting) working += 1
    return working < maxRuns
  }

  /** Begins to work on a message: of a new task, or, with `task`, of one that there is. */
  start(given: Queued<P>, owner: OwnerFilter, how: Start): LiveRun<P> {
    const { request, caller } = given
    const { isStream = false, task, references, isNoted = false } = how
    const begin = ({ id, createdAt }: TaskKey): void => {
      if (task === undefined) {
        this.#onNew({ id, createdAt }, request, caller)
        live.stored = this.#replica?.stored(id)
      }
      live.task = { id, createdAt }
      this.#byTask.set(id, live)
      if (isStream) live.opening = this.#tasks.peekTask(id) ?? undefined
    }
    const context: RunContext<P> = {
      settings: this.#settings,
      tasks: this.#tasks,
      request,
      caller,
      owner,
      note: this.#replica && toNote(given),
      referenceTasks: () => references ?? this.#referencesOf(request, owner),
      onTask: begin,
      nextMessage: (id) => {
        const next = this.queues.shift(id)
        if (next !== undefined) this.#replica?.workOn(id, next)
        return next
      },
      onWaiting: (isWaiting) => {
        live.stopTimer()
        if (!isWaiting && this.#live.has(live)) this.#startTimer(live)
        if (isWaiting && this.isClosing) run.abort(unavailable())
      },
    }
    const run = new TaskRun(context, task?.id)
    const live = toLive(run, given, owner)
    if (task !== undefined) {
      // Before anybody can look, so that whoever waits for the turn's end does not take the last one for it.
      run.start()
      begin(task)
      if (!isNoted) this.#replica?.workOn(task.id, given)
    }
    this.#live.add(live)
    this.#startTimer(live)
    live.ended = this.#execute(live, request.needsTask === true).catch((error: unknown) => {
      // Not even the manager works any more.
      this.#settings.onError(error, { during: 'execute', taskId: run.taskId })
      run.decision.giveUp(error as Error)
    })
    return live
  }

  #referencesOf({ message }: SendRequest, owner: OwnerFilter): TaskSnapshot[] {
    const { tasks } = this.#settings
    // Those in a store were read before.
    if (isShared(tasks)) return []
    const found = (message.referenceTaskIds ?? []).map((id) => tasks.peekTask(id, owner))
    return found.filter((task) => task !== null)
  }

  #onNew(task: TaskKey, { timeoutMs }: SendRequest, caller: Caller<P>): void {
    // What a listener does is told later: that a task of this id has gone may not have been told yet.
    this.#drop(task.id)
    this.#deadlines.clear(task)
    this.#onCreated(task.id, caller)
    if (timeoutMs !== undefined) this.#deadlines.set(task, timeoutMs, () => this.#endLate(task))
  }

  async #execute(live: LiveRun<P>, needsTask: boolean): Promise<void> {
    const { run } = live
    this.#openings.add(run)
    try {
      if (needsTask) run.start()
      const { execute, generateId } = this.#settings
      await finish(live, await execute(run), this.queues, generateId)
    } catch (error) {
      // There is no room for the task that has to be there: nobody has begun to work on it.
      if (needsTask && run.taskId === undefined) run.decision.giveUp(error as Error)
      else this.#failures.fail(live, error)
    } finally {
      this.#openings.delete(run)
      this.#live.delete(live)
      live.stopTimer()
      run.leave()
      // One may have come since it returned.
      takeBack(live, this.queues)
      this.#letGo(live)
    }
  }

  /** The run is over: it is somebody else's turn. */
  #letGo(live: LiveRun<P>): void {
    const { run, task } = live
    // A task that refused its first message has ended, and never began to be worked on.
    if (task === undefined && run.taskId !== undefined) this.#replica?.goOn(run.taskId, live)
    if (task === undefined || this.#byTask.get(task.id) !== live) return
    this.#byTask.delete(task.id)
    if (run.hasEnded) this.#deadlines.clear(task)
    if (this.#replica === undefined) this.#nextTurn(live, task)
    else this.#replica.goOn(task.id, live)
  }

  /** Another turn for a message that came meanwhile; none when the task has ended. */
  #nextTurn(live: LiveRun<P>, task: TaskKey): void {
    const { run, owner } = live
    const next = this.queues.shift(task.id)
    if (next === undefined) return
    try {
      if (run.hasEnded || this.isClosing) {
        this.queues.delete(task.id)
        this.#shutDown(live)
      } else {
        const started = this.start(next, owner, { task })
        started.broken.catch(live.break)
      }
    } catch (error) {
      // The task may not even begin to work any more.
      this.queues.delete(task.id)
      this.#settings.onError(error, { during: 'execute', taskId: task.id })
      this.#failures.failTask(live, FAILED)
    }
  }

  #startTimer(live: LiveRun<P>): void {
    const { limits, clock } = this.#settings
    if (!Number.isFinite(limits.runTimeoutMs)) return
    live.stopTimer = clock.schedule(() => this.#failures.timeOut(live), limits.runTimeoutMs)
  }

  /** The client waits no longer: also of a task that waits for the user, or that nobody works on. */
  #endLate(task: TaskKey): void {
    const { id: taskId, createdAt } = task
    const live = this.#byTask.get(taskId)
    if (live?.task?.createdAt === createdAt) this.#failures.timeOut(live)
    // What a run says is not stored when its lease was lost meanwhile.
    const { tasks, onError } = this.#settings
    failLate(tasks, task).catch((error: unknown) => onError(error, { during: 'execute', taskId }))
  }
}

/** Every message is. */
function asJson(message: Message): JsonValue {
  return message as unknown as JsonValue
}

function toOffer<P extends Principal>(
  { message, metadata = {}, tenant }: SendRequest,
  { principal }: Caller<P>,
): Omit<Offer<P>, 'owner'> {
  return { message, text: textOf(message), metadata, tenant, principal }
}
