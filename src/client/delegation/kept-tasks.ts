/**
 * Tasks that a client keeps in its `taskManager`: copies of those at its agent, and those that it delegates.
 *
 * The client loads this module on demand.
 *
 * @module
 */
import type { Message } from '../../core/task.js'
import type { Connection } from '../connection/connection.js'
import type { RunOptions, RunResult } from '../run/run-types.js'
import { DelegationManager, type ClientFactory, type DelegationSettings } from './delegation.js'
import type { ClientTasks } from './positions.js'
import { replicateRun, type TaskReplicator } from './local-copy.js'
import { mirrorIn } from './mirror.js'

export class KeptTasks {
  readonly delegation: DelegationManager
  /** Absent for a client of no agent. */
  readonly replicator: TaskReplicator | undefined

  constructor(
    tasks: ClientTasks,
    connection: Connection | undefined,
    factory: ClientFactory,
    settings: DelegationSettings,
  ) {
    this.delegation = new DelegationManager(tasks, factory, settings)
    this.replicator = connection && mirrorIn(tasks, connection)
  }

  /** Runs a task at the agent, and keeps a copy of it. */
  async run(
    message: Message | undefined,
    options: RunOptions,
    start: (options: RunOptions) => Promise<RunResult>,
  ): Promise<RunResult> {
    const replica = this.replicator?.startCall(message, {})
    return await (replica === undefined ? start(options) : replicateRun(replica, options, start))
  }
}
