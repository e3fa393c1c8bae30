/**
 * Task manager for agents without tasks.
 *
 * @module
 */
import { randomId } from '../../runtime/ids.js'
import { systemClock } from '../../runtime/clock.js'
import type { Task } from '../../core/task.js'
import type { SessionTaskManager } from './session-task-manager.js'

/**
 * Discards every text and answers it with a completed, empty task that is not stored. Does what KAOS' `NullTaskManager`
 * does.
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
