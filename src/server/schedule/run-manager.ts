/**
 * The run manager: begins runs for the messages that are accepted, and ends them.
 *
 * @module
 */
import type { TaskKey } from '../../core/task.js'
import { settleWithin } from '../../runtime/shutdown.js'
import { Acceptance } from './acceptance.js'
import { handOver, markChild, toActiveRun, type ActiveRun } from './active-run.js'
import { AutoStart } from './auto-start.js'
import { finish, requeueUnread } from './finish-run.js'
import { LocalRuns } from './local-runs.js'
import { turnOf, type QueuedMessage } from '../run/message-queue.js'
import { ReplicaRuns } from './replica-runs.js'
import type { RunContext } from '../run/run-context.js'
import { RunController } from '../run/run-controller.js'
import { isRefusedTask, RunFailures } from './run-failures.js'
import { RunRegistry } from './run-registry.js'
import { IdleRuns } from './idle-runs.js'
import { attemptedAgain, waitToRetry } from './run-retries.js'
import type { BeginOptions, SchedulePort, RunScheduler } from './run-scheduler.js'
import type { Caller, Principal } from '../caller.js'
import { readHistory } from '../conversation.js'
import type { Observers } from '../observers.js'
import type { Settings } from '../options.js'
import { OwnerTasks } from './owner-tasks.js'
import { isShared } from '../tasks.js'
import { unavailable } from '../unavailable.js'
import { WaitingTasks } from './waiting-tasks.js'

/** Notes the dialect of each new task, before any client can request it. */
interface DialectNotes {
  note(taskId: string, caller: Caller): void
}

export class RunManager<P extends Principal> {
  readonly #settings: Settings<P>
  readonly #dialects: DialectNotes
  readonly #observers: Observers
  readonly #registry: RunRegistry<P>
  readonly #failures: RunFailures<P>
  readonly #autoStart: AutoStart<P>
  readonly #idle: IdleRuns<P>
  readonly #scheduler: RunScheduler<P>
  readonly #ownerTasks: OwnerTasks
  readonly #waitingTasks: WaitingTasks
  readonly acceptance: Acceptance<P>
  readonly #stopLimiting: () => void

  constructor(settings: Settings<P>, dialects: DialectNotes, observers: Observers) {
    const { tasks, clock, limits } = settings
    this.#settings = settings
    this.#dialects = dialects
    this.#observers = observers
    this.#registry = new RunRegistry(clock, limits)
    this.#ownerTasks = new OwnerTasks(settings, (owner) => this.#registry.beginning(owner))
    this.#waitingTasks = new WaitingTasks(settings)
    this.#failures = new RunFailures(settings)
    this.#autoStart = new AutoStart(clock)
    const handsOver = (): boolean => this.#scheduler.handsOver
    this.#idle = new IdleRuns({ settings, registry: this.#registry, handsOver, release: this.#leaveCode })
    const port: SchedulePort<P> = {
      settings,
      registry: this.#registry,
      failures: this.#failures,
      begin: (message, options) => observers.within(message.trace, () => this.#begin(message, options)),
    }
    this.#scheduler = isShared(tasks) ? new ReplicaRuns(tasks, port) : new LocalRuns(tasks, port)
    this.#stopLimiting = this.#ownerTasks.limitForks((owner) => this.#registry.requireRoom(owner))
    this.acceptance = new Acceptance<P>({
      ...{ settings, observers, registry: this.#registry, scheduler: this.#scheduler },
      ownerTasks: this.#ownerTasks,
      begin: this.#begin,
    })
  }

  /** How many runs are at work, and how many wait for the user. */
  get count(): { readonly working: number; readonly waiting: number } {
    return this.#registry.count()
  }

  /** As {@link RunScheduler.take}. */
  async take(taskId: string): Promise<void> {
    this.#registry.requireOpen()
    await this.#scheduler.take?.(taskId)
  }

  /** As {@link RunScheduler.takeDue}. */
  takeDue(): void {
    if (!this.#registry.isClosing) this.#scheduler.takeDue?.()
  }

  /**
   * Refuses new work. Resolves when all runs have ended: by themselves within `graceMs`, or aborted then. The tasks of
   * aborted runs fail, or are handed over to another process.
   */
  async close(graceMs: number): Promise<void> {
    this.#registry.close()
    this.#waitingTasks.close()
    const waiting = this.#endWaiting()
    await settleWithin(this.#settings.clock, graceMs, [waiting.then(() => this.#registry.empty())])
    await waiting
    for (const active of this.#registry) {
      this.#leave(active)
      active.run.detach(unavailable())
      this.#release(active)
    }
    this.#registry.deadlines?.close()
    await this.#scheduler.close()
    const { dispatcher, clock, windows } = this.#settings
    if (dispatcher !== undefined) await settleWithin(clock, graceMs, [dispatcher.settled()])
    await windows?.close()
    this.#stopLimiting()
  }

  async #endWaiting(): Promise<void> {
    const isOver = [...this.#registry].map(async (active) => {
      if (active.isPausing) {
        this.#leave(active)
        active.run.abort(unavailable())
      } else await this.#idle.end(active)
    })
    await Promise.all(isOver)
  }

  /** The agent shuts down: another process continues the task, or it fails. */
  #leave(active: ActiveRun<P>): void {
    if (this.#scheduler.handsOver) handOver(active)
    else this.#failures.shutDown(active)
  }

  /** The callback of schedulers: see {@link SchedulePort.begin}. */
  readonly #begin = (message: QueuedMessage<P>, options: BeginOptions): ActiveRun<P> => {
    const { isStream = false, task, references, isNoted = false, earlier } = options
    const registry = this.#registry
    const scheduler = this.#scheduler
    const { request, owner } = message
    const onTask = (key: TaskKey): void => this.#onTask(active, key, task === undefined, isStream)
    const context: RunContext<P> = {
      settings: this.#settings,
      tasks: scheduler.tasks,
      message,
      earlier,
      staysWaiting: options.staysWaiting,
      marks: scheduler.marks,
      listen: scheduler.listen,
      stored: (id) => scheduler.stored?.(id),
      referenceTasks: () => references ?? scheduler.referencesOf(request, owner),
      conversation: ({ taskId, contextId }, options) => {
        const { createdAt } = active.task ?? {}
        return readHistory(this.#settings.tasks, { contextId, ...owner }, { taskId, createdAt }, options)
      },
      onTask,
      deadlineOf: () => active.task && registry.deadlines?.of(active.task),
      requireInTime: () => {
        if (active.task && registry.deadlines?.check(active.task))
          throw active.run.abortReason ?? unavailable()
      },
      queues: registry.queues,
      assigned: (id, next) => scheduler.assigned?.(id, next),
      onExceeded: (reason) => this.#failures.stop(active, reason.message, reason, { error: reason }),
      onStep: (step) => this.#observers.onStep(step),
      onContinued: (again) => {
        Object.assign(active, { again, isContinued: true })
        this.#leaveCode(active)
      },
      onWaiting: (isWaiting) => {
        active.stopTimer()
        if (!isWaiting && registry.has(active)) this.#startTimer(active)
        if (isWaiting) this.#idle.onWaiting(active)
      },
    }
    const run = new RunController(context, task?.id)
    const active = toActiveRun(run, message)
    active.isCounted = task !== undefined
    if (task !== undefined) {
      // Before any client reads the task: one that waits for this turn must not see the state that ended the last one.
      if (!options.staysWaiting) run.start()
      onTask(task)
      if (!isNoted) scheduler.assigned?.(task.id, message)
    }
    registry.add(active)
    this.#startTimer(active)
    const isElsewhere = this.#settings.dispatcher !== undefined
    const done = isElsewhere ? this.#handOut(active) : this.#execute(active, request.needsTask === true)
    void done.catch((error: unknown) => {
      // The manager of tasks itself has failed.
      this.#settings.onError(error, { during: 'execute', taskId: run.createdId })
      run.response.reject(error as Error)
    })
    return active
  }

  /** The run has its task, which clients and listeners may know. */
  #onTask(active: ActiveRun<P>, { id, createdAt }: TaskKey, isNew: boolean, isStream: boolean): void {
    const key = { id, createdAt }
    const { caller, deadline } = active.message
    if (!isNew) this.#registry.assign(key, active)
    else {
      if (active.task === undefined) this.#hold(active, key)
      this.#dialects.note(id, caller)
      const { marks } = this.#scheduler
      if (marks !== undefined) markChild(active, key, marks)
    }
    if (deadline !== undefined)
      this.#registry.limitTime(key, deadline, () => this.#failures.endLate(this.#registry.runOf(id), key))
    if (isStream) active.opening = this.#scheduler.tasks.peekTask(id) ?? undefined
  }

  /** The run has created a task, which a reply may yet remove. */
  #hold(active: ActiveRun<P>, key: TaskKey): void {
    // The events of an earlier task with this id may not have reached our listeners yet.
    this.#registry.drop(key.id)
    this.#registry.deadlines?.clear(key)
    this.#registry.assign(key, active)
    active.stored = this.#scheduler.stored?.(key.id)
    const count = (): unknown => (active.isCounted = true)
    if (active.stored === undefined) count()
    else active.stored.then(count, count)
  }

  /** Over a store, nothing runs that is not stored. */
  async #store(active: ActiveRun<P>): Promise<void> {
    const { run } = active
    if (active.task === undefined) this.#hold(active, run.propose())
    await this.#scheduler.stored?.(run.taskId)
    await this.#scheduler.tasks.requireLease?.(run.taskId)
    // The code of a turn that is late is not called at all.
    if (active.task !== undefined) this.#registry.deadlines?.check(active.task)
    if (run.abortReason !== undefined) throw run.abortReason
  }

  /** Stores the task of a new message, which a worker is to do. */
  async #handOut(active: ActiveRun<P>): Promise<void> {
    try {
      this.#hold(active, active.run.propose())
      // In one change with the creation.
      this.#scheduler.tasks.recordJournal?.(active.run.taskId, [turnOf(active.message)])
      await this.#store(active)
      active.run.adopt()
    } catch (error) {
      active.run.response.reject(error as Error)
    } finally {
      this.#leaveCode(active)
    }
  }

  async #execute(active: ActiveRun<P>, needsTask: boolean): Promise<void> {
    const { run } = active
    const { queues } = this.#registry
    try {
      if (isShared(this.#settings.tasks)) await this.#store(active)
      this.#autoStart.add(run)
      if (needsTask) run.start()
      const { budget } = run
      // An earlier attempt may have spent more than the task may.
      if (budget !== undefined) await budget.pass()
      await finish(active, await this.#settings.execute(run), queues, this.#settings)
    } catch (error) {
      // The turn continues without this code.
      if (active.isContinued) return
      // The required task could not be created, so there is none to fail.
      if (needsTask && run.createdId === undefined) run.response.reject(error as Error)
      else if (this.#settings.retry === undefined) this.#failures.fail(active, error)
      else await this.#failOrRetry(active, error)
    } finally {
      this.#autoStart.delete(run)
      this.#registry.delete(active)
      active.stopTimer()
      if (active.again === undefined && !active.isContinued) {
        run.leave()
        // A message may have arrived since the executor returned.
        requeueUnread(active, queues)
      }
      this.#release(active)
      if (active.again !== undefined) run.detach(attemptedAgain(active))
    }
  }

  async #failOrRetry(active: ActiveRun<P>, error: unknown): Promise<void> {
    try {
      active.again = await waitToRetry(active, error, this.#settings)
    } catch (failure) {
      if (!isRefusedTask(active, failure))
        this.#settings.onError(failure, { during: 'execute', taskId: active.run.createdId })
    }
    if (active.again === undefined) this.#failures.fail(active, active.run.abortReason ?? error)
  }

  /** Ends the run, whose code is not called any more and may never return. */
  readonly #leaveCode = (active: ActiveRun<P>): void => {
    this.#autoStart.delete(active.run)
    this.#registry.delete(active)
    active.stopTimer()
    this.#release(active)
  }

  /** Ends the run's claim on its task, whose next turn is then the scheduler's to decide. */
  #release(active: ActiveRun<P>): void {
    const { run, task } = active
    if (task === undefined) {
      // A task that refused its first message has ended, and was never assigned to the run.
      if (run.createdId !== undefined) this.#scheduler.runEnded(run.createdId, active)
      return
    }
    if (this.#registry.runOf(task.id) !== active) return
    this.#registry.unassign(task.id)
    if (run.isTerminal) this.#registry.deadlines?.clear(task)
    this.#scheduler.runEnded(task.id, active)
  }

  #startTimer(active: ActiveRun<P>): void {
    const { limits, clock } = this.#settings
    if (!Number.isFinite(limits.runTimeoutMs)) return
    active.stopTimer = clock.schedule(() => this.#failures.timeOut(active), limits.runTimeoutMs)
  }
}
