/** A process that stood still for longer than its lease begins nothing more. */
import type { Execute } from 'a2a-tasks/server'
import { expect, test } from 'vitest'
import { gate } from '../spec/support/agent.js'
import {
  begin,
  cluster,
  get,
  holdUp,
  pass,
  replicas,
  resultOf,
  settle,
  stateAt,
  textOf,
} from './support/replicas.js'

const LEASE_MS = 30_000

test.each(['a step', 'another attempt of a step'])('not %s', async (what) => {
  const done: string[] = []
  const go = gate()
  const executeAs =
    (process: string): Execute =>
    async (run) => {
      let isFirst = what !== 'a step' && process === 'a'
      await run.step('before', () => undefined)
      if (process === 'a' && !isFirst) await go.opened
      const work = async (): Promise<string> => {
        if (isFirst) {
          isFirst = false
          await go.opened
          throw new Error('Try again')
        }
        done.push(process)
        return process
      }
      return await run.step('charge', work, { retry: { attempts: 2, backoff: { initialMs: 1 } } })
    }
  const { a, b, clock } = replicas([executeAs('a'), executeAs('b')])
  const { id } = await begin(a, 'go')
  await settle()
  // Its timers do not fire: nothing renews the lease.
  a.store.fail('renew', 'heads')
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  a.store.mend()
  go.open()
  await settle()
  clock.advance(1)
  await settle()
  expect(done).toEqual(['b'])
  expect(await resultOf(b, id)).toEqual(['b'])
})

test('not a step, where it learns only then that another process has ended the task', async () => {
  const done: string[] = []
  const go = gate()
  const executeAs =
    (process: string): Execute =>
    async (run) => {
      await run.step('before', () => undefined)
      if (process === 'a') await go.opened
      await run.step('charge', () => void done.push(process))
    }
  const { a, b, clock } = replicas([executeAs('a'), executeAs('b')])
  const { id } = await begin(a, 'go')
  await settle()
  a.store.fail('renew', 'heads')
  a.store.deafen()
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  a.store.mend()
  go.open()
  await settle()
  expect(done).toEqual(['b'])
})

test('not execute', async () => {
  const calls: string[] = []
  const hold = holdUp('create', 'after')
  const { all, clock } = cluster(
    ['a', 'b'].map((process) => () => {
      calls.push(process)
      return 'done'
    }),
    {},
    (store, at) => (at === 0 ? hold.way(store) : store),
  )
  const [a, b] = all
  if (a === undefined || b === undefined) throw new Error('There are two')
  const held = hold.next()
  let isAnswered = false
  void begin(a, 'go')
    .catch(() => undefined)
    .finally(() => (isAnswered = true))
  await held.called
  a.store.fail('renew', 'heads', 'orphans')
  clock.advance(LEASE_MS + 1)
  await settle()
  clock.advance(10_000)
  await settle()
  expect(calls).toEqual(['b'])
  a.store.mend()
  held.go()
  await pass(clock, () => isAnswered)
  expect(calls).toEqual(['b'])
})

test('not the work under a lease in whose place its own process has got another one', async () => {
  const [acquiring, reading, renewing] = [holdUp('acquire', 'after'), holdUp('heads'), holdUp('renew')]
  const ask: Execute = async (run) =>
    `${textOf(await run.requireInput('From?'))} to ${textOf(await run.requireInput('To?'))}`
  const manager = { storeRetryMs: 10 * LEASE_MS }
  const { all, clock } = cluster([ask], { manager }, (store) =>
    acquiring.way(reading.way(renewing.way(store))),
  )
  const [a] = all
  if (a === undefined) throw new Error('There is one')
  const { id } = await begin(a, 'go')
  await pass(clock, () => a.tasks.stats().leases === 0)
  const granted = acquiring.next()
  const answered = begin(a, 'Lisbon', id)
  await granted.called
  const read = reading.next()
  granted.go()
  await read.called
  // The lease expires, and the process finds its own task as one to recover. That waits for the same read.
  const { calls } = a.store
  const sweeps = calls.filter((each) => each === 'orphans').length
  clock.advance(LEASE_MS)
  await pass(clock, () => calls.filter((each) => each === 'orphans').length > sweeps)
  const [renewed, readAgain] = [renewing.next(), reading.next()]
  read.go()
  await readAgain.called
  await settle()
  readAgain.go()
  await renewed.called
  await settle()
  renewed.go()
  await answered
  await pass(clock, async () => textOf((await get(a, id)).status.message ?? { parts: [] }) === 'To?')
  await begin(a, 'Rome', id)
  await pass(clock, async () => (await stateAt(a, id)) === 'completed')
  expect(await resultOf(a, id)).toEqual(['Lisbon to Rome'])
})
