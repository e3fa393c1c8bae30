/** Spans of steps, also of those that a turn repeats from its history. */
import { trace } from '@opentelemetry/api'
import { TaskManager } from 'a2a-tasks'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'
import { instrumentHandler, instrumentTasks } from 'a2a-tasks/telemetry'
import { expect, it } from 'vitest'
import { begin, get, pass, replicas } from '../server/durable/support/replicas.js'
import { call, jsonRpc, ORIGIN, user } from '../server/spec/support/agent.js'
import { idOf, parentOf, sdk, traceOf } from './support/sdk.js'

type Span = ReturnType<ReturnType<typeof sdk>['spans']>[number]

function summaryOf({ name, attributes }: Span): string {
  const error = attributes['error.type']
  const replayed = attributes['a2a.step.replayed'] === true ? ' replayed' : ''
  return `${name} ${String(attributes['a2a.step.name'])}${replayed}${error !== undefined ? ` ${String(error)}` : ''}`
}

it('each step has a span in the trace of its request, and what it calls is in that span', async () => {
  const { spans, span } = sdk()
  const execute: Execute = async (run) => {
    await run.step('one', () => trace.getTracer('test').startSpan('call').end())
    await run
      .step('two', () => {
        throw new RangeError('No')
      })
      .catch(() => undefined)
  }
  const card = { name: 'Worker', url: ORIGIN }
  const handler = instrumentHandler(createRequestHandler({ card, execute, tasks: new TaskManager() }))
  await call(jsonRpc, { handler }, 'SendMessage', { message: user('go') })
  const steps = spans().filter(({ name }) => name === 'a2a.task.step')
  expect(steps.map(summaryOf)).toEqual(['a2a.task.step one#1', 'a2a.task.step two#1 RangeError'])
  expect(steps[0]?.attributes['a2a.task.id']).toBeTypeOf('string')
  expect(steps.map(parentOf)).toEqual([idOf(span('SendMessage')), idOf(span('SendMessage'))])
  expect(parentOf(span('call'))).toBe(steps[0] && idOf(steps[0]))
  await handler.close()
})

it('a replica that continues a turn marks the steps of its history, in the trace of the request', async () => {
  const { spans, inSpan, span } = sdk()
  let isAlive = true
  const execute: Execute = async (run) => {
    await run.step('one', () => 1)
    if (isAlive) await new Promise(() => undefined)
    await run.step('two', () => 2)
  }
  const { a, b, clock } = replicas(execute, {
    manager: { recover: 'resume', leaseMs: 1_000, sweepIntervalMs: 500 },
  })
  const here = { ...a, handler: instrumentHandler(a.handler) }
  instrumentHandler(b.handler)
  // The trace is stored with the lease of the task.
  for (const { tasks } of [a, b]) instrumentTasks(tasks)
  const { id } = await inSpan('request', () => begin(here, 'go'))
  await pass(clock, () => spans().some(({ name }) => name === 'a2a.task.step'))
  isAlive = false
  await a.tasks.destroy()
  await pass(clock, async () => (await get(b, id)).status.state === 'TASK_STATE_COMPLETED')
  const steps = spans().filter(({ name }) => name === 'a2a.task.step')
  expect(steps.map(summaryOf)).toEqual([
    ...['a2a.task.step one#1', 'a2a.task.step one#1 replayed', 'a2a.task.step two#1'],
  ])
  expect(new Set(steps.map(traceOf))).toEqual(new Set([traceOf(span('request'))]))
})
