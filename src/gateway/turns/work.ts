/**
 * Interface of the work on tasks: in memory, or over a store that other processes may share.
 *
 * @module
 */
import type { MaybePromise } from '../../core/managers.js'
import type { MessageInput } from '../../core/params.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { RegisteredAgent } from '../registry/agent.js'
import type { TaskRef } from '../provider.js'
import type { HandleContents } from './handle.js'
import type { SendTaskOptions, WorkOptions } from './input.js'
import type { Turn } from './turn.js'
import type { Turns } from './turns.js'

/** A turn that has begun. */
export interface BegunTurn {
  readonly taskId: string
  readonly turn: Turn
}

/** Where a task is. */
export interface LocatedTask {
  readonly agent: RegisteredAgent
  readonly ref: TaskRef
}

export interface Work {
  readonly turns: Turns
  /** Sends a message of a caller of the gateway. See `A2AGateway.sendTask`. */
  begin(
    agentId: string,
    message: MessageInput,
    options: SendTaskOptions,
    mode: 'send' | 'stream',
  ): MaybePromise<BegunTurn>
  /** Resolves when the changes of this process to the task are stored, or dropped. */
  stored(taskId: string): Promise<void> | undefined
  /** See `A2AGateway.workOn`. */
  workOn(agentId: string, message: TaskSnapshot['messages'][number], options: WorkOptions): Promise<void>
  /** Cancels a task if it has not ended. Never throws or rejects. */
  cancelLive(taskId: string): MaybePromise<void>
  /** Resumes a task by its handle, and returns its id. */
  resume(contents: HandleContents): Promise<string>
  /** Polls the service of an interrupted task. */
  refresh(taskId: string): Promise<void>
  /** Where the task is, if its agent and its `ref` are known. */
  locate(task: TaskSnapshot): MaybePromise<LocatedTask | undefined>
  /** The id of the task's agent, as far as this process knows it. */
  agentOf(taskId: string): string | undefined
  /** The id of the task's agent. */
  readAgentOf(taskId: string): MaybePromise<string | undefined>
  close(graceMs: number): Promise<void>
}
