/**
 * A task's events as they come, to be read at the reader's own pace.
 *
 * @module
 */
import { ended } from './errors.js'
import type { TaskStreamEvent } from './events.js'
import { read, takeGeneration, takeSignal } from './intake.js'
import { freezeDeep } from './json.js'
import type { TaskState } from './lifecycle.js'
import type { TaskRecord } from './task-record.js'

export interface SubscribeOptions {
  /**
   * The generation of the last event that the reader has: the next one yielded is the one after it. Default is none:
   * the subscription begins with a `snapshot` of the task.
   */
  readonly after?: number | undefined
  /** Ends the subscription when it aborts. */
  readonly signal?: AbortSignal | undefined
}

/** The events of one task. `return()` ends it, also while `next()` waits. */
export interface TaskSubscription<S extends string = TaskState> extends AsyncIterableIterator<
  TaskStreamEvent<S>
> {
  next: () => Promise<IteratorResult<TaskStreamEvent<S>, undefined>>
  return: () => Promise<IteratorResult<TaskStreamEvent<S>, undefined>>
}

/** What comes after `cursor`: an event, the whole task where that event is no longer held, or nothing yet. */
export function entryAfter<S extends string>(
  record: TaskRecord<S>,
  cursor: number,
  logSize: number,
): TaskStreamEvent<S> | undefined {
  const { task } = record
  if (cursor === task.generation) return undefined
  const event = record.log.at(cursor + 1, task, logSize)
  return event === undefined ? caughtUp('resync', record) : freezeDeep(event)
}

function caughtUp<S extends string>(type: 'snapshot' | 'resync', record: TaskRecord<S>): TaskStreamEvent<S> {
  const task = record.show()
  return Object.freeze({
    type,
    taskId: task.id,
    generation: task.generation,
    timestamp: task.updatedAt,
    task,
  })
}

/**
 * Reads the record's log from a cursor. The log is the only buffer there is: a reader costs nothing while he is slow,
 * and gets a `resync` when the log has moved past him.
 */
export function subscribeTo<S extends string>(
  record: TaskRecord<S>,
  isTerminal: (state: S) => boolean,
  logSize: number,
  options: SubscribeOptions,
): TaskSubscription<S> {
  const given = read(options, ['after', 'signal'], 'subscribe')
  const after = takeGeneration(given.after, 'after')
  const signal = takeSignal(given.signal)
  let stopped = false
  let wake = (): void => {}
  const stop = (): void => {
    stopped = true
    record.followers?.wakers.delete(wake)
    wake()
  }

  async function* readLog(): AsyncGenerator<TaskStreamEvent<S>, undefined> {
    signal?.addEventListener('abort', stop, { once: true })
    try {
      let cursor = after
      // It may have aborted before the first read, and fires but once.
      while (!stopped && !signal?.aborted) {
        const entry =
          cursor === undefined ? caughtUp('snapshot', record) : entryAfter(record, cursor, logSize)
        if (entry !== undefined) {
          cursor = entry.generation
          yield entry
        } else if (isTerminal(record.task.state)) return
        else if (record.over !== undefined) throw ended(record.over, record.task.id)
        else {
          await new Promise<void>((resolve) => {
            wake = resolve
            record.follow().wakers.add(wake)
          })
        }
      }
    } finally {
      signal?.removeEventListener('abort', stop)
    }
  }

  const events = readLog()
  return {
    next: () => events.next(),
    // A generator that waits would only hear of this when the next event wakes it.
    return: () => {
      stop()
      return events.return(undefined)
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
