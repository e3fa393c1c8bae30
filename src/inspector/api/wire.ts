/**
 * Tasks and events as clients receive them, in each version of the protocol.
 *
 * @module
 */
import { invalidParams } from '../../core/errors.js'
import type { TaskStreamEvent } from '../../core/events.js'
import { A2A_LIFECYCLE, type TaskState } from '../../core/lifecycle.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { Dialect, StreamEntry } from '../../wire/dialect.js'
import { v0_3 } from '../../wire/v0-3/dialect.js'
import { outputEvent } from '../../wire/view.js'
import { v1 } from '../../wire/v1/dialect.js'

export interface WireView {
  readonly version: string
  /** The result of `GetTask`. */
  readonly task: unknown
  /** The event of a stream; `null` where clients receive none. */
  readonly event: unknown
}

const DIALECTS: readonly Dialect[] = [v1(), v0_3()]

/** @throws {A2AError} `INVALID_PARAMS` for an unknown version. */
export function wireView(
  version: string,
  task: TaskSnapshot<string>,
  event: TaskStreamEvent<string> | undefined,
): WireView {
  const dialect = DIALECTS.find((each) => each.version === version)
  if (dialect === undefined) throw invalidParams('version', 'must be 1.0 or 0.3')
  const shown = shownTask(task)
  const entry = event && entryOf(event, shown)
  return {
    version,
    task: dialect.rpc.GetTask?.encode({ task: shown }) ?? null,
    event: entry === undefined ? null : (dialect.rpc.SubscribeToTask?.encode(entry) ?? null),
  }
}

/** Clients see states of another lifecycle as `working`. */
function shownTask(task: TaskSnapshot<string>): TaskSnapshot {
  return { ...task, state: shownState(task.state), history: [] }
}

function shownState(state: string): TaskState {
  return A2A_LIFECYCLE.states.find((known) => known === state) ?? 'working'
}

function entryOf(event: TaskStreamEvent<string>, task: TaskSnapshot): StreamEntry | undefined {
  const last = A2A_LIFECYCLE.terminal.includes(task.state)
  const { contextId } = task
  const source = { task: () => task }
  switch (event.type) {
    case 'created':
    case 'snapshot':
    case 'resync':
      return { type: 'task', task, last, isResync: event.type === 'resync' }
    case 'status': {
      const status = { ...event, from: shownState(event.from), to: shownState(event.to) }
      return { type: 'status', contextId, event: status, last, source }
    }
    case 'artifact':
      return { type: 'artifact', contextId, event, last, source }
    case 'output':
      return { type: 'artifact', contextId, event: outputEvent(event), last, source }
    case 'message':
    case 'journal':
      return undefined
  }
}
