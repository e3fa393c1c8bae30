/** Random messages to several processes: none is lost, each is read in its order, and no lease remains. */
import type { TaskStore } from 'a2a-tasks/durable'
import type { Execute, FollowUpPolicy } from 'a2a-tasks/server'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { call, jsonRpc, user } from '../spec/support/agent.js'
import { cluster, settle, textOf, type Replica } from './support/replicas.js'
import { samples } from '../../support/samples.js'

/** Numbers from 0 to 1, the same for the same seed. */
function randomOf(seed: number): () => number {
  let state = (seed * 7_919) >>> 0
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

type Random = ReturnType<typeof randomOf>

async function pause(random: Random, most: number): Promise<void> {
  for (let turns = Math.floor(random() * most); turns > 0; turns -= 1) await turn()
}

/** Each step takes its time, on the way there and on the way back. */
function slow(store: TaskStore, random: Random): TaskStore {
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return async (...given: unknown[]) => {
        await pause(random, 3)
        // What a method of a store gives is a promise.
        const result = await (Reflect.apply(value, target, given) as Promise<unknown>)
        await pause(random, 3)
        return result
      }
    },
  })
}

/** Works in one of several ways, the same when a turn is replayed, and remembers what it has read. */
function worker(random: Random, policy: FollowUpPolicy, read: Set<string>): Execute {
  const ways = new Map<string, number>()
  return async (run) => {
    // What steers is in the conversation: a run looks there before it asks, and before it ends.
    const look = (): void => {
      if (policy === 'steer') for (const message of run.messages) read.add(textOf(message))
    }
    const ask = (): Promise<void> => {
      look()
      return run.requireInput('Which?').then((answer) => void read.add(textOf(answer)))
    }
    const askInVain = (): void => {
      look()
      run.requireInput('Which?').catch(() => undefined)
    }
    read.add(run.text)
    await pause(random, 4)
    run.start()
    const way = ways.get(run.text) ?? random()
    ways.set(run.text, way)
    await pause(random, 4)
    if (way < 0.3) await ask()
    else if (way < 0.5) {
      askInVain()
      return undefined
    } else if (way < 0.6) {
      askInVain()
      await pause(random, 4)
      run.start()
    } else if (way < 0.7) {
      await ask().finally(() => pause(random, 4))
    }
    await pause(random, 4)
    look()
    return `done with ${run.text}`
  }
}

interface Outcome {
  readonly state: string | undefined
  readonly hasClosed: boolean
  /** What was answered with a task, and no run has read. */
  readonly unread: readonly string[]
  /** What was read, in the order of the first time; and in the order of the conversation. Equal unless messages steer. */
  readonly read: readonly string[]
  readonly said: readonly string[]
  readonly errors: readonly string[]
}

/** Resolves when the process has closed, or at once when it dies. */
async function stop(at: Replica | undefined, end: 'closes' | 'dies', random: () => number): Promise<void> {
  if (end === 'dies') at?.store.fail()
  else await at?.handler.close({ graceMs: random() < 0.5 ? 1 : 5_000 })
}

/** Plays messages to one task at random processes, the first of which may close or die during the play. */
async function play(seed: number, end?: 'closes' | 'dies'): Promise<Outcome> {
  const random = randomOf(seed)
  const onFollowUp: FollowUpPolicy = random() < 0.7 ? 'queue' : 'steer'
  const read = new Set<string>()
  const execute = worker(random, onFollowUp, read)
  const executes = random() < 0.5 ? [execute, execute] : [execute, execute, execute]
  const { all, clock } = cluster(executes, { onFollowUp }, (store) => slow(store, random))
  const taken: string[] = []
  const say = async (at: Replica | undefined, text: string, more: object): Promise<string> => {
    if (at === undefined) throw new Error('There are two at least')
    const configuration = { returnImmediately: true }
    const { result } = await call(jsonRpc, at, 'SendMessage', { message: user(text, more), configuration })
    if (result !== undefined) taken.push(text)
    return result?.task?.id ?? ''
  }
  const taskId = await say(all[0], 'message 0', {})
  const under: Promise<unknown>[] = []
  let hasClosed = false
  for (let count = 2 + Math.floor(random() * 5); count > 0; count -= 1) {
    await pause(random, 12)
    if (end !== undefined && !hasClosed && random() < 0.3) {
      hasClosed = true
      under.push(stop(all[0], end, random))
    }
    under.push(say(all[Math.floor(random() * all.length)], `message ${count}`, { taskId }))
  }
  for (let count = 0; count < 10; count += 1) await settle()
  for (let count = 0; count < 20; count += 1) {
    clock.advance(5_000)
    await settle()
  }
  // A process without its store answers nothing more.
  const alive = end === 'dies' && hasClosed ? all.slice(1) : all
  if (alive.length === all.length) await Promise.all(under)
  const state = (await all[1]?.tasks.stateOf(taskId)) ?? undefined
  const errors = all.flatMap((at) => at.errors.map(({ error }) => String(error)))
  const unread = taken.filter((text) => !read.has(text))
  const task = await all[1]?.tasks.getTask(taskId)
  const said = (task?.messages ?? []).filter(({ role }) => role === 'user').map(textOf)
  const inOrder = onFollowUp === 'steer' ? said : [...read]
  const closed = alive.map((at) => at.handler.close({ graceMs: 1 }))
  clock.advance(1)
  await Promise.all(closed)
  return { state, hasClosed, unread, read: inOrder, said, errors }
}

const seeds = (from: number, count: number): number[] =>
  Array.from({ length: samples(count) }, (_, n) => from + n)

describe('messages to any process at any moment', () => {
  test.each(seeds(1, 60))('are all read, and the task ends or waits (%i)', async (seed) => {
    const { state, unread, read, said, errors } = await play(seed)
    expect(read).toEqual(said)
    expect(errors).toEqual([])
    expect(['completed', 'input-required']).toContain(state)
    expect(unread).toEqual([])
  })

  test.each(seeds(1_001, 60))('while one closes, are read, or their task fails (%i)', async (seed) => {
    const { state, hasClosed, unread, read, said, errors } = await play(seed, 'closes')
    expect(errors).toEqual([])
    expect(['completed', 'input-required', ...(hasClosed ? ['failed'] : [])]).toContain(state)
    if (state === 'failed') return
    expect(unread).toEqual([])
    expect(read).toEqual(said)
  })

  test.each(seeds(2_001, 60))('while one dies, are all read by others (%i)', async (seed) => {
    const { state, unread, read, said } = await play(seed, 'dies')
    expect(['completed', 'input-required']).toContain(state)
    expect(unread).toEqual([])
    expect(read).toEqual(said)
  })
})
