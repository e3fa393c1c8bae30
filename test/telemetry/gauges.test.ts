/** Gauges of tasks, runs, streams, webhooks and leases. */
import { describe, expect, it } from 'vitest'
import { createRequestHandler } from 'a2a-tasks/server'
import { instrumentHandler, instrumentTasks } from 'a2a-tasks/telemetry'
import { pass, workers } from '../durable/support/leased.js'
import { MANAGERS, run } from './support/managers.js'
import { sdk, type Sdk } from './support/sdk.js'

/** The values that are not 0, by metric and state. */
async function values({ gauges }: Sdk): Promise<Record<string, unknown>> {
  const all = Object.entries(await gauges()).flatMap(([name, { points }]) =>
    points.map(({ attributes, value }) => {
      const [state] = Object.values(attributes)
      return [state === undefined ? name : `${name} ${String(state)}`, value] as const
    }),
  )
  return Object.fromEntries(all.filter(([, value]) => value !== 0))
}

describe.each(MANAGERS)('over $name,', ({ make }) => {
  it('live tasks are counted by state, until recording stops', async () => {
    const recording = sdk()
    const tasks = make()
    const stop = instrumentTasks(tasks)
    await run(tasks, 'working', 'input-required')
    await run(tasks, 'working')
    await run(tasks, 'working', 'completed')
    expect(await values(recording)).toEqual({
      'a2a.server.task.in_progress TASK_STATE_INPUT_REQUIRED': 1,
      'a2a.server.task.in_progress TASK_STATE_WORKING': 1,
    })
    stop()
    const before = await values(recording)
    await run(tasks, 'working')
    expect(await values(recording)).toEqual(before)
  })

  it('runs are counted while they work and while they wait', async () => {
    const recording = sdk()
    let finish = (): void => {}
    const finished = new Promise<void>((resolve) => {
      finish = resolve
    })
    const handler = instrumentHandler(
      createRequestHandler({
        card: { name: 'Agent', url: 'http://agent.test' },
        tasks: make(),
        async execute(run) {
          if (run.text === 'ask') await run.requireInput('Which?')
          run.update('Working')
          await finished
        },
      }),
    )
    const send = (text: string): unknown =>
      handler.dispatch({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: {
          message: { messageId: text, role: 'ROLE_USER', parts: [{ text }] },
          configuration: { returnImmediately: true },
        },
      })
    await Promise.all([send('ask'), send('work')])
    expect(await values(recording)).toEqual({ 'a2a.server.runs working': 1, 'a2a.server.runs waiting': 1 })
    expect(handler.stats()).toEqual({
      runs: { working: 1, waiting: 1 },
      streams: 0,
      webhooks: { idle: 0, delivering: 0, retrying: 0, disabled: 0, backlog: 0 },
    })
    finish()
    await handler.close({ graceMs: 1_000 })
    expect(await values(recording)).toEqual({})
  })
})

it('leases are counted, and the lag grows while the store cannot be read', async () => {
  const { a, here, clock, faults } = workers({
    pollIntervalMs: 1_000,
    leaseMs: 600_000,
    onError: () => undefined,
  })
  expect(a.stats()).toEqual({ leases: 0, logLagMs: 0 })
  const { id } = here.leased.createTask({ skill: 'x' })
  await here.leased.stored(id)
  await pass(clock, 5_000)
  expect(a.stats().leases).toBe(1)
  expect(a.stats().logLagMs).toBeLessThanOrEqual(1_000)
  faults.before = (step) => {
    if (step === 'heads') throw new Error('Down')
  }
  await pass(clock, 20_000)
  expect(a.stats().logLagMs).toBeGreaterThanOrEqual(20_000)
  faults.before = undefined
  here.leased.patchTask(id, { state: 'rejected' })
  await here.leased.release(id)
  expect(a.stats().leases).toBe(0)
})

it('turns that wait and that are under way are counted, with the wait of the first', async () => {
  const recording = sdk()
  const { a, b, here, clock } = workers({ leaseMs: 30_000 })
  const stop = instrumentTasks(b)
  const { id } = here.leased.createTask({ skill: 'x' })
  await here.leased.stored(id)
  expect(await values(recording)).toMatchObject({ 'a2a.server.turns busy': 1 })
  await here.leased.handOut(id)
  clock.advance(4_000)
  const waiting = await values(recording)
  expect(waiting).toMatchObject({ 'a2a.server.turns waiting': 1, 'a2a.server.turn.wait': 4 })
  expect(waiting).not.toHaveProperty('a2a.server.turns busy')
  stop()
  await a.destroy()
})
