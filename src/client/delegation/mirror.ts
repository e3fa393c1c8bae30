/**
 * Local copies of the tasks that a client of one agent starts there.
 *
 * @module
 */
import type { JsonValue } from '../../core/json-types.js'
import { systemClock } from '../../runtime/clock.js'
import type { Connection } from '../connection/connection.js'
import { Run } from '../run/run.js'
import type { RunHandle } from '../../remote/runner.js'
import { inNote, isShared, leaseAs, letGo } from '../../remote/leases.js'
import { replicateRun, TaskReplicator } from './local-copy.js'
import type { ClientTasks } from './positions.js'

/**
 * Keeps the copies in `tasks`. In a store, this process holds their leases until they end. When it dies, another process
 * with a client of the same agent follows their tasks to the end.
 */
export function mirrorIn(tasks: ClientTasks, connection: Connection): TaskReplicator {
  const agent = connection.card.name
  if (!isShared(tasks)) return new TaskReplicator(tasks, agent)
  const leased = leaseAs(tasks, `copy/${agent}`, ({ id }, note) => {
    const handle = handleIn(note)
    if (handle === undefined) void letGo(leased, id, systemClock)
    else follow(id, handle)
  })
  const replicator = new TaskReplicator(leased, agent, (id) => void letGo(leased, id, systemClock))
  const follow = (localId: string, handle: RunHandle): void => {
    const replica = replicator.startCall(undefined, { localId })
    // Results are in the copy. No caller waits for others.
    replicateRun(replica, {}, (options) => new Run(connection, handle, options).drive(undefined)).catch(
      () => undefined,
    )
  }
  return replicator
}

/** The handle in a note of `TaskReplicator`. */
function handleIn(note: JsonValue | undefined): RunHandle | undefined {
  // All notes of these workers are made by `TaskReplicator`.
  return inNote(note, 'handle') as RunHandle | undefined
}
