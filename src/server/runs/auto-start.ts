/**
 * Runs that have just begun, and may still answer without a task.
 *
 * @module
 */
import type { Clock } from '../../runtime/clock.js'
import type { TaskRun } from './run-controller.js'
import type { Principal } from '../caller.js'

/** As soon as an executor waits for something, whoever asked gets a task meanwhile. One timer for all runs. */
export class Openings<P extends Principal> {
  readonly #clock: Clock
  readonly #undecided = new Set<TaskRun<P>>()
  #isOpeningSoon = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(run: TaskRun<P>): void {
    this.#undecided.add(run)
    if (this.#isOpeningSoon) return
    this.#isOpeningSoon = true
    this.#clock.schedule(() => {
      this.#isOpeningSoon = false
      const runs = [...this.#undecided]
      this.#undecided.clear()
      for (const each of runs) open(each)
    }, 0)
  }

  delete(run: TaskRun<P>): void {
    this.#undecided.delete(run)
  }
}

function open<P extends Principal>(run: TaskRun<P>): void {
  try {
    run.openUnlessReplying()
  } catch (error) {
    // No room for the task, or none for its message.
    run.decision.giveUp(error as Error)
  }
}
