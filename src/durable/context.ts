/**
 * The collaborators that the parts of one durable manager share.
 *
 * @module
 */
import type { TaskCommand } from '../core/commands.js'
import { decide } from '../core/decide.js'
import type { Timeline } from '../core/timeline.js'
import type { Decide } from './cache/change.js'
import type { ChangeWatcher } from './cache/change-watcher.js'
import type { TaskCache } from './cache/task-cache.js'
import type { Listing } from './listing.js'
import type { DurableSettings } from './options.js'
import type { StoreClient } from './store-client.js'

export interface DurableContext<S extends string> {
  readonly settings: DurableSettings<S>
  readonly timeline: Timeline
  readonly storeClient: StoreClient
  readonly cache: TaskCache<S>
  readonly watcher: ChangeWatcher<S>
  readonly listing: Listing<S>
  /** Makes the function that decides a command. It reads the clock each time it is called. */
  readonly decideFor: (command: TaskCommand<S>) => Decide<S>
}

/** The clocks of processes differ, so events are stamped no earlier than the task's latest one. */
export function decider<S extends string>(
  settings: DurableSettings<S>,
  timeline: Timeline,
): DurableContext<S>['decideFor'] {
  return (command) =>
    ({ task, usage }) => {
      const { iso } = timeline.now()
      return decide(task, command, settings, usage, iso < task.updatedAt ? task.updatedAt : iso)
    }
}
