/**
 * The tasks that an inspector shows, from a manager or from a remote agent.
 *
 * @module
 */
import type { Backlog } from '../../core/managers.js'
import type { TaskStreamEvent } from '../../core/events.js'
import type { Lifecycle } from '../../core/lifecycle.js'
import type { TaskChildren } from '../../views/children.js'
import type { DeepReadonly, Part, TaskSnapshot } from '../../core/task.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import type { PushHealth } from '../../server/push/health.js'
import type { ForkOptions } from '../../views/fork.js'
import type { Scope } from '../access.js'

/** Selects tasks of a scope. */
export interface SourceQuery {
  readonly state?: string | undefined
  readonly skill?: string | undefined
  readonly contextId?: string | undefined
  readonly owner?: string | undefined
  readonly updatedSince?: string | undefined
  readonly updatedBefore?: string | undefined
}

/** What counts can select: the states are counted apart, and counts have no end in time. */
export type CountQuery = Omit<SourceQuery, 'state' | 'updatedBefore'>

export interface SourcePage {
  readonly tasks: readonly TaskSnapshot<string>[]
  readonly nextCursor?: string | undefined
}

/**
 * Tasks that have changed and the ids of those that were removed, or, at the beginning and where changes are unknown, a resync:
 * the list is to be read again.
 */
export type Change =
  | {
      readonly type: 'tasks'
      readonly tasks: readonly TaskSnapshot<string>[]
      readonly removed: readonly string[]
    }
  | { readonly type: 'resync' }

export interface Reply {
  /** The task that the message has begun or continued. Absent for a reply without one. */
  readonly taskId?: string
  readonly text?: string
}

export interface OutgoingMessage {
  readonly parts: readonly DeepReadonly<Part>[]
  readonly taskId?: string | undefined
  /** The task whose owner sends the message, where it begins a new one. */
  readonly like?: string | undefined
  readonly contextId?: string | undefined
}

export interface TaskSource {
  readonly lifecycle: Lifecycle<string>
  readonly card: AgentCard | undefined
  page(scope: Scope, query: SourceQuery, pageSize: number, cursor?: string): Promise<SourcePage>
  /** The tasks that have failed for good and were not redriven. */
  deadLetters(scope: Scope, query: SourceQuery, pageSize: number, cursor?: string): Promise<SourcePage>
  /** The number of tasks in each state; `undefined` where it is not known. */
  counts(scope: Scope, query: CountQuery): Promise<Readonly<Record<string, number>> | undefined>
  /** What waits for workers; `undefined` where it is not known, or is not for the person to see. */
  backlog(scope: Scope): Promise<Backlog | undefined>
  /** @throws {A2AError} `TASK_NOT_FOUND`, also for a task outside the scope. */
  task(scope: Scope, taskId: string): Promise<TaskSnapshot<string>>
  events(taskId: string, after: number): Promise<readonly TaskStreamEvent<string>[]>
  follow(taskId: string, after: number, signal: AbortSignal): AsyncIterator<TaskStreamEvent<string>>
  children(scope: Scope, taskId: string): Promise<TaskChildren>
  webhooks(taskId: string): Promise<readonly PushHealth[]>
  changes(scope: Scope, signal: AbortSignal): AsyncIterator<Change>
  send(scope: Scope, message: OutgoingMessage): Promise<Reply>
  cancel(scope: Scope, task: TaskSnapshot<string>): Promise<void>
  redeliver(taskId: string, webhookId: string): Promise<boolean>
  fork(taskId: string, options: ForkOptions): Promise<Reply>
  redrive(taskId: string): Promise<Reply>
  delete(taskId: string): Promise<void>
}
