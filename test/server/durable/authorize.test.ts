/** `run.authorize` over several processes: asked once, and ended once, wherever the signal or the answer arrives. */
import { A2AError } from 'a2a-tasks'
import type { Execute } from 'a2a-tasks/server'
import { openQuestionsOf } from 'a2a-tasks/wire'
import { expect, test } from 'vitest'
import { textsOf } from '../journal/support/managers.js'
import { begin, pass, replicas, send, settle, stateAt, type Replica } from './support/replicas.js'

const ASK = { url: 'https://login.example/', message: 'Let me read your calendar' }

const login: Execute = async (run) => {
  const account = await run
    .authorize<string>('calendar', ASK)
    .catch((error: unknown) => (A2AError.is(error) ? error.code : String(error)))
  return `${account}, ${await run.step('read', () => 'read')}`
}

const resultAt = async ({ tasks }: Replica, id: string): Promise<string[]> => {
  const task = await tasks.getTask(id)
  return task === null ? [] : textsOf(task)
}

const questionsAsked = async ({ tasks }: Replica, id: string): Promise<number> =>
  (await tasks.journal(id)).filter(({ entry }) => entry.kind === 'question').length

test('a signal at another process continues code that no process has in memory', async () => {
  const { a, b, clock } = replicas(login)
  const { id } = await begin(a, 'go')
  await settle()
  expect(await stateAt(b, id)).toBe('auth-required')
  clock.advance(61_000)
  await settle()
  expect(a.tasks.stats().leases).toBe(0)
  await b.tasks.signal(id, 'calendar', 'Ada')
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  expect(await resultAt(b, id)).toEqual(['Ada, read'])
  expect(await questionsAsked(b, id)).toBe(1)
  expect([...a.errors, ...b.errors]).toEqual([])
})

test('a signal continues code whose process has died', async () => {
  const { a, b, clock } = replicas(login)
  const { id } = await begin(a, 'go')
  await settle()
  a.store.fail()
  await b.tasks.signal(id, 'calendar', 'Ada')
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  expect(await resultAt(b, id)).toEqual(['Ada, read'])
  expect(b.errors).toEqual([])
})

test('of a signal and a refusal at once at two processes, the log decides', async () => {
  const { a, b, clock } = replicas(login)
  const { id } = await begin(a, 'go')
  await settle()
  // The task may end before the refusal arrives.
  await Promise.allSettled([b.tasks.signal(id, 'calendar', 'Ada'), send(b, 'decline', id)])
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  const [result] = await resultAt(b, id)
  expect(['Ada, read', 'PERMISSION_DENIED, read']).toContain(result)
  const received = (await b.tasks.journal(id))
    .map(({ entry }) => entry)
    .find(({ kind }) => kind === 'received')
  const isWithdrawn = received?.kind === 'received' && received.isWithdrawn === true
  expect(isWithdrawn).toBe(result !== 'Ada, read')
  expect([...a.errors, ...b.errors]).toEqual([])
})

test('an expired one that is asked again waits without a process, and gets the next signal', async () => {
  const { a, b, clock } = replicas(async (run) => {
    const first = await run.authorize('calendar', { ...ASK, expiresInMs: 3_600_000 }).catch(String)
    return `${String(first)}, ${await run.authorize<string>('calendar', ASK)}`
  })
  const { id } = await begin(a, 'go')
  await settle()
  clock.advance(61_000)
  await settle()
  clock.advance(3_600_000)
  await pass(clock, async () => (await questionsAsked(b, id)) === 2)
  await pass(clock, () => a.tasks.stats().leases + b.tasks.stats().leases === 0)
  const task = await b.tasks.getTask(id)
  expect(task?.state).toBe('auth-required')
  expect(openQuestionsOf(task ?? { messages: [] })).toMatchObject([{ id: 'calendar#2', url: ASK.url }])
  await a.tasks.signal(id, 'calendar', 'Ada')
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  expect(await resultAt(b, id)).toEqual(['WaitTimedOutError: No answer came in time, Ada'])
  expect([...a.errors, ...b.errors]).toEqual([])
})

test('one whose signal was there before is not asked in a replay', async () => {
  const last = [new Promise<void>(() => undefined), Promise.resolve()]
  const { a, b, clock } = replicas(async (run) => {
    await run.waitFor('start')
    const calendar = async (): Promise<unknown[]> =>
      await Promise.all([run.sleep('pause', { ms: 20 }), run.authorize('calendar', ASK)])
    const values = async (): Promise<number> => await Promise.resolve(run.now())
    const [[, account]] = await Promise.all([calendar(), values()])
    await last.shift()
    return String(account)
  })
  const { id } = await begin(a, 'go')
  await settle()
  await a.tasks.signal(id, 'calendar', 'Ada')
  await a.tasks.signal(id, 'start', null)
  await settle()
  clock.advance(20)
  await settle()
  a.store.fail()
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  expect(await resultAt(b, id)).toEqual(['Ada'])
  expect(await questionsAsked(b, id)).toBe(0)
  expect(b.errors).toEqual([])
})

test('a canceled task ends it', async () => {
  const { a, b, clock } = replicas(login)
  const { id } = await begin(a, 'go')
  await settle()
  await b.tasks.cancelTask(id)
  await pass(clock, async () => (await stateAt(a, id)) === 'canceled')
  await settle()
  await expect(b.tasks.signal(id, 'calendar', 'Ada')).rejects.toMatchObject({ code: 'TASK_TERMINAL' })
  expect([...a.errors, ...b.errors]).toEqual([])
})
