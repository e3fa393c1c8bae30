/** The signal of a run whose lease another process has taken. */
import { expect, test } from 'vitest'
import { gate } from '../spec/support/agent.js'
import { begin, pass, replicas, stateAt } from './support/replicas.js'

test('aborts with the code LEASE_LOST where the other process has failed the task', async () => {
  const began = gate<AbortSignal>()
  const { a, b, clock } = replicas(
    (run) => {
      run.start()
      began.open(run.signal)
      return new Promise<never>(() => undefined)
    },
    { manager: { recover: 'fail' } },
  )
  const { id } = await begin(a, 'go')
  const signal = await began.opened
  // It is slow: its renewals do not arrive, and it reads nothing.
  a.store.fail('renew', 'heads')
  await pass(clock, async () => (await stateAt(b, id)) === 'failed')
  a.store.mend()
  await pass(clock, () => signal.aborted)
  expect(signal.reason).toMatchObject({ code: 'LEASE_LOST' })
})

test('aborts with the code LEASE_LOST', async () => {
  const began = gate<AbortSignal>()
  const again = gate()
  const never = new Promise<never>(() => undefined)
  const { a, b, clock } = replicas(
    [
      (run) => {
        run.start()
        began.open(run.signal)
        return never
      },
      () => {
        again.open()
        return never
      },
    ],
    { manager: { recover: 'resume' } },
  )
  await begin(a, 'go')
  const signal = await began.opened
  // Its renewals do not arrive.
  a.store.fail('renew')
  let isTaken = false
  void again.opened.then(() => (isTaken = true))
  await pass(clock, () => isTaken)
  a.store.mend()
  await pass(clock, () => signal.aborted)
  expect(signal.reason).toMatchObject({ code: 'LEASE_LOST' })
  void Promise.all([a, b].map(({ handler }) => handler.close({ graceMs: 1 })))
  clock.advance(1)
})
