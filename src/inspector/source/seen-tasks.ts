/**
 * Memory of the tasks of a remote agent: the states that were seen.
 *
 * @module
 */
import type { TaskSnapshot } from '../../core/task.js'
import type { Clock } from '../../runtime/clock.js'
import { sha256 } from '../../runtime/crypto.js'
import type { RemoteTask } from '../../wire/client/dialect.js'

interface Seen {
  readonly digest: string
  readonly generation: number
  readonly history: TaskSnapshot<string>['history']
}

const MAX_TASKS = 1_000
const MAX_STATES = 50

/** Agents do not show the log of a task. Its states are remembered as they are seen, for a bounded number of tasks. */
export class SeenTasks {
  readonly #clock: Clock
  readonly #seen = new Map<string, Seen>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * The task with the states that were seen of it. Its generation is the number of changes that were seen. A page may know more of
   * them, up to the generation `after`: then it is the next one.
   */
  async see(task: RemoteTask, after: number): Promise<TaskSnapshot<string>> {
    const digest = (await sha256(JSON.stringify(task))).join()
    const { state, updatedAt = new Date(this.#clock.now()).toISOString() } = task
    const known = this.#seen.get(task.id)
    const isKnown = known?.digest === digest && known.generation >= after
    const seen = isKnown ? known : next(known, { digest, state, updatedAt, after })
    this.#seen.delete(task.id)
    this.#seen.set(task.id, seen)
    const [oldest] = this.#seen.keys()
    if (this.#seen.size > MAX_TASKS && oldest !== undefined) this.#seen.delete(oldest)
    const { generation, history } = seen
    const createdAt = history[0]?.timestamp ?? updatedAt
    return { ...snapshotOf(task), generation, history, createdAt, updatedAt }
  }
}

interface Change {
  readonly digest: string
  readonly state: string
  readonly updatedAt: string
  readonly after: number
}

function next(known: Seen | undefined, { digest, state, updatedAt, after }: Change): Seen {
  const { generation = 0, history = [] } = known ?? {}
  const isSame = history.at(-1)?.state === state
  const states = isSame ? history : [...history, { state, timestamp: updatedAt }].slice(-MAX_STATES)
  return { digest, generation: Math.max(generation, after) + 1, history: states }
}

/** Agents need not say when a task has changed. */
const UNKNOWN_TIME = '1970-01-01T00:00:00.000Z'

/** The task as an agent shows it, seen once. */
export function snapshotOf(task: RemoteTask): TaskSnapshot<string> {
  const { id, contextId = '', state, message, artifacts, messages, metadata, updatedAt = UNKNOWN_TIME } = task
  return {
    ...{ id, contextId, state, artifacts, messages, metadata, generation: 1, updatedAt },
    ...(message !== undefined && { message }),
    createdAt: updatedAt,
    skill: '',
    input: null,
    output: null,
    history: [{ state, timestamp: updatedAt }],
  }
}
