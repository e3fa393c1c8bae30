/** Tasks on three replicas whose processes and stores are killed at random. */
import { setTimeout as delay } from 'node:timers/promises'
import type { TaskStore } from '../../../src/durable/index.js'
import type { TaskSnapshot } from '../../../src/index.js'
import { faultsOf, runTasks } from './chaos.js'
import { Cluster } from './cluster.js'
import { openStore } from './stores.js'

const CONCURRENCY = 40
/** Once in so many kills the server is restarted, too. */
const RESTART_EVERY = 6

interface Disturbance {
  /** As `openStore` knows them. */
  readonly name: string
  readonly url: string
  readonly replicas: number
  readonly killEveryMs: number
  /** Whether there were enough tasks and kills. */
  readonly isEnough: (counts: { readonly tasks: number; readonly kills: number }) => boolean
  /** How a replica ends: by SIGKILL, unless told otherwise, or after it has handed its work over. */
  readonly end?: 'SIGKILL' | 'stop'
  /** Restarts the server of the store, where it has one. */
  readonly restart?: () => Promise<void>
}

interface Outcome {
  /** What is wrong with any task. */
  readonly faults: readonly string[]
  readonly kills: number
  /** How many tasks there were, and what became of them. */
  readonly ends: Readonly<Record<string, number>>
}

/** Each by SIGKILL. */
export const MIN_KILLS = 15
/** How many tasks are enough: 2,000, or `CHAOS_TASKS`. */
export const TASKS = Number(process.env['CHAOS_TASKS'] ?? 2_000)

export async function disturb({ name, url, end = 'SIGKILL', ...how }: Disturbance): Promise<Outcome> {
  const recover = end === 'stop' ? 'resume' : 'fail'
  const cluster = await Cluster.start(how.replicas, { STORE: name, STORE_URL: url, RECOVER: recover })
  const over = new AbortController()
  const killing = (async () => {
    for (let count = 1; !over.signal.aborted; count += 1) {
      await delay(how.killEveryMs * (0.5 + Math.random()))
      await Promise.all([cluster.replace(end), count % RESTART_EVERY === 0 ? how.restart?.() : undefined])
    }
  })()
  const isEnough = (tasks: number): boolean => how.isEnough({ tasks, kills: cluster.kills })
  const records = await runTasks({ isEnough, concurrency: CONCURRENCY, cluster }).finally(() => {
    over.abort()
  })
  await killing
  const { store, close } = await openStore(name, url)
  try {
    await allRecovered(store)
    await cluster.stop()
    const byTask = new Map(
      records.flatMap((record) => (record.taskId === undefined ? [] : [[record.taskId, record]])),
    )
    const faults: string[] = []
    const ends: Record<string, number> = {}
    let after: TaskSnapshot<string> | undefined
    for (;;) {
      const page = await store.list({ after, limit: 200 })
      for (const { checkpoint } of page) {
        faults.push(...(await faultsOf(store, checkpoint, byTask.get(checkpoint.id))))
        const end = endOf(checkpoint)
        ends[end] = (ends[end] ?? 0) + 1
        byTask.delete(checkpoint.id)
      }
      after = page.at(-1)?.checkpoint
      if (page.length < 200) break
    }
    faults.push(...[...byTask.keys()].map((id) => `${id}: was acknowledged, and is not there`))
    return { faults: faults.slice(0, 20), kills: cluster.kills, ends }
  } finally {
    await close()
  }
}

/** The state, with the reason of a failure. */
function endOf({ state, message }: TaskSnapshot<string>): string {
  return state === 'failed' ? `failed: ${JSON.stringify(message)}` : state
}

/** Orphans are found by those that live: also those that no client knows of. */
async function allRecovered(store: TaskStore): Promise<void> {
  for (let tries = 0; tries < 300; tries += 1) {
    const keys = await store.unended('9999-01-01T00:00:00.000Z', 10_000)
    const tasks = await Promise.all(keys.map(({ id }) => store.get(id)))
    const isWorking = tasks.some((stored) => {
      const last = stored?.events.findLast((event) => event.type === 'status')
      const state = last?.type === 'status' ? last.to : stored?.checkpoint.state
      return state === 'submitted' || state === 'working'
    })
    if (!isWorking) return
    await delay(100)
  }
}
