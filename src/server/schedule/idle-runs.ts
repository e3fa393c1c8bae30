/**
 * Runs that wait: for how long they stay in memory, and what becomes of them when the agent closes.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { yieldToEventLoop } from '../../runtime/timers.js'
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
    if (registry.isClosing) void this.end(active)
    else if (isShared(settings.tasks)) this.#letGoLater(active)
  }

  /**
   * Ends the waiting of a run, because the agent is closing. What its code does in this tick comes first: until then, it may only
   * seem to wait.
   */
  async end(active: ActiveRun<P>): Promise<void> {
    const { registry, handsOver } = this.#context
    const { turn } = active.run
    await yieldToEventLoop()
    if (!registry.has(active)) return
    if ((handsOver() || turn.hasWaits) && this.#mayLetGo(active)) this.#letGo(active)
    // Code that catches the reason may end its task, which another process would continue.
    else if (turn.isAsking && !handsOver()) active.run.abort(unavailable())
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
