/** Observers of a durable manager. */
import { expect, test } from 'vitest'
import type { Announce, TasksObserver } from 'a2a-tasks/durable'
import { uncaughtBy } from '../support/uncaught.js'
import { replicas, turn } from './support/durable.js'
import { worker } from './support/leased.js'

/** An observer that records its calls, in order. */
function observer(methods: Partial<TasksObserver> = {}): { calls: string[]; observer: TasksObserver } {
  const calls: string[] = []
  const all: TasksObserver = {
    bind: () => (announce) => announce(),
    onHeld: ({ id }, isRequested) => calls.push(`held ${id} ${isRequested}`),
    onRead: ({ id }, events) => calls.push(`read ${id} ${events.length}`),
    onLetGo: ({ id }, reason) => calls.push(`let go ${id} ${reason?.message ?? 'released'}`),
    onDestroyed: () => calls.push('destroyed'),
    ...methods,
  }
  return { calls, observer: all }
}

test('an observer receives which tasks are held, and the changes of others, until it is removed', async () => {
  const { a, b } = replicas(2)
  const { leased } = worker(a)
  const { id } = await b.createTask({ skill: 'x', id: 'x' })
  const { calls, observer: first } = observer()
  const remove = a.observe(first)
  await leased.acquire(id)
  await b.updateTask(id, { state: 'working' })
  await a.getTask(id)
  await leased.release(id)
  await leased.acquire(id)
  expect(calls).toEqual(['held x true', 'read x 1', 'let go x released', 'held x true'])
  const { calls: late, observer: second } = observer()
  a.observe(second)
  remove()
  await a.destroy()
  expect(late).toEqual(['held x false', 'let go x released', 'destroyed'])
  expect(calls).toHaveLength(4)
})

const broken: readonly [string, () => Announce][] = [
  ['does not call what it is given', () => () => undefined],
  [
    'calls it twice',
    () => (announce) => {
      announce()
      announce()
    },
  ],
]

test.each(broken)('a change is announced once by an observer that %s', async (_, bind) => {
  const { a } = replicas(1)
  a.observe(observer({ bind }).observer)
  a.observe(observer().observer)
  const events: string[] = []
  a.on('task:event', ({ type }) => events.push(type))
  const { id } = await a.createTask({ skill: 'x' })
  const waited = a.waitFor(id)
  await a.cancelTask(id)
  expect((await waited).state).toBe('canceled')
  expect(events).toEqual(['created', 'status'])
})

test('what an observer throws becomes an uncaught error, and the task continues', async () => {
  const fail = (text: string) => (): never => {
    throw new Error(text)
  }
  const { a } = replicas(1)
  a.observe(observer({ bind: fail('bind') }).observer)
  a.observe(observer({ bind: () => fail('announce') }).observer)
  const events: string[] = []
  a.on('task:event', ({ type }) => events.push(type))
  const errors = await uncaughtBy(() => void a.createTask({ skill: 'x' }))
  await turn()
  expect(errors.map(String)).toEqual(['Error: bind', 'Error: announce'])
  expect(events).toEqual(['created'])
})
