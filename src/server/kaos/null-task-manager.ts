/**
 * The task manager of an agent that has no tasks.
 *
 * @module
 */
import { randomId } from '../../runtime/ids.js'
import { systemClock } from '../../runtime/clock.js'
import type { Task } from '../../core/task.js'
import type { SessionTaskManager } from './session-task-manager.js'

/**
 * Does nothing, and keeps nothing: each text is answered with a completed task that holds nothing of it, whose id finds
 * no task. As KAOS' `NullTaskManager`.
 */
export class NullTaskManager implements SessionTaskManager {
  readonly keepsTasks = false

  /** A stub: `completed`, with a `null_task_…` id, in the session `null-session`. */
  sendMessage(): Promise<Task> {
    const timestamp = new Date(systemClock.now()).toISOString()
    return Promise.resolve({
      id: `null_task_${randomId().slice(0, 8)}`,
      contextId: 'null-session',
      skill: 'default',
      state: 'completed',
      input: null,
      output: null,
      messages: [],
      artifacts: [],
      metadata: {},
      history: [{ state: 'completed', timestamp }],
      generation: 1,
      createdAt: timestamp,
      updatedAt: timestamp,
    })
  }

  getTask(): Promise<null> {
    return Promise.resolve(null)
  }

  cancelTask(): Promise<false> {
    return Promise.resolve(false)
  }

  waitForCompletion(): Promise<null> {
    return Promise.resolve(null)
  }

  shutdown(): Promise<void> {
    return Promise.resolve()
  }
}
