/** Faults of the past, to put back. */
import { WITH_WORKERS } from './schedule.js'
import type { Mutation } from './workers.js'

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'ids of what a step writes come from a counter of the turn',
    changes: [
      {
        file: 'server/journal/writes/turn-ids.ts',
        text: 'if (scope !== undefined) return this.#derived(scope.count(kind), kind, scope.label)',
        by: '',
      },
      {
        file: 'server/journal/writes/turn-ids.ts',
        text: 'if (this.#made.has(id) || !this.#isFree(id)) continue',
        by: '',
      },
    ],
  },
  {
    name: 'a step that is tried again undoes what parallel steps have written',
    changes: [
      {
        file: 'core/history/artifact-ledger.ts',
        text: 'for (const [, { tracked, written }] of this.#ofStep(step)) for (const each of written) undo(tracked, each)',
        by: 'if (step) this.undoAll((written) => written.step !== undefined)',
      },
    ],
  },
  {
    name: 'an agent that ends while the run leaves the memory continues nothing',
    changes: [
      {
        file: 'server/schedule/lease-scheduler.ts',
        text: '!this.#followed.hasEnded(task.id) && isToPark(',
        by: 'isToPark(',
      },
    ],
  },
  {
    name: 'what a dead process wrote in a step stays beside what the next one writes',
    changes: [
      {
        file: 'core/history/artifact-ledger.ts',
        text: 'for (const [id, base] of stale) this.#tracked.set(',
        by: 'if (stale.size < 0) for (const [id, base] of stale) this.#tracked.set(',
      },
    ],
  },
  {
    name: 'a turn that is handed out has no beginning in the log',
    from: WITH_WORKERS,
    changes: [
      {
        file: 'server/schedule/run-manager.ts',
        text: 'this.#scheduler.tasks.recordJournal?.(active.run.taskId, [turnOf(active.message)])',
        by: '',
      },
    ],
  },
  {
    name: 'parallel code does not wait for branches that were faster before',
    changes: [
      {
        file: 'server/journal/journal.ts',
        text: 'const mayWait = isParallel || hasBranches',
        by: 'const mayWait = false',
      },
    ],
  },
]
