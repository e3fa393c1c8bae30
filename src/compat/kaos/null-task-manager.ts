/**
 * Task manager for agents without tasks.
 *
 * @module
 */
import { randomId } from '../../runtime/ids.js'
import { systemClock } from '../../runtime/clock.js'
import type { Task } from '../../core/task.js'
import type { SessionTaskManager } from './session-task-manager.js'

/** Runs nothing and stores nothing, as KAOS' class of the same name: each text returns a completed, empty task. */
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

  /** Always `null`. */
  getTask(): Promise<null> {
    return Promise.resolve(null)
  }

  /** Always `false`. */
  cancelTask(): Promise<false> {
    return Promise.resolve(false)
  }

  /** Always `null`, at once. */
  waitForCompletion(): Promise<null> {
    return Promise.resolve(null)
  }

  /** Does nothing. */
  shutdown(): Promise<void> {
    return Promise.resolve()
  }
}
