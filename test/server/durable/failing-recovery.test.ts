/** A store that fails while the work of one process goes to another: at each of its calls, once and for a while. */
import { A2AError, A2A_LIFECYCLE } from 'a2a-tasks'
import { DurableTaskManager } from 'a2a-tasks/durable'
import type { Execute } from 'a2a-tasks/server'
import { describe, expect, onTestFinished, test } from 'vitest'
import { faultyStore, type Faults, type StepName } from '../../support/faulty-store.js'
import { runsAll } from '../../support/samples.js'
import { call, jsonRpc, user } from '../spec/support/agent.js'
import { begin, cluster, pass, settle } from './support/replicas.js'

/** Longer than the store client tries again. */
const WHILE_MS = 15_000

const never = new Promise<never>(() => undefined)

/** What the first process does, which gets no further than the middle, and what the second does. */
const FUNCTIONS: Readonly<Record<string, (isFirst: boolean) => Execute>> = {
  'that has recorded nothing': (isFirst) => async (run) => {
    run.start()
    if (isFirst) await never
    return `did ${run.text}`
  },
  'with a step': (isFirst) => async (run) => {
    const output = await run.step('one', () => `did ${run.text}`)
    if (isFirst) await never
    return output
  },
  'that waits for the user and a time': () => async (run) => {
    const all = [
      run.requireInput('Which?').then(() => 'did'),
      run.sleep('pause', { ms: 120_000 }).then(() => run.text),
    ]
    return (await Promise.all(all)).join(' ')
  },
}

/** How the work leaves the first process. */
const WAYS = ['dies', 'closes', 'dies, which a message finds out'] as const

/** How the store fails at a call. */
const FAILURES = ['for a while', 'and says that an operator is needed', 'once'] as const

interface Failing {
  readonly method: StepName
  readonly at: number
  readonly how: (typeof FAILURES)[number]
}

interface Played {
  /** The methods that were called while the work moved. */
  readonly called: ReadonlySet<StepName>
  readonly hasFailed: boolean
}

async function play(name: string, way: (typeof WAYS)[number], failing?: Failing): Promise<Played> {
  const called = new Set<StepName>()
  let isMoving = false
  let count = -1
  let failsUntil: number | undefined
  const before = (step: StepName): void => {
    if (!isMoving) return
    called.add(step)
    if (failing === undefined || step !== failing.method) return
    count += 1
    if (count === failing.at) failsUntil = failing.how === 'for a while' ? clock.now() + WHILE_MS : -1
    if (count === failing.at && failing.how === 'and says that an operator is needed')
      throw new A2AError('STORE_FAILED', 'No right', { operation: step })
    if (count === failing.at || clock.now() < (failsUntil ?? 0)) throw new Error('Away')
  }
  const faults: Faults = { before }
  const execute = FUNCTIONS[name]
  if (execute === undefined) throw new Error('There is such a function')
  const { all, clock, store } = cluster(
    [execute(true), execute(false)],
    { onFollowUp: () => 'queue', limits: { waitingRunMs: 1_000 } },
    (store) => faultyStore(store, faults),
  )
  const [a, b] = all
  if (a === undefined || b === undefined) throw new Error('There are two')
  const { id } = await begin(a, 'go')
  await settle()
  const tell = async (text: string): Promise<void> => {
    const message = user(text, { taskId: id, metadata: { of: text } })
    await call(jsonRpc, b, 'SendMessage', { message, configuration: { returnImmediately: true } })
    await settle()
  }
  const isAsking = name.includes('user')
  if (!isAsking) await tell('more')
  isMoving = true
  if (way !== 'closes') a.store.fail()
  else void a.handler.close({ graceMs: 1 }).then(() => a.tasks.destroy())
  await settle()
  if (way === 'dies, which a message finds out') {
    // The lease has expired, and the next sweep has not come.
    for (const ms of [29_000, 2_000]) {
      clock.advance(ms)
      await settle()
    }
    void tell('late')
    await settle()
  }
  const reader = new DurableTaskManager({ store, clock, sweepIntervalMs: false })
  onTestFinished(() => reader.destroy())
  let seconds = 0
  await pass(clock, async () => {
    seconds += 1
    const task = await reader.getTask(id)
    const isAnswered = (task?.messages.filter(({ role }) => role === 'user').length ?? 0) > 1
    // Clients send their message again.
    if (isAsking && seconds % 20 === 0 && task?.state === 'input-required' && !isAnswered) void tell('this')
    return task !== null && A2A_LIFECYCLE.terminal.includes(task.state)
  })
  const task = await reader.getTask(id)
  expect(task?.state).toBe('completed')
  const sent = task?.messages
    .filter(({ role }) => role === 'user')
    .map(({ parts }) => `did ${parts[0]?.text}`)
  const expected = isAsking ? ['did go'] : sent
  expect(expected?.slice(0, 2)).toEqual(isAsking ? ['did go'] : ['did go', 'did more'])
  expect(task?.artifacts.map(({ parts = [] }) => parts.map(({ text }) => text).join(''))).toEqual(expected)
  return { called, hasFailed: failsUntil !== undefined }
}

describe.each(Object.keys(FUNCTIONS))('a run %s', (name) => {
  describe.each(WAYS)('whose process %s', (way) => {
    test.each(runsAll ? FAILURES : FAILURES.slice(0, 2))('while the store fails %s', async (how) => {
      const { called } = await play(name, way)
      const wrong: unknown[] = []
      for (const method of called) {
        for (let at = 0; at < (runsAll ? 30 : 2); at += 1) {
          const failing = { method, at, how }
          const played = await play(name, way, failing).catch((error: unknown) =>
            wrong.push([failing, error]),
          )
          if (typeof played === 'object' && !played.hasFailed) break
        }
      }
      expect(wrong).toEqual([])
    })
  })
})
