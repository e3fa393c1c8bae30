/**
 * Messages that the unfinished turn of a recovered task has not read.
 *
 * @module
 */
import type { SharedTasks } from '../../core/managers.js'
import type { Message, TaskSnapshot } from '../../core/task.js'
import type { Principal } from '../caller.js'
import { readOpenTurn, unreadMessages } from './earlier-attempts.js'
import type { MessageQueues, QueuedMessage } from '../runs/message-queue.js'
import type { RequestNotes } from '../runs/request-notes.js'

interface UnreadContext<P extends Principal> {
  readonly tasks: SharedTasks
  readonly notes: RequestNotes<P>
}

type Read<P extends Principal> = () => Promise<readonly QueuedMessage<P>[]>

/** Knows a recovered task until its messages are queued: while the store fails, nothing is forgotten. */
export class UnreadMessages<P extends Principal> {
  readonly #context: UnreadContext<P>
  readonly #queues: MessageQueues<P>
  readonly #reads = new Map<string, Read<P>>()

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

  /** Whether the task was recovered, and its messages are not queued yet. */
  has(taskId: string): boolean {
    return this.#reads.has(taskId)
  }

  delete(taskId: string): void {
    this.#reads.delete(taskId)
  }

  /**
   * Queues the messages of a task that was added, before those that wait already.
   *
   * @throws {A2AError} As a rejection: `STORE_FAILED`.
   */
  async queue(taskId: string): Promise<void> {
    const read = this.#reads.get(taskId)
    if (read === undefined) return
    const unread = await read()
    // The task may have been lost, and recovered again.
    if (this.#reads.get(taskId) !== read) return
    this.#reads.delete(taskId)
    this.#queues.unshift(taskId, unread)
  }
}
