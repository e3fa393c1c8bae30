/**
 * Positions of tasks at their services, as documents beside the tasks: they outlive the process that has sent a message.
 *
 * @module
 */
import type { SharedTasks, TaskDocument } from '../../core/managers.js'
import { keyOf, type TaskKey, type TaskSnapshot } from '../../core/task.js'
import { GATEWAY_END, GATEWAY_TASK } from '../../runtime/document-kinds.js'
import { POSITION, StoredDocument } from '../../remote/stored-document.js'
import type { TaskRef } from '../provider.js'
import type { RegisteredAgent } from '../registry/agent.js'

/** How far the work on a task has come. */
export interface Position {
  readonly agentId: string
  /** The agent's provider when it got the task. The `ref` is meaningless to any other. */
  readonly provider: string
  /** The last message that was sent to the service, or is about to be. */
  readonly messageId: string
  /** Absent until the service reports it. */
  readonly ref?: TaskRef | undefined
  /** How the message is sent. Absent when the service has responded to it. */
  readonly sending?: Sending | undefined
  /** Whether the task waits for an answer, and no process follows it. */
  readonly isWaiting?: boolean | undefined
}

/** What a repeat of a message needs to be the same message. */
interface Sending {
  readonly sendId: string
  /** The conversation that the message continues. */
  readonly previous?: TaskRef | undefined
}

/** Number of tasks of a context that are searched for the conversation to continue. */
const MAX_SEARCHED = 20

export class Positions {
  readonly #tasks: SharedTasks

  constructor(tasks: SharedTasks) {
    this.#tasks = tasks
  }

  /** The position of a task that has not ended at its service, for the process that works on it. */
  open(task: TaskKey): Promise<StoredDocument<Position>> {
    return StoredDocument.open(this.#tasks.documents, task, GATEWAY_TASK)
  }

  /** The position of a task, also of one that has ended. */
  async read(task: TaskKey): Promise<Position | undefined> {
    return (await this.#read(task, GATEWAY_TASK)) ?? (await this.#read(task, GATEWAY_END))
  }

  /** The task has ended at its service: no process has to cancel it there. */
  async end(task: TaskKey, document: StoredDocument<Position>): Promise<void> {
    const { value } = document
    if (value?.ref !== undefined) {
      const key = keyOf(task)
      // Plain JSON, as a `ref` is.
      const { agentId, provider, messageId, ref } = value
      const ended = { agentId, provider, messageId, ref: structuredClone(ref) }
      await this.#tasks.documents.putDocument({ key, kind: GATEWAY_END, id: POSITION, value: ended }, 0)
    }
    await document.delete()
  }

  /**
   * The `ref` of the latest task in the same context, of the same agent and owner: the conversation to continue.
   */
  async previousOf(
    { id, contextId, owner }: Pick<TaskSnapshot, 'id' | 'contextId' | 'owner'>,
    agent: RegisteredAgent,
  ): Promise<TaskRef | undefined> {
    const query = { contextId, owner: owner ?? null, pageSize: MAX_SEARCHED }
    const { tasks } = await this.#tasks.pageTasks(query)
    for (const task of tasks) {
      const ref = task.id === id ? undefined : refAt(agent, await this.read(task))
      if (ref !== undefined) return ref
    }
    return undefined
  }

  async #read(task: TaskKey, kind: string): Promise<Position | undefined> {
    const [document] = await this.#tasks.documents.documents(keyOf(task), kind)
    return document && positionIn(document)
  }
}

export function positionIn({ value }: TaskDocument): Position {
  // All documents of both kinds are positions.
  return value as unknown as Position
}

/** The `ref` of a position, if it is one of this agent's service. */
export function refAt(agent: RegisteredAgent, position: Position | undefined): TaskRef | undefined {
  return isAt(agent, position) ? position?.ref : undefined
}

/** Whether a position is one at this agent's service. */
export function isAt({ id, provider }: RegisteredAgent, position: Position | undefined): boolean {
  return position?.agentId === id && position.provider === provider
}
