/** A message is acknowledged once it is stored, and read by one process. */
import { textOf, type Execute } from 'a2a-tasks/server'
import { expect, test } from 'vitest'
import { faultyStore, gate, type Faults } from '../../support/faulty-store.js'
import { call, jsonRpc, stateName, user } from '../spec/support/agent.js'
import { cluster, get, send, settle, pass, type Replica } from './support/replicas.js'

/** Asks twice. */
const asking: Execute = async (run) => {
  const first = textOf(await run.requireInput('First?'))
  return `${first}, ${textOf(await run.requireInput('Second?'))}`
}

test('a process that gets its lease late does not read what the holder before it has read', async () => {
  const faults: Faults = {}
  const { all, clock } = cluster([asking, asking], { limits: { waitingRunMs: 1 } }, (store, at) =>
    at === 0 ? faultyStore(store, faults) : store,
  )
  const [a, b] = all as [Replica, Replica]
  const { id } = await send(b, 'go')
  await settle()
  const called = gate()
  const { opened, open } = gate()
  let attempts = 0
  faults.before = async (step) => {
    if (step !== 'acquire') return
    attempts += 1
    if (attempts > 1) return
    called.open()
    await opened
  }
  faults.after = (step) => {
    if (step === 'acquire' && attempts === 1) throw new Error('Lost')
  }
  const message = user('Rome', { taskId: id, messageId: 'same' })
  const answers = call(jsonRpc, a, 'SendMessage', { message })
  await called.opened
  await call(jsonRpc, b, 'SendMessage', { message })
  await settle()
  clock.advance(10)
  await settle()
  open()
  await pass(clock, () => attempts > 1)
  await answers
  expect(stateName((await get(b, id)).status.state)).toBe('input-required')
  await send(b, 'Paris', id)
  const [artifact] = (await get(b, id)).artifacts ?? []
  expect(artifact?.parts).toEqual([{ text: 'Rome, Paris' }])
})

test('a repeated message is not acknowledged if the first is not stored', async () => {
  const faults: Faults = {}
  const { all, clock } = cluster([asking], {}, (store) => faultyStore(store, faults))
  const [a] = all as [Replica]
  const { id } = await send(a, 'go')
  await settle()
  const called = gate()
  const { opened, open } = gate()
  faults.before = async (step) => {
    if (step !== 'commit') return
    called.open()
    await opened
    throw new Error('Away')
  }
  const message = user('Rome', { taskId: id, messageId: 'same' })
  const configuration = { returnImmediately: true }
  const answers = [call(jsonRpc, a, 'SendMessage', { message, configuration })]
  await called.opened
  answers.push(call(jsonRpc, a, 'SendMessage', { message, configuration }))
  await settle()
  open()
  let isAnswered = false
  void Promise.all(answers).finally(() => (isAnswered = true))
  await pass(clock, () => isAnswered)
  for (const answer of answers) expect((await answer).error).toBeDefined()
})
