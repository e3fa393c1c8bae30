/** Runs that wait for signals, without a process. */
import { TaskManager } from 'a2a-tasks'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { call, jsonRpc, ORIGIN, taskOf, user } from '../spec/support/agent.js'
import {
  begin,
  cluster,
  holdUp,
  pass,
  replicas,
  resultOf,
  settle,
  stateAt,
  type Replica,
} from '../durable/support/replicas.js'

const MINUTE = 60_000
const WEEK = 10_080 * MINUTE

const approval: Execute = async (run) => `approved: ${JSON.stringify(await run.waitFor('approval'))}`

describe('a signal over a store', () => {
  test('reaches a run of another process', async () => {
    const { a, b, clock } = replicas(approval)
    const { id } = await begin(a, 'go')
    await settle()
    await b.tasks.signal(id, 'approval', { by: 'Ada' })
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    expect(await resultOf(b, id)).toEqual(['approved: {"by":"Ada"}'])
    expect(a.errors).toEqual([])
  })

  test('reaches a run of the same process at once', async () => {
    const { a } = replicas(approval)
    const { id } = await begin(a, 'go')
    await settle()
    await a.tasks.signal(id, 'approval', null)
    await settle()
    expect(await resultOf(a, id)).toEqual(['approved: null'])
  })

  test('continues the turn of a run that has left the memory, weeks later and at once', async () => {
    const { a, b, clock } = replicas(approval)
    const { id } = await begin(a, 'go')
    await settle()
    clock.advance(MINUTE)
    await settle()
    expect(a.tasks.stats().leases).toBe(0)
    await a.handler.close()
    await a.tasks.destroy()
    for (let weeks = 0; weeks < 3; weeks += 1) {
      clock.advance(WEEK)
      await settle()
    }
    expect(await stateAt(b, id)).toBe('working')
    await b.tasks.signal(id, 'approval', 'yes')
    await settle()
    expect(await resultOf(b, id)).toEqual(['approved: "yes"'])
    expect(b.errors).toEqual([])
  })

  test.each(['before', 'while', 'after'] as const)(
    'that comes %s the run is let go is not lost',
    async (when) => {
      const { a, b, clock } = replicas(approval)
      const { id } = await begin(a, 'go')
      await settle()
      if (when === 'before') b.store.deafen()
      clock.advance(when === 'before' ? MINUTE - 1 : MINUTE)
      if (when === 'after') await settle()
      const sent = b.tasks.signal(id, 'approval', when)
      clock.advance(when === 'before' ? 1 : 0)
      await sent
      await pass(clock, async () => (await stateAt(b, id)) === 'completed')
      expect(await resultOf(b, id)).toEqual([`approved: "${when}"`])
    },
  )

  test.each(['after', 'before'])(
    'is not lost when its process dies as soon as it is stored, %s the run was let go',
    async (when) => {
      const { way, next } = holdUp('commit')
      const { all, clock } = cluster(
        [approval, approval],
        { limits: { waitingRunMs: 1_000 } },
        (store, at) => (at === 0 ? store : way(store)),
      )
      const [a, b] = all as [Replica, Replica]
      const { id } = await begin(a, 'go')
      await settle()
      if (when === 'after') await pass(clock, () => a.tasks.stats().leases === 0)
      const committing = next()
      void b.tasks.signal(id, 'approval', 'stored').catch(() => undefined)
      await committing.called
      await pass(clock, () => a.tasks.stats().leases === 0)
      b.store.fail()
      committing.go()
      await pass(clock, async () => (await stateAt(a, id)) === 'completed')
      expect(await resultOf(a, id)).toEqual(['approved: "stored"'])
    },
  )

  test('that comes before the wait is kept, in the order of its name', async () => {
    const execute: Execute = async (run) => {
      await run.waitFor('start')
      const values: unknown[] = []
      for (let n = 0; n < 3; n += 1) values.push(await run.waitFor('item'))
      return values.join()
    }
    const { a, b, clock } = replicas(execute)
    const { id } = await begin(a, 'go')
    await settle()
    for (const value of [1, 2]) await b.tasks.signal(id, 'item', value)
    await b.tasks.signal(id, 'start')
    await settle()
    clock.advance(2 * MINUTE)
    await settle()
    await b.tasks.signal(id, 'item', 3)
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    expect(await resultOf(b, id)).toEqual(['1,2,3'])
    expect((await b.tasks.getTask(id))?.signals).toBeUndefined()
  })

  test('is received again by a turn that continues, and a race keeps its winner', async () => {
    const execute: Execute = async (run) => {
      const winner = await Promise.race([
        run.waitFor('approval').then(() => 'approved'),
        run.sleep('limit', { ms: WEEK }).then(() => 'too late'),
      ])
      await run.sleep('later', { ms: WEEK })
      return winner
    }
    const { a, b, clock } = replicas(execute)
    const approved = await begin(a, 'go')
    const late = await begin(a, 'go')
    await settle()
    clock.advance(0)
    await settle()
    expect(a.tasks.stats().leases).toBe(0)
    await a.handler.close()
    await a.tasks.destroy()
    await b.tasks.signal(approved.id, 'approval')
    await settle()
    clock.advance(WEEK)
    const isLate = async (): Promise<boolean> =>
      (await b.tasks.journal(late.id)).some(({ entry }) => entry.kind === 'wake')
    await pass(clock, isLate)
    await b.tasks.signal(late.id, 'approval')
    await settle()
    clock.advance(2 * WEEK)
    await pass(clock, async () => (await stateAt(b, late.id)) === 'completed')
    expect(await resultOf(b, approved.id)).toEqual(['approved'])
    expect(await resultOf(b, late.id)).toEqual(['too late'])
  })

  test('does not wake a task that waits for another one', async () => {
    let calls = 0
    const { a, b, clock } = replicas(async (run) => {
      calls += 1
      await run.waitFor('approval')
      return 'done'
    })
    const { id } = await begin(a, 'go')
    await settle()
    clock.advance(MINUTE)
    await settle()
    await b.tasks.signal(id, 'other')
    await settle()
    clock.advance(2 * MINUTE)
    await settle()
    expect(await stateAt(b, id)).toBe('working')
    expect(calls).toBe(2)
    await b.tasks.signal(id, 'approval')
    await settle()
    expect(await stateAt(b, id)).toBe('completed')
  })

  test('to a task that has ended, or is not there, is refused', async () => {
    const { a, b } = replicas(() => 'done')
    const { id } = await begin(a, 'go')
    await settle()
    await expect(b.tasks.signal(id, 'approval')).rejects.toMatchObject({ code: 'TASK_TERMINAL' })
    await expect(b.tasks.signal('none', 'approval')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
    await expect(b.tasks.signal(id, '')).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    const long = b.tasks.signal(id, 'x'.repeat(201))
    await expect(long).rejects.toThrow('name must have at most 200 characters, got 201')
    await expect(b.tasks.signal(id, 'x', () => 1)).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
  })

  test('ends with the task', async () => {
    const { a, b, clock } = replicas(approval)
    const { id } = await begin(a, 'go')
    await settle()
    clock.advance(MINUTE)
    await settle()
    await b.tasks.cancelTask(id)
    await expect(b.tasks.signal(id, 'approval')).rejects.toMatchObject({ code: 'TASK_TERMINAL' })
    clock.advance(WEEK)
    await settle()
    expect(await stateAt(a, id)).toBe('canceled')
  })
})

describe('a signal in memory', () => {
  function agent(execute: Execute) {
    const clock = new ManualClock()
    const tasks = new TaskManager({ clock })
    const card = { name: 'Test', url: ORIGIN }
    const handler = createRequestHandler({ anonymous: 'shared', card, clock, execute, tasks })
    const start = async (): Promise<string> => {
      const request = { message: user('go'), configuration: { returnImmediately: true } }
      const { id } = taskOf(await call(jsonRpc, { handler }, 'SendMessage', request))
      await settle()
      return id
    }
    return { tasks, start }
  }

  test('is received when it comes, and kept until then', async () => {
    const { tasks, start } = agent(async (run) => {
      const first = await run.waitFor<number>('n')
      return `${first},${await run.waitFor<number>('n')},${await run.waitFor<number>('n')}`
    })
    const id = await start()
    tasks.signal(id, 'n', 1)
    tasks.signal(id, 'n', 2)
    await settle()
    expect(tasks.getTask(id)?.state).toBe('working')
    tasks.signal(id, 'n', 3)
    await settle()
    expect(tasks.getTask(id)?.artifacts[0]?.parts).toEqual([{ text: '1,2,3' }])
    expect(tasks.getTask(id)?.signals).toBeUndefined()
    expect(() => tasks.signal(id, 'n')).toThrow(expect.objectContaining({ code: 'TASK_TERMINAL' }))
    expect(() => tasks.signal('none', 'n')).toThrow(expect.objectContaining({ code: 'TASK_NOT_FOUND' }))
  })

  test('is checked by a schema, which may refuse it', async () => {
    const schema = z.object({ amount: z.string().transform(Number) })
    const errors: unknown[] = []
    const { tasks, start } = agent(async (run) => {
      const wait = (): Promise<{ amount: number }> => run.waitFor('pay', { schema })
      await wait().catch((error: unknown) => errors.push(error))
      return `${(await wait()).amount + 1}`
    })
    const id = await start()
    tasks.signal(id, 'pay', { amount: 1 })
    tasks.signal(id, 'pay', { amount: '41' })
    await settle()
    expect(errors).toMatchObject([{ code: 'INVALID_PARAMS' }])
    expect(String(errors[0])).toContain('amount')
    expect(tasks.getTask(id)?.artifacts[0]?.parts).toEqual([{ text: '42' }])
  })

  test('is refused beyond 1,000 that were not received, and beyond 1 MiB', async () => {
    const { tasks, start } = agent(async (run) => {
      await run.waitFor('never')
    })
    const id = await start()
    for (let n = 0; n < 1_000; n += 1) tasks.signal(id, 'n', n)
    expect(() => tasks.signal(id, 'n')).toThrow(expect.objectContaining({ code: 'LIMIT_EXCEEDED' }))
    const other = await start()
    tasks.signal(other, 'n', 'x'.repeat(600_000))
    const large = (): void => tasks.signal(other, 'n', 'x'.repeat(500_000))
    expect(large).toThrow(expect.objectContaining({ code: 'LIMIT_EXCEEDED' }))
  })
})
