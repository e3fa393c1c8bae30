/**
 * Run scheduler for tasks in the memory of this process.
 *
 * @module
 */
import { taskNotFound } from '../../core/errors.js'
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import { isSignal, type TaskEvent } from '../../core/events.js'
import type { LocalTasks } from '../../core/managers.js'
import type { OwnerFilter } from '../../core/queries.js'
import type { TaskKey, TaskSnapshot } from '../../core/task.js'
import type { SendRequest } from '../../wire/dialect.js'
import type { AcceptedTask, ActiveRun } from './active-run.js'
import { acceptHere } from './follow-up.js'
import { continuedWith, type QueuedMessage } from '../run/message-queue.js'
import { KeyedQueue } from '../../runtime/keyed-queue.js'
import { hasOpenWait, readOpenTurn, unreadMessages } from '../journal/earlier-attempts.js'
import { RequestNotes } from './request-notes.js'
import { FAILED, SHUT_DOWN } from '../run/failure-texts.js'
import type { SchedulePort, RunScheduler } from './run-scheduler.js'
import type { Principal } from '../caller.js'
import { keptId } from '../chosen-ids.js'
import { unavailable } from '../unavailable.js'

export class LocalRuns<P extends Principal> implements RunScheduler<P> {
  readonly tasks: LocalTasks
  readonly handsOver = false
  readonly #port: SchedulePort<P>
  readonly #notes: RequestNotes<P>
  readonly #stopListening: (() => void) | undefined
  /** What waits for signals. A manager makes events for its listeners only. */
  readonly #waits = new Set<object>()
  /** The jobs of one task run one after the other. */
  readonly #jobs = new KeyedQueue()

  constructor(tasks: LocalTasks, port: SchedulePort<P>) {
    this.tasks = tasks
    this.#port = port
    this.#notes = new RequestNotes(port.settings)
    this.#stopListening = tasks.unfinished?.listen((taskId) => this.continueTurn(taskId))
    tasks.on('task:evicted', this.#onGone)
    tasks.on('task:expired', this.#onGone)
  }

  readonly listen = (): (() => void) => {
    const wait = {}
    if (this.#waits.size === 0) this.tasks.on('task:event', this.#onEvent)
    this.#waits.add(wait)
    return () => {
      if (this.#waits.delete(wait) && this.#waits.size === 0) this.tasks.off('task:event', this.#onEvent)
    }
  }

  followUp(taskId: string, message: QueuedMessage<P>): AcceptedTask {
    const task = this.tasks.peekTask(taskId, message.owner)
    if (task === null) throw taskNotFound(taskId)
    return acceptHere(this.#port, this, task, message)
  }

  referencesOf({ message }: SendRequest, owner: OwnerFilter): TaskSnapshot[] {
    return (message.referenceTaskIds ?? []).flatMap((id) => {
      const own = this.tasks.peekTask(id, owner) ?? this.tasks.peekTask(keptId(owner, id), owner)
      return own === null ? [] : [own]
    })
  }

  runEnded(taskId: string, active: ActiveRun<P>): void {
    // A task that refused its first message was never assigned to the run.
    if (active.task === undefined) return
    const { registry, failures, settings, begin } = this.#port
    if (active.isContinued) {
      this.#beginAgain(taskId, active)
      return
    }
    const { again } = active
    if (again === undefined) registry.queues.removeAnswersOfOthers(taskId)
    const next = again === undefined ? registry.queues.shift(taskId) : active.message
    if (next === undefined) return
    try {
      if (active.run.isTerminal || registry.isClosing) {
        registry.queues.delete(taskId)
        failures.shutDown(active)
      } else {
        const { broken } = begin(next, { task: active.task, earlier: again })
        broken.catch(active.break)
      }
    } catch (error) {
      // The task cannot even move to `working`.
      registry.queues.delete(taskId)
      settings.onError(error, { during: 'execute', taskId })
      failures.failTask(active, FAILED)
    }
  }

  /** The turn continues with a new journal. */
  #beginAgain(taskId: string, { again, message, task, break: onBroken }: ActiveRun<P>): void {
    const { registry, begin, settings } = this.#port
    try {
      if (again === undefined || task === undefined || registry.isClosing) throw unavailable()
      const { broken } = begin(continuedWith(message, again), { task, earlier: again })
      broken.catch(onBroken)
    } catch (error) {
      registry.queues.delete(taskId)
      if (!registry.isClosing) settings.onError(error, { during: 'execute', taskId })
      this.tasks.patchTask(taskId, { state: 'failed', message: registry.isClosing ? SHUT_DOWN : FAILED })
    }
  }

  close(): Promise<void> {
    this.tasks.off('task:evicted', this.#onGone)
    this.tasks.off('task:expired', this.#onGone)
    this.tasks.off('task:event', this.#onEvent)
    this.#stopListening?.()
    return Promise.resolve()
  }

  /**
   * Continues the turn of a task whose code is not in memory: its manager was restored, it is a fork, or its last
   * handler was closed.
   */
  continueTurn(taskId: string): void {
    void this.#jobs.run(taskId, async () => {
      try {
        await this.#continue(taskId)
      } catch (error) {
        const task = this.tasks.peekTask(taskId)
        this.#port.settings.onError(error, { during: 'execute', taskId })
        if (task !== null && !isTerminal(task.state))
          this.tasks.patchTask(taskId, { state: 'failed', message: FAILED })
      }
    })
  }

  async #continue(taskId: string): Promise<void> {
    const { registry, begin } = this.#port
    const task = this.tasks.peekTask(taskId)
    if (task?.turn === undefined || isTerminal(task.state)) return
    const open = await readOpenTurn(this.tasks, task)
    if (open === undefined) throw new Error('The journal of this task cannot be read')
    const message = await this.#notes.restore(task, open.message, open.note)
    if (registry.isClosing || registry.runOf(taskId) !== undefined) return
    // A message may have come in between.
    const { state } = this.tasks.peekTask(taskId) ?? { state: 'canceled' }
    if (isTerminal(state)) return
    const hasMessages = registry.queues.has(taskId)
    if (!hasMessages) {
      const unread = unreadMessages(task, open, () => false)
      for (const each of unread) registry.queues.push(taskId, this.#notes.received(task, each, message))
    }
    const isWaiting = isInterrupted(state) && !registry.queues.has(taskId)
    if (isWaiting && !hasOpenWait(open.journal)) return
    begin(continuedWith(message, open), { task, earlier: open, staysWaiting: isWaiting })
  }

  readonly #onEvent = (event: TaskEvent): void => {
    if (isSignal(event)) this.#port.registry.runOf(event.taskId)?.run.turn.onSignal()
  }

  /** A new task with the same id may be worked on already: it keeps its run. */
  readonly #onGone = ({ id, createdAt }: TaskKey): void => {
    const { registry } = this.#port
    const { task = { createdAt } } = registry.runOf(id) ?? {}
    if (task.createdAt === createdAt) registry.drop(id)
    registry.deadlines?.clear({ id, createdAt })
  }
}
