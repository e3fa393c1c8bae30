/** An agent that closes while its code goes on: whatever the code is about to do, another process does it. */
import type { TaskStore } from 'a2a-tasks/durable'
import type { Execute } from 'a2a-tasks/server'
import { expect, test } from 'vitest'
import { begin, cluster, pass, resultOf, send, settle, stateAt, textOf } from '../durable/support/replicas.js'

const SITUATIONS: Record<string, Execute> = {
  'the answer to a question, beside a wait for a signal': async (run) => {
    const [paid, seat] = await Promise.all([
      run.waitFor<string>('paid'),
      (async () => {
        const answer = textOf(await run.requireInput('Which seat?'))
        return await run.step('book', () => `booked ${answer}`)
      })(),
    ])
    return `${paid}, ${seat}`
  },
  'a refusal of a log-in': async (run) => {
    const ask = { url: 'https://login.example/', message: 'Let me read your calendar' }
    const login = await run.authorize('calendar', ask).catch(() => 'refused')
    return `${String(login)}, ${await run.step('book', () => 'booked decline')}`
  },
}

/** A way to the store that calls `onCommit` before each commit. */
function watched(store: TaskStore, onCommit: () => void): TaskStore {
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...given: unknown[]): unknown => {
        if (name === 'commit') onCommit()
        return Reflect.apply(value, target, given)
      }
    },
  })
}

/** More than there are between a change and what the code does then. */
const MICROTASKS = 12

/** @returns Whether the process made so many changes before it closed. */
async function play(execute: Execute, commits: number, microtasks: number): Promise<boolean> {
  let left = commits
  let onClose = (): Promise<void> => Promise.resolve()
  const onCommit = (): void => {
    if (left === 0) void onClose()
    left -= 1
  }
  const { all, clock } = cluster([execute, execute, execute], {}, (store, at) =>
    at === 1 ? watched(store, onCommit) : store,
  )
  const [a, b, c] = all
  if (a === undefined || b === undefined || c === undefined) throw new Error('There are three')
  const closed = new Promise<void>((resolve) => {
    onClose = async () => {
      for (let wait = microtasks; wait > 0; wait -= 1) await Promise.resolve()
      resolve(b.handler.close({ graceMs: 1 }))
    }
  })
  const { id } = await begin(a, 'go')
  await settle()
  a.store.fail()
  c.store.fail()
  void send(b, 'decline', id).catch(() => undefined)
  for (let seconds = 0; seconds < 120 && left >= 0; seconds += 1) {
    await settle()
    clock.advance(1_000)
  }
  if (left >= 0) return false
  c.store.mend()
  const isBooked = async (): Promise<boolean> =>
    (await c.tasks.journal(id)).some(({ entry }) => entry.kind === 'step')
  await pass(clock, isBooked)
  if ((await stateAt(c, id)) === 'working') await c.tasks.signal(id, 'paid', 'paid')
  await pass(clock, async () => (await stateAt(c, id)) === 'completed')
  expect((await resultOf(c, id)).join()).toMatch(/^(paid|refused), booked decline$/)
  await closed
  return true
}

test.each(Object.entries(SITUATIONS))('%s arrives in the tick of close', async (_, execute) => {
  for (let microtasks = 0; microtasks < MICROTASKS; microtasks += 1) {
    for (let commits = 0; await play(execute, commits, microtasks);) commits += 1
  }
})
