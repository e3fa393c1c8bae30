/** The trace that is kept with a task, and continued by another process. */
import { trace } from '@opentelemetry/api'
import { DurableTaskManager, memoryStore, type TaskStore } from 'a2a-tasks/durable'
import { expect, it, onTestFinished } from 'vitest'
import { instrumentTasks } from 'a2a-tasks/telemetry'
import { pass, worker, workers } from '../durable/support/leased.js'
import { databaseFile } from '../stores/sqlite/support/sqlite.js'
import { idOf, parentOf, sdk, traceOf } from './support/sdk.js'

const STORES: Readonly<Record<string, () => Promise<TaskStore>>> = {
  memoryStore: () => Promise.resolve(memoryStore()),
  async libsql() {
    const file = databaseFile()
    onTestFinished(() => file.remove())
    return await file.open()
  },
}

it('the trace of a task is continued by the process that recovers it, and so is its work', async () => {
  const { inSpan, span } = sdk()
  const { a, b, here, there, clock, faults } = workers({ recover: 'resume', sweepIntervalMs: 10_000 })
  instrumentTasks(a, { prefix: 'here' })
  instrumentTasks(b, { prefix: 'there' })
  const { id } = inSpan('request', () => here.leased.createTask({ skill: 'x' }))
  await here.leased.stored(id)
  faults.before = () => {
    throw new Error('Dead')
  }
  await inSpan('unrelated', async () => await pass(clock, 60_000))
  expect(there.calls).toMatchObject([{ orphan: { id } }])
  there.leased.patchTask(id, { state: 'rejected' })
  await there.leased.stored(id)
  expect(parentOf(span('there.task.execute'))).toBe(idOf(span('request')))
  expect(JSON.stringify(await b.getTask(id))).not.toContain(traceOf(span('request')))
  expect(trace.getActiveSpan()).toBeUndefined()
  faults.before = undefined
})

it.each(Object.keys(STORES))(
  'the span of a task that another process had is linked, over %s',
  async (driver) => {
    const { inSpan, span } = sdk()
    const store = await STORES[driver]?.()
    if (store === undefined) throw new Error(`No store of ${driver}`)
    const [a, b] = [store, store].map((each) => new DurableTaskManager({ store: each, pollIntervalMs: 20 }))
    if (a === undefined || b === undefined) throw new Error('No managers')
    onTestFinished(async () => {
      await a.destroy()
      await b.destroy()
    })
    const [here, there] = [worker(a), worker(b)]
    instrumentTasks(a, { prefix: 'here' })
    instrumentTasks(b, { prefix: 'there' })
    const { id, createdAt } = inSpan('question', () => here.leased.createTask({ skill: 'x' }))
    here.leased.patchTask(id, { state: 'working' })
    here.leased.patchTask(id, { state: 'input-required' })
    await here.leased.release(id)
    await expect.poll(() => b.documents.documents({ id, createdAt }, 'trace')).toHaveLength(1)
    await inSpan('answer', async () => await there.leased.acquire(id))
    await b.documents.documents({ id, createdAt }, 'trace')
    there.leased.patchTask(id, { state: 'rejected' })
    await there.leased.stored(id)
    const { links } = span('there.task.execute')
    expect(links.map(({ context }) => context.spanId)).toEqual([idOf(span('here.task.execute'))])
  },
)
