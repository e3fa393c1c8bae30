/**
 * Messages that the unfinished turn of a recovered task has not read.
 *
 * @module
 */
import type { SharedTasks } from '../../core/managers.js'
import type { Message, TaskSnapshot } from '../../core/task.js'
import type { Principal } from '../caller.js'
import { readOpenTurn, unreadMessages } from '../journal/earlier-attempts.js'
import type { MessageQueues, QueuedMessage } from '../run/message-queue.js'
import type { RequestNotes } from './request-notes.js'

interface UnreadContext<P extends Principal> {
  readonly tasks: SharedTasks
  readonly notes: RequestNotes<P>
}

type Read<P extends Principal> = () => Promise<readonly QueuedMessage<P>[]>

interface Steering<P extends Principal> {
  readonly task: TaskSnapshot
  readonly messages: readonly QueuedMessage<P>[]
}

/** Knows a recovered task until its messages are queued: while the store fails, nothing is forgotten. */
export class UnreadMessages<P extends Principal> {
  readonly #context: UnreadContext<P>
  readonly #queues: MessageQueues<P>
  readonly #reads = new Map<string, Read<P>>()
  readonly #steering = new Map<string, Steering<P>>()

  constructor(context: UnreadContext<P>, queues: MessageQueues<P>) {
    this.#context = context
    this.#queues = queues
  }

  /** @param isSteered - Whether the run finds this message in the conversation. */
  add(task: TaskSnapshot, isSteered: (message: Message) => boolean): void {
    const { tasks, notes } = this.#context
    this.#reads.set(task.id, async () => {
      const open = await readOpenTurn(tasks, task)
      const unread = open === undefined ? [] : unreadMessages(task, open, isSteered)
      return unread.map((message) => notes.received(task, message, undefined))
    })
  }

  /**
   * Adds a message that came to steer a turn whose code is not in memory. The code finds it in the conversation, unless the turn
   * has an open question: it gets the first message in any case.
   *
   * @param task - The task with the message.
   */
  addSteering(task: TaskSnapshot, message: QueuedMessage<P>): void {
    const { messages = [] } = this.#steering.get(task.id) ?? {}
    this.#steering.set(task.id, { task, messages: [...messages, message] })
  }

  /** Whether the task has messages of which it is not known yet whether they are to be queued. */
  has(taskId: string): boolean {
    return this.#reads.has(taskId) || this.#steering.has(taskId)
  }

  delete(taskId: string): void {
    this.#reads.delete(taskId)
    this.#steering.delete(taskId)
  }

  /**
   * Queues the messages of a task that was added, before those that wait already.
   *
   * @throws {A2AError} As a rejection: `STORE_FAILED`.
   */
  async queue(taskId: string): Promise<void> {
    await this.#queueRead(taskId)
    await this.#queueSteering(taskId)
  }

  async #queueSteering(taskId: string): Promise<void> {
    const steering = this.#steering.get(taskId)
    if (steering === undefined) return
    const { task, messages } = steering
    const open = await readOpenTurn(this.#context.tasks, task)
    const answers = open === undefined ? [] : unreadMessages(task, open, () => true)
    // Another may have come, or the task may have been lost.
    if (this.#steering.get(taskId) !== steering) return
    this.#steering.delete(taskId)
    const ids = new Set(answers.map(({ messageId }) => messageId))
    const answering = messages.filter(({ request }) => ids.has(request.message.messageId))
    this.#queues.unshift(taskId, answering)
  }

  async #queueRead(taskId: string): Promise<void> {
    const read = this.#reads.get(taskId)
    if (read === undefined) return
    const unread = await read()
    // The task may have been lost, and recovered again.
    if (this.#reads.get(taskId) !== read) return
    this.#reads.delete(taskId)
    this.#queues.unshift(taskId, unread)
  }
}
