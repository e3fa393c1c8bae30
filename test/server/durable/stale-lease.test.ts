/** A process that stood still for longer than its lease begins nothing more. */
import type { Execute } from 'a2a-tasks/server'
import { expect, test } from 'vitest'
import { gate } from '../spec/support/agent.js'
import { begin, cluster, holdUp, pass, replicas, resultOf, settle, stateAt } from './support/replicas.js'

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
