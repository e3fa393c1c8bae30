import type { TaskEvent } from 'a2a-tasks'
import { DurableTaskManager, memoryStore, type Commit, type TaskStore } from 'a2a-tasks/durable'
import { ManualClock } from 'a2a-tasks/testing'
import { faultyStore, gate } from '../../support/faulty-store.js'
import { turn } from './durable.js'

/** Numbers from 0 up to 1 that follow from a seed. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

export interface Play {
  readonly store: TaskStore
  readonly clock: ManualClock
  readonly managers: readonly DurableTaskManager[]
  /** How far the store has got with each task. */
  readonly committed: ReadonlyMap<string, number>
  /** Has something begun at some moment of the play. */
  readonly begin: (job: () => Promise<unknown>) => void
  /** Plays until all that was begun has settled. */
  readonly end: () => Promise<void>
  /** From now on nothing fails. */
  readonly heal: () => void
}

export interface PlayOptions {
  readonly seed: number
  readonly managers: number
  /** How many of a hundred steps fail, before or after they were taken; and as many hints are lost, or doubled. */
  readonly faults: number
  readonly eventLogSize?: number
}

/** Managers over one store whose every step waits for its turn, which comes in an order that the seed says. */
export function play({ seed, managers: count, faults, eventLogSize = 1000 }: PlayOptions): Play {
  const random = randomOf(seed)
  const clock = new ManualClock()
  const store = memoryStore({ now: () => clock.now() })
  const committed = new Map<string, number>()
  const waiting: (() => void)[] = []
  const jobs: (() => Promise<unknown>)[] = []
  let rate = faults
  let running = 0
  const isFaulty = (): boolean => random() * 100 < rate
  const pass = async (): Promise<void> => {
    const { opened, open } = gate()
    waiting.push(open)
    await opened
    if (isFaulty()) throw new Error('The connection is gone')
  }
  const shared = faultyStore(store, {
    before: pass,
    after: (step, args, result) => {
      if (step === 'commit' || step === 'create') note(committed, args, result)
      return pass()
    },
    hint: (taskIds) => (isFaulty() ? [] : isFaulty() ? [...taskIds, ...taskIds] : taskIds),
  })
  const onError = (): void => undefined
  const options = { store: shared, clock, eventLogSize, storeRetryMs: 60_000, onError }
  const managers = Array.from({ length: count }, () => new DurableTaskManager(options))
  const moveOn = (): void => {
    if (jobs.length > 0 && (waiting.length === 0 || random() < 0.15)) {
      running += 1
      const done = (): void => void (running -= 1)
      jobs
        .splice(Math.floor(random() * jobs.length), 1)[0]?.()
        .then(done, done)
    } else if (waiting.length > 0 && random() > 0.05) {
      waiting.splice(Math.floor(random() * waiting.length), 1)[0]?.()
    } else {
      clock.advance(500)
    }
  }
  const end = async (): Promise<void> => {
    for (let moves = 0; jobs.length > 0 || running > 0; moves += 1) {
      if (moves > 100_000) throw new Error('It hangs')
      moveOn()
      // What happens in one turn of the runtime, and what within one microtask of another, is up to chance, too.
      if (random() < 0.4) await turn()
      else
        for (let microtasks = Math.floor(random() * 8); microtasks > 0; microtasks -= 1)
          await Promise.resolve()
    }
  }
  const heal = (): void => void (rate = 0)
  return { store, clock, managers, committed, begin: (job) => jobs.push(job), end, heal }
}

function note(committed: Map<string, number>, [given]: readonly unknown[], result: unknown): void {
  if (result !== true && result !== 'committed') return
  // What `create` and `commit` take have these in common.
  const { head } = given as Commit
  committed.set(head.id, Math.max(head.generation, committed.get(head.id) ?? 0))
}

/** The number that a change carries, by the events that came of it. */
export function markOf(event: TaskEvent): string | undefined {
  if (event.type === 'message') return event.message.parts[0]?.text
  if (event.type === 'artifact') return event.artifact.parts?.[0]?.text
  if (event.type === 'status' && typeof event.message === 'string') return event.message
  return undefined
}
