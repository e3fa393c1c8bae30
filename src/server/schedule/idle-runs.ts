/**
 * Runs that wait: for how long they stay in memory, and what becomes of them when the agent closes.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { Principal } from '../caller.js'
import type { Settings } from '../options.js'
import type { ActiveRun } from './active-run.js'
import type { RunRegistry } from './run-registry.js'
import { isShared } from '../tasks.js'
import { unavailable } from '../unavailable.js'

interface IdleContext<P extends Principal> {
  readonly settings: Settings<P>
  readonly registry: RunRegistry<P>
  /** Whether another process continues the work that is unfinished here. */
  readonly handsOver: () => boolean
  /** Ends the run's claim on its task, whose turn continues without it. */
  readonly release: (active: ActiveRun<P>) => void
}

export class IdleRuns<P extends Principal> {
  readonly #context: IdleContext<P>

  constructor(context: IdleContext<P>) {
    this.#context = context
  }

  /** The run waits, for the user or something else. */
  onWaiting(active: ActiveRun<P>): void {
    const { settings, registry } = this.#context
    // What the code asks for in this tick comes first: it is recorded with the question.
    if (registry.isClosing) active.stopTimer = settings.clock.schedule(() => this.end(active), 0)
    else if (isShared(settings.tasks)) this.#letGoLater(active)
  }

  /** Ends the waiting of a run, because the agent is closing. */
  end(active: ActiveRun<P>): void {
    const { run } = active
    if (run.turn.hasWaits && this.#mayLetGo(active)) this.#letGo(active)
    else if (run.turn.isAsking) run.abort(unavailable())
  }

  /** Lets go of a run that only waits: its turn continues from the journal, in any process. */
  #letGoLater(active: ActiveRun<P>): void {
    const { clock, limits } = this.#context.settings
    const { run } = active
    const { wakeAt } = run.turn
    if (wakeAt !== undefined && wakeAt <= clock.now() + limits.waitingRunMs) return
    // One that only sleeps, for longer, is let go at once.
    const isAsleep = !run.turn.isAsking && wakeAt !== undefined && wakeAt !== Infinity
    active.stopTimer = clock.schedule(() => this.#letGo(active), isAsleep ? 0 : limits.waitingRunMs)
  }

  /** A run that follows an agent keeps the lease, and hands it over in the end. */
  #mayLetGo({ run: { turn } }: ActiveRun<P>): boolean {
    const { settings, handsOver } = this.#context
    return isShared(settings.tasks) && turn.wakeAt !== undefined && (!turn.hasFollowers || handsOver())
  }

  #letGo(active: ActiveRun<P>): void {
    const { registry, release } = this.#context
    const { run, task } = active
    const { wakeAt, hasWaits, isAsking, isAskedByAgent, parts } = run.turn
    if (task === undefined || wakeAt === undefined || !this.#mayLetGo(active)) return
    if (registry.runOf(task.id) !== active) return
    const { signals } = parts.waits
    active.isLetGo = true
    const isBesideOthers = isAsking || signals.length > 0
    if (!isAsking || hasWaits) active.parked = { wakeAt, signals, isAsking, isBesideOthers, isAskedByAgent }
    const reason = new A2AError('LEASE_LOST', 'The run was let go while it waited', { taskId: task.id })
    active.followers = run.letGo(reason)
    release(active)
  }
}
