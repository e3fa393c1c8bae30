/**
 * Creation of tasks for executors that wait before they report anything.
 *
 * @module
 */
import { withKeepAlive, type Clock } from '../../runtime/clock.js'
import type { RunController } from '../run/run-controller.js'
import type { Principal } from '../caller.js'

/**
 * Creates the task of each new run that is still undecided between a task and a reply after the current macrotask, so
 * that clients get a task while the executor waits. One timer serves all runs.
 */
export class AutoStart<P extends Principal> {
  readonly #clock: Clock
  readonly #undecided = new Set<RunController<P>>()
  #isScheduled = false

  constructor(clock: Clock) {
    // A client waits for the task.
    this.#clock = withKeepAlive(clock)
  }

  add(run: RunController<P>): void {
    this.#undecided.add(run)
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#clock.schedule(() => {
      this.#isScheduled = false
      const runs = [...this.#undecided]
      this.#undecided.clear()
      for (const each of runs) startTask(each)
    }, 0)
  }

  delete(run: RunController<P>): void {
    this.#undecided.delete(run)
  }
}

function startTask<P extends Principal>(run: RunController<P>): void {
  try {
    run.startUnlessReplying()
  } catch (error) {
    // The manager is full, or the message exceeds the conversation's limit. The client is refused, so the work ends.
    run.response.reject(error as Error)
    run.abort(error as Error)
  }
}
