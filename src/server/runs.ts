/**
 * The runs that are going on: who starts them, what messages they get, and how they end.
 *
 * @module
 */
import { requireGeneration } from '../core/decide.js'
import { A2AError, ended, invalidParams } from '../core/errors.js'
import { requireMessage } from '../core/intake.js'
import { describe } from '../core/json.js'
import { isInterrupted, isTerminal } from '../core/lifecycle.js'
import type { OwnerFilter } from '../core/queries.js'
import type { JsonValue, Message, TaskSnapshot } from '../core/task.js'
import { textOf, type Requests, type SendRequest } from '../wire/index.js'
import type { Queued } from './answer.js'
import { POLICIES, type Offer, type Outcome, type Settings } from './options.js'
import { streamTexts } from './outcome.js'
import { settled, unavailable } from './closing.js'
import { Deadlines } from './deadlines.js'
import { toLive, type LiveRun, type TaskKey } from './live-run.js'
import { FAILED, RunFailures, SHUT_DOWN, TIMED_OUT } from './run-failures.js'
import { TaskRun, type RunContext } from './task-run.js'
import { ownedBy, requireVisible, type Caller, type Principal } from './visibility.js'

/** A message as it comes, with what was asked beside. */
export type IncomingRequest = Requests['SendMessage']

/** What came of a message. `opening` is the task before any work on the message was done. */
export type Accepted =
  | {
      readonly type: 'task'
      readonly taskId: string
      readonly opening: TaskSnapshot | undefined
      /** Rejects when the work has stopped and the task could not be made to say so. */
      readonly broken: Promise<never>
    }
  | { readonly type: 'message'; readonly message: Message }

export class Runs<P extends Principal> {
  readonly #settings: Settings<P>
  readonly #onCreated: (taskId: string, caller: Caller<P>) => void
  readonly #live = new Set<LiveRun<P>>()
  readonly #byTask = new Map<string, LiveRun<P>>()
  readonly #queues = new Map<string, Queued<P>[]>()
  /** Runs that have just begun. */
  readonly #deadlines: Deadlines
  readonly #failures: RunFailures<P>
  readonly #undecided = new Set<TaskRun<P>>()
  #isOpeningSoon = false
  #isClosing = false

  /** @param onCreated - Is told of each task that is made, before anybody can ask for it. */
  constructor(settings: Settings<P>, onCreated: (taskId: string, caller: Caller<P>) => void) {
    this.#settings = settings
    this.#onCreated = onCreated
    this.#deadlines = new Deadlines(settings.clock)
    this.#failures = new RunFailures(settings.onError)
    settings.tasks.on('task:evicted', this.#onGone)
    settings.tasks.on('task:expired', this.#onGone)
  }

  /**
   * Takes a message in: as the beginning of a new task, as an answer, or as more to a task that goes on.
   *
   * @throws {A2AError} `UNAVAILABLE`; `INVALID_PARAMS`; of a task that the message names: `TASK_NOT_FOUND`,
   *   `TASK_GENERATION_MISMATCH`, `TASK_TERMINAL`, `UNSUPPORTED_OPERATION` by `onFollowUp`. What `execute.accept` throws.
   */
  async accept(given: IncomingRequest, caller: Caller<P>, isStream: boolean): Promise<Accepted> {
    this.#requireOpen()
    const owner = ownedBy(caller.principal, given.tenant)
    const request = this.#complete(given, owner)
    if (request.message.role !== 'user') {
      throw invalidParams('message.role', "must be the user's: only the agent speaks as the agent")
    }
    // What the core will refuse once work has begun is refused before.
    const { taskId } = requireMessage(asJson(request.message), 'message')
    if (taskId !== undefined) {
      return this.#followUp(requireVisible(this.#settings.tasks, taskId, owner), request, caller, owner)
    }
    this.#requireRoom()
    const asked = this.#settings.execute.accept?.({ ...toOffer(request, caller), ...owner })
    if (asked !== undefined) {
      await asked
      // Meanwhile others were let in, and all this may be over.
      this.#requireOpen()
      this.#requireRoom()
    }
    const live = this.#start(request, caller, owner, { isStream })
    const decision = await live.run.decision.wait()
    return decision.type === 'message' ? decision : acceptedBy(live, decision.taskId, live.opening)
  }

  /** With an id for the message, and the task that is meant by the id that the client has chosen, if there is one. */
  #complete(given: IncomingRequest, owner: OwnerFilter): SendRequest {
    const { message, chosenId } = given
    const { generateId, tasks } = this.#settings
    const complete = { ...message, messageId: message.messageId ?? generateId() }
    const task = chosenId === undefined ? null : tasks.peekTask(chosenId, owner)
    if (task === null) return { ...given, message: complete }
    // Whoever names a task by his own id for it may make up another session for each message.
    return { ...given, message: { ...complete, taskId: task.id, contextId: task.contextId } }
  }

  /** No new work from now on. Resolves when all runs have ended: by themselves within `graceMs`, or aborted then. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true
    for (const live of this.#live) if (live.run.isWaiting) live.run.abort(unavailable())
    const { clock } = this.#settings
    const work = [...this.#live].map((live) => live.ended)
    await settled(clock, graceMs, work)
    for (const live of this.#live) {
      this.#shutDown(live)
      live.run.detach(unavailable())
    }
    this.#deadlines.close()
    const { tasks } = this.#settings
    tasks.off('task:evicted', this.#onGone)
    tasks.off('task:expired', this.#onGone)
  }

  /** Whoever works on it still does not work on the one that takes its id. */
  readonly #onGone = ({ id, createdAt }: TaskSnapshot): void => {
    const { task = { createdAt } } = this.#byTask.get(id) ?? {}
    if (task.createdAt === createdAt) this.#drop(id)
  }

  #drop(taskId: string): void {
    this.#deadlines.clear(taskId)
    this.#queues.delete(taskId)
    this.#byTask.get(taskId)?.run.detach(ended('TASK_EXPIRED', taskId))
    this.#byTask.delete(taskId)
  }

  /** A task that waits for the user goes on waiting: he may answer the next process. */
  #shutDown(live: LiveRun<P>): void {
    const { run } = live
    if (run.hasEnded) return
    if (run.taskId === undefined || !isInterrupted(run.task.state)) this.#failures.failTask(live, SHUT_DOWN)
  }

  #followUp(task: TaskSnapshot, request: SendRequest, caller: Caller<P>, owner: OwnerFilter): Accepted {
    const { tasks, onFollowUp } = this.#settings
    const { id, contextId, state } = task
    const { ifGeneration } = request
    if (ifGeneration !== undefined) requireGeneration(task, ifGeneration)
    if (isTerminal(state)) {
      throw new A2AError('TASK_TERMINAL', `Cannot send a message to a task in terminal state: ${state}`, {
        taskId: id,
        state,
      })
    }
    const given = request.message.contextId
    if (given !== undefined && given !== contextId) {
      throw invalidParams(
        'message.contextId',
        'is not the context of this task: leave it out, or send the right one',
      )
    }
    const message = { ...request.message, contextId }
    const isWorking = this.#byTask.has(id) && !isInterrupted(state)
    const policy = isWorking ? onFollowUp(message, task) : undefined
    if (policy !== undefined && !POLICIES.includes(policy)) {
      throw new TypeError(`onFollowUp() must return ${POLICIES.join(', ')}, got ${describe(policy)}`)
    }
    if (policy === 'reject') {
      throw new A2AError('UNSUPPORTED_OPERATION', 'The task is being worked on and takes no message now', {
        operation: 'SendMessage',
      })
    }
    // An answer, as a message to a task that nobody works on, sets somebody to work.
    if (!isWorking) this.#requireRoom()
    // Once more: onFollowUp() may have changed the task.
    tasks.addMessage(id, message, ifGeneration === undefined ? {} : { expectedGeneration: ifGeneration })
    const next = { request: { ...request, message }, caller }
    // Whoever hears of the message may have sent another.
    const live = this.#byTask.get(id)
    if (live === undefined) {
      const started = this.#start(next.request, caller, owner, { isStream: true, task })
      return acceptedBy(started, id, started.opening)
    }
    const isTaken = isWorking ? policy === 'steer' : live.run.resume(next)
    if (!isTaken) this.#queueOf(id).push(next)
    return acceptedBy(live, id, tasks.peekTask(id) ?? undefined)
  }

  #requireOpen(): void {
    if (this.#isClosing) throw unavailable()
  }

  /** Runs that wait for the user take no place; those whose task has ended do, for as long as they go on. */
  #requireRoom(): void {
    const { maxRuns } = this.#settings.limits
    if (this.#live.size < maxRuns) return
    let working = 0
    for (const { run } of this.#live) if (!run.isWaiting) working += 1
    if (working >= maxRuns) throw unavailable('has too much to do')
  }

  #queueOf(taskId: string): Queued<P>[] {
    const queue = this.#queues.get(taskId) ?? []
    this.#queues.set(taskId, queue)
    return queue
  }

  #next(taskId: string): Queued<P> | undefined {
    const queue = this.#queues.get(taskId)
    const next = queue?.shift()
    if (queue?.length === 0) this.#queues.delete(taskId)
    return next
  }

  /** Begins to work on a message: of a new task, or, with `task`, of one that there is. */
  #start(
    request: SendRequest,
    caller: Caller<P>,
    owner: OwnerFilter,
    { isStream, task }: { readonly isStream: boolean; readonly task?: TaskKey },
  ): LiveRun<P> {
    const { tasks } = this.#settings
    const begin = ({ id, createdAt }: TaskKey): void => {
      if (task === undefined) this.#onNew(id, request, caller)
      live.task = { id, createdAt }
      this.#byTask.set(id, live)
      if (isStream) live.opening = tasks.peekTask(id) ?? undefined
    }
    const context: RunContext<P> = {
      settings: this.#settings,
      request,
      caller,
      owner,
      onTask: begin,
      nextMessage: (id) => this.#next(id),
      onWaiting: (isWaiting) => {
        live.stopTimer()
        if (!isWaiting && this.#live.has(live)) this.#startTimer(live)
        if (isWaiting && this.#isClosing) run.abort(unavailable())
      },
    }
    const run = new TaskRun(context, task?.id)
    const live = toLive(run, owner)
    if (task !== undefined) {
      // Before anybody can look, so that whoever waits for the turn's end does not take the last one for it.
      run.start()
      begin(task)
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

  #onNew(taskId: string, { timeoutMs }: SendRequest, caller: Caller<P>): void {
    // What a listener does is told later: that a task of this id has gone may not have been told yet.
    this.#drop(taskId)
    this.#onCreated(taskId, caller)
    if (timeoutMs !== undefined) this.#deadlines.set(taskId, timeoutMs, () => this.#endLate(taskId))
  }

  async #execute(live: LiveRun<P>, needsTask: boolean): Promise<void> {
    const { run } = live
    this.#openSoon(run)
    try {
      if (needsTask) run.start()
      await this.#finish(run, await this.#settings.execute(run))
    } catch (error) {
      // There is no room for the task that has to be there: nobody has begun to work on it.
      if (needsTask && run.taskId === undefined) run.decision.giveUp(error as Error)
      else this.#failures.fail(live, error)
    } finally {
      this.#undecided.delete(run)
      this.#live.delete(live)
      live.stopTimer()
      run.leave()
      this.#leave(live)
    }
  }

  /** As soon as the executor waits for something, whoever asked gets a task meanwhile. One timer for all runs. */
  #openSoon(run: TaskRun<P>): void {
    this.#undecided.add(run)
    if (this.#isOpeningSoon) return
    this.#isOpeningSoon = true
    this.#settings.clock.schedule(() => {
      this.#isOpeningSoon = false
      const runs = [...this.#undecided]
      this.#undecided.clear()
      for (const each of runs) this.#open(each)
    }, 0)
  }

  #open(run: TaskRun<P>): void {
    try {
      run.openUnlessReplying()
    } catch (error) {
      // No room for the task, or none for its message.
      run.decision.giveUp(error as Error)
    }
  }

  /** Another turn for a message that came meanwhile; none when the task has ended. */
  #leave(live: LiveRun<P>): void {
    const { run, owner } = live
    const { task } = live
    if (task === undefined || this.#byTask.get(task.id) !== live) return
    const taskId = task.id
    this.#byTask.delete(taskId)
    if (run.hasEnded) this.#deadlines.clear(taskId)
    const next = this.#next(taskId)
    if (next === undefined) return
    try {
      if (run.hasEnded || this.#isClosing) {
        this.#queues.delete(taskId)
        this.#shutDown(live)
      } else {
        const started = this.#start(next.request, next.caller, owner, { isStream: false, task })
        started.broken.catch(live.break)
      }
    } catch (error) {
      // The task may not even begin to work any more.
      this.#queues.delete(taskId)
      this.#settings.onError(error, { during: 'execute', taskId })
      this.#failures.failTask(live, FAILED)
    }
  }

  /** A run that returns ends the task, unless somebody waits for an answer: the user of us, or we of the user. */
  async #finish(run: TaskRun<P>, outcome: Outcome): Promise<void> {
    if (typeof outcome === 'string') {
      if (run.replied !== undefined)
        throw new TypeError('execute() returned a text, and replied: do one of the two')
      this.#takeBack(run)
      if (run.taskId !== undefined && this.#queues.has(run.taskId)) run.artifact(outcome)
      else run.completeWith(outcome)
      return
    }
    if (outcome !== undefined) await streamTexts(run, outcome, this.#settings.generateId())
    await run.replied
    if (run.hasReplied) return
    this.#takeBack(run)
    const { state, id } = run.task
    const isOver = isTerminal(state) || (outcome === undefined && isInterrupted(state))
    if (!isOver && !this.#queues.has(id)) run.complete()
  }

  /** Answers that the run has not looked at come before what waits already. */
  #takeBack(run: TaskRun<P>): void {
    const unread = run.takeUnread()
    if (unread.length > 0 && run.taskId !== undefined) this.#queueOf(run.taskId).unshift(...unread)
  }

  #startTimer(live: LiveRun<P>): void {
    const { limits, clock } = this.#settings
    if (!Number.isFinite(limits.runTimeoutMs)) return
    live.stopTimer = clock.schedule(() => this.#failures.timeOut(live), limits.runTimeoutMs)
  }

  /** The client waits no longer: also of a task that waits for the user, or that nobody works on. */
  #endLate(taskId: string): void {
    const live = this.#byTask.get(taskId)
    if (live !== undefined) {
      this.#failures.timeOut(live)
      return
    }
    const { tasks } = this.#settings
    const task = tasks.peekTask(taskId)
    if (task !== null && !isTerminal(task.state))
      tasks.patchTask(taskId, { state: 'failed', message: TIMED_OUT })
  }
}

function acceptedBy<P extends Principal>(
  { broken }: LiveRun<P>,
  taskId: string,
  opening: TaskSnapshot | undefined,
): Accepted {
  return { type: 'task', taskId, opening, broken }
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
