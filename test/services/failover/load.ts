/** Tasks at several managers of one store while its servers fail, and what must hold of every task after. */
import { setTimeout as delay } from 'node:timers/promises'
import { A2AClient } from '../../../src/client/index.js'
import { DurableTaskManager, type TaskStore } from '../../../src/durable/index.js'
import { unfold } from '../../../src/durable/cache/checkpoint.js'
import { A2A_LIFECYCLE, canTransition, type TaskSnapshot } from '../../../src/index.js'
import { createRequestHandler, textOf, type Execute, type Run } from '../../../src/server/index.js'
import { faultsOf } from '../replicas/chaos.js'

interface LoadOptions {
  /** Of each manager. The first is read in the end. */
  readonly stores: readonly TaskStore[]
  readonly execute?: Execute
  /** Fails the servers. `more` resolves when so many more tasks have ended. The load ends with it. */
  readonly during: (more: (tasks: number) => Promise<void>) => Promise<void>
}

export interface Outcome {
  /** What is wrong with any task of the store. */
  readonly faults: readonly string[]
  /** The tasks whose end a client has seen, and that are not there, or have not ended so. */
  readonly lost: readonly string[]
  /** What clients were told in place of an end. */
  readonly errors: readonly string[]
  readonly ended: number
}

const CONCURRENCY = 12
const PAGE = 200
/** How long the managers may be kept from ending tasks. */
const LIMIT_MS = 60_000
const CARD = { name: 'Worker', url: 'https://agent.example' }

/** Five steps, each of which is shown, and a question. */
export async function work(run: Run, step = workStep): Promise<string> {
  const done: number[] = []
  for (let number = 0; number < 5; number += 1) {
    done.push(await step(run, number))
    run.artifact({ artifactId: 'numbers', parts: [{ text: `${number} ` }] })
  }
  return `${done.join(' ')} ${textOf(await run.requireInput('Go on?'))}`
}

function workStep(run: Run, number: number): Promise<number> {
  return run.step('work', async () => {
    await delay(Math.random() * 10)
    return number
  })
}

export async function underLoad({
  stores,
  execute = (run) => work(run),
  during,
}: LoadOptions): Promise<Outcome> {
  const managers = stores.map(
    (store) =>
      new DurableTaskManager({
        ...{ store, leaseMs: 3_000, sweepIntervalMs: 300, pollIntervalMs: 200, storeRetryMs: 10_000 },
        onError: () => undefined,
      }),
  )
  const handlers = managers.map((tasks) =>
    createRequestHandler({ card: CARD, execute, tasks, onError: () => undefined }),
  )
  let turn = 0
  // Each request goes to the next one: messages, streams and answers of a task to different ones.
  const fetch = async (url: string, init?: RequestInit): Promise<Response> => {
    const handler = handlers[(turn += 1) % handlers.length]
    if (handler === undefined) throw new Error('There is no store')
    return await handler.fetch(new Request(url, init))
  }
  const ended: string[] = []
  const errors: string[] = []
  const over = new AbortController()
  const broken = new AbortController()
  const converse = async (): Promise<void> => {
    const client = await A2AClient.connect(CARD.url, { fetch })
    while (!over.signal.aborted) {
      const result = await client.run('go', {
        ...{ onInputRequired: () => 'yes', timeoutMs: 2 * LIMIT_MS, signal: broken.signal },
      })
      if (result.type === 'completed' && result.text.endsWith('0 1 2 3 4 yes')) ended.push(result.task.id)
      else {
        errors.push(`${result.type}: ${result.text}`)
        await delay(50)
      }
    }
  }
  const more = async (tasks: number): Promise<void> => {
    const enough = ended.length + tasks
    const limit = Date.now() + LIMIT_MS
    while (ended.length < enough) {
      if (Date.now() > limit)
        throw new Error(`Of ${enough} tasks ${ended.length} have ended: ${errors.join()}`)
      await delay(20)
    }
  }
  const conversations = Promise.all(Array.from({ length: CONCURRENCY }, converse))
  try {
    await during(more)
    over.abort()
    await conversations
    const [store] = stores
    if (store === undefined) throw new Error('There is no store')
    return { ...(await check(store, new Set(ended))), errors, ended: ended.length }
  } catch (error) {
    broken.abort()
    throw error
  } finally {
    over.abort()
    await conversations.catch(() => undefined)
    await Promise.all(handlers.map((handler) => handler.close({ graceMs: 0 })))
    await Promise.all(managers.map((manager) => manager.destroy()))
  }
}

async function check(store: TaskStore, ended: Set<string>): Promise<Pick<Outcome, 'faults' | 'lost'>> {
  await allRest(store)
  const faults: string[] = []
  const missing = new Set(ended)
  let after: TaskSnapshot<string> | undefined
  for (;;) {
    const page = await store.list({ after, limit: PAGE })
    for (const stored of page) {
      const task = unfold(stored, A2A_LIFECYCLE)
      faults.push(...(await faultsOf(store, task)), ...illegalSteps(task))
      if (task.state === 'completed') missing.delete(task.id)
    }
    after = page.at(-1)?.checkpoint
    if (page.length < PAGE) return { faults: faults.slice(0, 20), lost: [...missing] }
  }
}

/** Resolves when no task is at work: those of clients that were told of a failure are recovered. */
async function allRest(store: TaskStore): Promise<void> {
  const limit = Date.now() + LIMIT_MS
  while (Date.now() < limit) {
    const counts = await Promise.all(['submitted', 'working'].map((state) => store.count({ state })))
    if (counts.every((count) => count === 0)) return
    await delay(100)
  }
}

/** The changes of state that the lifecycle does not have. */
function illegalSteps({ id, history }: TaskSnapshot): string[] {
  return history.flatMap(({ state }, index) => {
    const before = history[index - 1]?.state
    return before === undefined || canTransition(before, state) ? [] : [`${id}: is ${state} after ${before}`]
  })
}
