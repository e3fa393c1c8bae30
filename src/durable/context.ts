/**
 * The collaborators that the parts of one durable manager share.
 *
 * @module
 */
import type { TaskCommand } from '../core/commands.js'
import { decide } from '../core/decide.js'
import { Timeline } from '../core/timeline.js'
import type { Decide } from './cache/change.js'
import { Proposals } from './cache/proposals.js'
import { ChangeWatcher } from './cache/change-watcher.js'
import { TaskCache } from './cache/task-cache.js'
import { Listing } from './listing.js'
import { Observers } from './observers.js'
import { toDurableSettings, type DurableSettings, type DurableTaskManagerOptions } from './options.js'
import { StoreClient } from './store-client.js'

export interface DurableContext<S extends string> {
  readonly settings: DurableSettings<S>
  readonly timeline: Timeline
  readonly storeClient: StoreClient
  readonly cache: TaskCache<S>
  readonly proposals: Proposals<S>
  readonly watcher: ChangeWatcher<S>
  readonly listing: Listing<S>
  readonly observers: Observers<S>
  /** Makes the function that decides a command. It reads the clock each time it is called. */
  readonly decideFor: (command: TaskCommand<S>) => Decide<S>
}

/** @throws {RangeError | TypeError} naming the invalid option. */
export function durableContext<S extends string>(options: DurableTaskManagerOptions<S>): DurableContext<S> {
  const settings = toDurableSettings(options)
  const timeline = new Timeline(settings.clock)
  const storeClient = new StoreClient(settings)
  const observers = new Observers<S>()
  const cache = new TaskCache(settings, storeClient, observers)
  const proposals = new Proposals<S>(() => observers.bind())
  cache.on('changed', (cached) => proposals.confirm(cached))
  cache.on('gone', (cached) => proposals.discard(cached))
  return {
    settings,
    timeline,
    storeClient,
    cache,
    proposals,
    watcher: new ChangeWatcher(settings, storeClient, cache, timeline),
    listing: new Listing(settings, storeClient),
    observers,
    decideFor: decider(settings, timeline),
  }
}

/** The clocks of processes differ, so events are stamped no earlier than the task's latest one. */
function decider<S extends string>(
  settings: DurableSettings<S>,
  timeline: Timeline,
): DurableContext<S>['decideFor'] {
  return (command) =>
    ({ task, usage }) => {
      const { iso } = timeline.now()
      return decide(task, command, settings, usage, iso < task.updatedAt ? task.updatedAt : iso)
    }
}
