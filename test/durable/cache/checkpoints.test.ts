/** Bytes written and read: proportional to what is appended, and to what is read. */
import { describe, expect, test } from 'vitest'
import { DurableTaskManager, memoryStore, type Commit, type StoredTask } from 'a2a-tasks/durable'
import { faultyStore, withoutHints } from '../../support/faulty-store.js'
import { logOf, rejection, replicas, says } from '../support/durable.js'

interface Counted {
  readonly tasks: DurableTaskManager
  readonly store: ReturnType<typeof memoryStore>
  /** Bytes of what was given to the store, and how many wholes were among it. */
  readonly written: { bytes: number; wholes: number }
}

function counted(store = memoryStore()): Counted {
  const written = { bytes: 0, wholes: 0 }
  const counting = faultyStore(withoutHints(store), {
    before: (step, [given]) => {
      if (step !== 'create' && step !== 'commit') return
      written.bytes += JSON.stringify(given).length
      if ((given as Commit).checkpoint !== undefined) written.wholes += 1
    },
  })
  return { tasks: new DurableTaskManager({ store: counting }), store, written }
}

const CHUNK = 'x'.repeat(200)

async function appended(count: number): Promise<Counted & { id: string }> {
  const all = counted()
  const { id } = await all.tasks.createTask({ skill: 'test' })
  for (let index = 0; index < count; index += 1) {
    await all.tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: CHUNK }] })
  }
  return { ...all, id }
}

function sizeOf(stored: StoredTask | undefined): number {
  return JSON.stringify(stored).length
}

describe('appending', () => {
  test('writes what is linear in the number of chunks', async () => {
    const [few, many] = await Promise.all([appended(400), appended(4_000)])
    expect(many.written.bytes).toBeLessThan(few.written.bytes * 13)
    // Each time that it has doubled.
    expect(many.written.wholes).toBeGreaterThan(3)
    expect(many.written.wholes).toBeLessThan(12)
    await Promise.all([few.tasks.destroy(), many.tasks.destroy()])
  })

  test('keeps the stored bytes to read within about twice the task', async () => {
    for (const count of [100, 1_000, 2_500]) {
      const { store, tasks, id } = await appended(count)
      const whole = JSON.stringify(await tasks.getTask(id)).length
      const stored = await store.get(id)
      // An event says a little more than what it carries.
      const said = (stored?.events.length ?? 0) * 200
      expect(sizeOf(stored)).toBeLessThan(2 * whole + said + 20_000)
      await tasks.destroy()
    }
  })

  test('by several managers in turn is linear, too', async () => {
    const costs: number[] = []
    for (const count of [400, 4_000]) {
      const store = memoryStore()
      const all = [counted(store), counted(store), counted(store)]
      const { id } = (await all[0]?.tasks.createTask({ skill: 'test' })) ?? { id: '' }
      for (let index = 0; index < count; index += 1) {
        await all[index % 3]?.tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: CHUNK }] })
      }
      costs.push(all.reduce((sum, { written }) => sum + written.bytes, 0))
      for (const { tasks } of all) await tasks.destroy()
    }
    expect(costs[1]).toBeLessThan((costs[0] ?? 0) * 13)
  })
})

test('a task that has ended is kept whole at its end, and its log with it', async () => {
  const { store, tasks, id } = await appended(50)
  await tasks.addMessage(id, says('last'))
  await tasks.patchTask(id, { state: 'failed' })
  const stored = await store.get(id)
  expect(stored?.events).toEqual([])
  expect(stored?.checkpoint).toEqual({ ...(await tasks.getTask(id)), form: 2 })
  expect(await logOf(store, id)).toHaveLength(53)
  await tasks.destroy()
})

describe('what the store gives', () => {
  const good = { id: 'x', skill: 's', contextId: 'x', input: null, output: null, messages: [], artifacts: [] }
  const moment = '2026-01-01T00:00:00.000Z'
  const task = { ...good, metadata: {}, generation: 1, createdAt: moment, updatedAt: moment }

  test.each([
    ['in a state that the lifecycle does not have', { state: 'baking' }, [], /"baking"/],
    ['with a gap in its log', { state: 'submitted' }, [{ generation: 3 }], /gap after generation 1/],
  ])('%s is refused', async (_, more, events, message) => {
    const store = memoryStore()
    const history = [{ state: more.state, timestamp: moment }]
    const checkpoint = { ...task, ...more, history }
    const event = {
      type: 'status',
      taskId: 'x',
      timestamp: moment,
      from: more.state,
      to: more.state,
    } as const
    const given = { checkpoint, events: events.map((each) => ({ ...event, ...each })) }
    const odd = new Proxy(store, {
      get: (target, property) => {
        if (property === 'get') return () => Promise.resolve(given)
        const value: unknown = Reflect.get(target, property)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    const { a } = replicas(1, { store: odd })
    expect(await rejection(a.getTask('x'))).toMatchObject({ code: 'STORE_FAILED', message })
  })
})
