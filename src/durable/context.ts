/**
 * What the parts of a durable manager share.
 *
 * @module
 */
import type { TaskCommand } from '../core/commands.js'
import { decide } from '../core/decide.js'
import type { Timeline } from '../core/timeline.js'
import type { Decide } from './cache/change.js'
import type { Mirrors } from './cache/task-cache.js'
import type { DurableSettings } from './options.js'
import type { StoreAccess } from './store-client.js'
import type { MirrorHost } from './cache/cached-task.js'
import type { Watch } from './cache/change-watcher.js'

export interface Workshop<S extends string> {
  readonly settings: DurableSettings<S>
  readonly timeline: Timeline
  readonly access: StoreAccess
  readonly mirrors: Mirrors<S>
  readonly watch: Watch<S>
  readonly host: MirrorHost<S>
  /** What the core makes of a command, at the time when it is asked. */
  readonly decideFor: (command: TaskCommand<S>) => Decide<S>
}

/** The clocks of replicas differ: time never runs backwards in a task's log. */
export function decider<S extends string>(
  settings: DurableSettings<S>,
  timeline: Timeline,
): Workshop<S>['decideFor'] {
  return (command) =>
    ({ task, usage }) => {
      const { iso } = timeline.now()
      return decide(task, command, settings, usage, iso < task.updatedAt ? task.updatedAt : iso)
    }
}
