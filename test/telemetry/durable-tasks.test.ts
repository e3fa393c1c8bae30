/** Telemetry of tasks that several processes share. */
import { SpanStatusCode } from '@opentelemetry/api'
import { describe, expect, it } from 'vitest'
import type { DurableTaskManagerOptions } from 'a2a-tasks/durable'
import { instrumentTasks } from 'a2a-tasks/telemetry'
import { replicas, says } from '../durable/support/durable.js'
import { pass, worker, workers, type Workers } from '../durable/support/leased.js'
import { idOf, parentOf, sdk, type Sdk } from './support/sdk.js'

/** Two replicas, whose spans begin with `here` and `there`. */
function recorded(options: Partial<DurableTaskManagerOptions> = {}): Sdk & Workers {
  const recording = sdk()
  const all = workers(options)
  instrumentTasks(all.a, { prefix: 'here' })
  instrumentTasks(all.b, { prefix: 'there' })
  return { ...recording, ...all }
}

/** The names and error types of the spans that have ended. */
function ended({ spans }: Sdk): string[] {
  return spans().map(({ name, attributes }) => [name, attributes['error.type']].flat().join(' ').trim())
}

describe('a task that one replica holds', () => {
  it('has its span there only, also for what another replica does', async () => {
    const all = recorded()
    const { here, a, b, span } = all
    const { id } = here.leased.createTask({ skill: 'x' })
    here.leased.patchTask(id, { state: 'working' })
    await here.leased.stored(id)
    await b.addMessage(id, says('more'))
    await b.cancelTask(id)
    await a.getTask(id)
    expect(ended(all)).toEqual(['here.task.submit', 'there.task.cancel', 'here.task.execute'])
    const { attributes, events, status } = span('here.task.execute')
    expect(attributes['a2a.task.state']).toBe('TASK_STATE_CANCELED')
    expect(events.map((event) => event.attributes?.['a2a.task.state'])).toEqual([
      'TASK_STATE_WORKING',
      'TASK_STATE_CANCELED',
    ])
    expect(status.code).toBe(SpanStatusCode.UNSET)
  })

  it('is counted by the replica that makes the change', async () => {
    const { here, a, b, metrics } = recorded()
    const { id } = here.leased.createTask({ skill: 'x' })
    await here.leased.stored(id)
    await b.cancelTask(id)
    await a.getTask(id)
    const measured = Object.entries(await metrics()).map(([name, { points }]) => [
      name,
      points.map(({ attributes }) => attributes['a2a.task.state']),
    ])
    expect(Object.fromEntries(measured)).toEqual({
      'here.tasks': ['TASK_STATE_SUBMITTED'],
      'there.tasks': ['TASK_STATE_CANCELED'],
      'there.task.duration': ['TASK_STATE_CANCELED'],
    })
  })

  it('is an error when another replica fails it', async () => {
    const all = recorded()
    const { id } = await all.a.createTask({ skill: 'x' })
    await all.b.updateTask(id, { state: 'working' })
    await all.b.updateTask(id, { state: 'failed' })
    await all.a.getTask(id)
    expect(ended(all)).toEqual(['here.task.submit', 'here.task.execute failed'])
    expect(all.span('here.task.execute').events).toHaveLength(2)
  })

  it('has a span of each that holds it, one after the other', async () => {
    const all = recorded()
    const { here, there, inSpan, span } = all
    const { id } = here.leased.createTask({ skill: 'x' })
    here.leased.patchTask(id, { state: 'working' })
    here.leased.patchTask(id, { state: 'input-required' })
    expect(await here.leased.release(id)).toBe(true)
    expect(ended(all)).toEqual(['here.task.submit', 'here.task.execute'])
    await inSpan('answer', async () => await there.leased.acquire(id))
    there.leased.patchTask(id, { state: 'working' })
    there.leased.patchTask(id, { state: 'completed' })
    await there.leased.stored(id)
    expect(ended(all)).toEqual(['here.task.submit', 'here.task.execute', 'answer', 'there.task.execute'])
    expect(parentOf(span('there.task.execute'))).toBe(idOf(span('answer')))
    expect(span('there.task.execute').attributes['a2a.task.state']).toBe('TASK_STATE_COMPLETED')
  })

  it('keeps its span when its creator takes the lease later', async () => {
    const all = recorded()
    const { id } = await all.a.createTask({ skill: 'x' })
    await all.here.leased.acquire(id)
    all.here.leased.patchTask(id, { state: 'rejected' })
    await all.here.leased.stored(id)
    expect(ended(all)).toEqual(['here.task.submit', 'here.task.execute'])
  })

  it('has a span also when it was held before the manager was instrumented', async () => {
    const recording = sdk()
    const { a } = replicas(1)
    const { leased } = worker(a)
    const { id } = leased.createTask({ skill: 'x' })
    await leased.stored(id)
    const stop = instrumentTasks(a)
    leased.patchTask(id, { state: 'rejected' })
    await leased.stored(id)
    stop()
    expect(ended(recording)).toEqual(['a2a.task.execute'])
  })
})

describe('the span of a task that its process no longer holds', () => {
  it('is an error when the lease is lost, which is counted', async () => {
    const all = recorded({ sweepIntervalMs: false, recover: 'resume' })
    const { here, there, clock, faults, metrics } = all
    const { id } = here.leased.createTask({ skill: 'x' })
    await here.leased.stored(id)
    faults.before = (step) => {
      if (step === 'renew') throw new Error('Paused')
    }
    await pass(clock, 31_000)
    await there.leased.acquire(id)
    faults.before = undefined
    await pass(clock, 10_000)
    expect(ended(all)).toEqual(['here.task.submit', 'here.task.execute LEASE_LOST'])
    const { 'here.lost_leases': lost, 'there.lost_leases': none } = await metrics()
    expect(lost).toEqual({ unit: '1', points: [{ attributes: { 'error.type': 'LEASE_LOST' }, value: 1 }] })
    expect(none).toBeUndefined()
  })

  it('begins a trace where the task is recovered, whatever request the timer was set in', async () => {
    const all = recorded({ recover: 'resume', sweepIntervalMs: 10_000 })
    const { here, there, a, clock, faults, inSpan, span } = all
    const { id } = here.leased.createTask({ skill: 'x' })
    await here.leased.stored(id)
    faults.before = () => {
      throw new Error('Dead')
    }
    await inSpan('unrelated', async () => await pass(clock, 60_000))
    expect(there.calls).toMatchObject([{ orphan: { id } }])
    there.leased.patchTask(id, { state: 'rejected' })
    await there.leased.stored(id)
    expect(parentOf(span('there.task.execute'))).toBeUndefined()
    faults.before = undefined
    await a.destroy()
    expect(ended(all).filter((name) => name.startsWith('here.task.execute'))).toHaveLength(1)
  })

  it('is an error when the task is removed', async () => {
    const all = recorded()
    const { id, createdAt } = await all.a.createTask({ skill: 'x' })
    await all.store.delete([{ id, createdAt }])
    expect(await all.a.getTask(id)).toBeNull()
    expect(ended(all)).toEqual(['here.task.submit', 'here.task.execute TASK_NOT_FOUND'])
    expect(Object.keys(await all.metrics())).toEqual(['here.tasks'])
  })

  it('ends when the task is not in memory any more, and another change does not begin one', async () => {
    const all = recorded({ maxCached: 2 })
    const { a } = all
    const { id } = await a.createTask({ skill: 'x' })
    for (let count = 0; count < 3; count += 1) await a.createTask({ skill: 'x' })
    expect(ended(all).filter((name) => name === 'here.task.execute')).toHaveLength(2)
    await a.updateTask(id, { state: 'rejected' })
    await a.destroy()
    expect(ended(all).filter((name) => name === 'here.task.execute')).toHaveLength(4)
  })

  it('stays open when another task cannot be created with its id', async () => {
    const all = recorded()
    await all.a.createTask({ skill: 'x', id: 'same' })
    all.clock.advance(1)
    await expect(all.a.createTask({ skill: 'x', id: 'same' })).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
    })
    expect(ended(all)).toEqual(['here.task.submit'])
  })

  it('ends with its manager, also of a task that is leased', async () => {
    const all = recorded()
    const { id } = all.here.leased.createTask({ skill: 'x' })
    await all.here.leased.stored(id)
    await all.a.createTask({ skill: 'x' })
    await all.a.destroy()
    const executes = all.spans().filter(({ name }) => name === 'here.task.execute')
    expect(executes.map(({ status }) => status.code)).toEqual([SpanStatusCode.UNSET, SpanStatusCode.UNSET])
  })
})

describe('changes that are stored together', () => {
  it('are each recorded in the context of their own request', async () => {
    const { a, inSpan, span } = recorded()
    const { id } = await inSpan('create', async () => await a.createTask({ skill: 'x' }))
    await Promise.all([
      inSpan('work', async () => await a.updateTask(id, { state: 'working' })),
      inSpan('message', async () => await a.addMessage(id, says('more'))),
      inSpan('cancel', async () => await a.cancelTask(id)),
    ])
    expect(parentOf(span('here.task.cancel'))).toBe(idOf(span('cancel')))
    const { links, ...execute } = span('here.task.execute')
    expect(parentOf(execute as ReturnType<typeof span>)).toBe(idOf(span('create')))
    expect(links.map((link) => link.context.spanId)).toEqual([idOf(span('message'))])
  })
})

describe('instrumentTasks', () => {
  it('stops recording what a manager of leases does', async () => {
    const recording = sdk()
    const { a } = replicas(1)
    const { leased } = worker(a)
    const stop = instrumentTasks(a)
    const { id } = leased.createTask({ skill: 'x' })
    await leased.stored(id)
    stop()
    expect(ended(recording)).toEqual(['a2a.task.submit', 'a2a.task.execute'])
    await leased.release(id)
    await leased.acquire(id)
    leased.patchTask(id, { state: 'rejected' })
    await leased.stored(id)
    await a.destroy()
    expect(ended(recording)).toHaveLength(2)
  })

  it('refuses what is no manager, and says what to pass', () => {
    const { a, store } = replicas(1)
    const refused = (tasks: unknown): (() => void) => {
      return () => instrumentTasks(tasks as never)
    }
    const text = '"tasks" must be a TaskManager or a DurableTaskManager'
    expect(refused(null)).toThrow(new TypeError(text))
    expect(refused({})).toThrow(new TypeError(text))
    expect(refused(store)).toThrow(new TypeError(`${text}, got a store: new DurableTaskManager({ store })`))
    expect(refused(Promise.resolve(a))).toThrow(new TypeError(`${text}, got a promise: await it`))
    expect(refused(worker(a).leased)).toThrow(new TypeError(text))
    const older = new Proxy(a, {
      get: (target, name): unknown => (name === 'observe' ? undefined : Reflect.get(target, name, target)),
    })
    expect(refused(older)).toThrow(
      new TypeError(
        '"tasks" is a manager of leases without the method "observe": use a DurableTaskManager of a2a-tasks/durable',
      ),
    )
  })
})
