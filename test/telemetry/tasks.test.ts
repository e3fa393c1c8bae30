/** Telemetry of a manager's tasks. */
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import * as otel from '@opentelemetry/api'
import { describe, expect, it } from 'vitest'
import { defineLifecycle, TaskManager } from 'a2a-tasks'
import { instrumentTasks } from 'a2a-tasks/telemetry'
import { ManualClock } from 'a2a-tasks/testing'
import { idOf, parentOf, sdk, textOfSpans, traceOf, unregister } from './support/sdk.js'

function run(
  tasks: TaskManager,
  ...states: ('working' | 'input-required' | 'completed' | 'failed')[]
): string {
  const { id } = tasks.createTask({ skill: 'x', contextId: 'conversation' })
  for (const state of states) tasks.updateTask(id, { state })
  return id
}

describe('the span of a task', () => {
  it('lasts from its creation to its end, with its transitions', () => {
    const { span, spans } = sdk()
    const tasks = new TaskManager()
    instrumentTasks(tasks)
    const id = run(tasks, 'working', 'completed')
    const execute = span('a2a.task.execute')
    expect(execute.kind).toBe(SpanKind.INTERNAL)
    expect(execute.attributes).toEqual({
      'a2a.task.id': id,
      'gen_ai.conversation.id': 'conversation',
      'a2a.task.state': 'TASK_STATE_COMPLETED',
    })
    expect(execute.events.map(({ name, attributes }) => [name, attributes])).toEqual([
      [
        'a2a.task.transition',
        { 'a2a.task.previous_state': 'TASK_STATE_SUBMITTED', 'a2a.task.state': 'TASK_STATE_WORKING' },
      ],
      [
        'a2a.task.transition',
        { 'a2a.task.previous_state': 'TASK_STATE_WORKING', 'a2a.task.state': 'TASK_STATE_COMPLETED' },
      ],
    ])
    expect(execute.status.code).toBe(SpanStatusCode.UNSET)
    expect(span('a2a.task.submit').attributes).toEqual({
      'a2a.task.id': id,
      'gen_ai.conversation.id': 'conversation',
    })
    expect(spans()).toHaveLength(2)
  })

  it('is a child of what is active where the task is created, beside that of its submission', () => {
    const { inSpan, span } = sdk()
    const tasks = new TaskManager()
    instrumentTasks(tasks)
    const id = inSpan('request', () => run(tasks, 'working'))
    tasks.updateTask(id, { state: 'completed' })
    const request = idOf(span('request'))
    expect([parentOf(span('a2a.task.submit')), parentOf(span('a2a.task.execute'))]).toEqual([
      request,
      request,
    ])
  })

  it('is an error when the task fails, and not when it is canceled', () => {
    const { spans } = sdk()
    const tasks = new TaskManager()
    instrumentTasks(tasks)
    run(tasks, 'working', 'failed')
    tasks.cancelTask(run(tasks))
    const ends = spans().filter(({ name }) => name === 'a2a.task.execute')
    expect(ends.map(({ status, attributes }) => [status.code, attributes['error.type']])).toEqual([
      [SpanStatusCode.ERROR, 'failed'],
      [SpanStatusCode.UNSET, undefined],
    ])
  })

  it('is linked from that of a cancel, which is a child of who canceled', () => {
    const { inSpan, span } = sdk()
    const tasks = new TaskManager()
    instrumentTasks(tasks)
    const id = run(tasks, 'working')
    inSpan('cancel request', () => tasks.cancelTask(id))
    const cancel = span('a2a.task.cancel')
    expect(parentOf(cancel)).toBe(idOf(span('cancel request')))
    expect(cancel.attributes).toEqual({ 'a2a.task.id': id })
    expect(cancel.links.map((link) => link.context.spanId)).toEqual([idOf(span('a2a.task.execute'))])
  })

  it('links a message that comes by another trace, once a request', () => {
    const { inSpan, span } = sdk()
    const tasks = new TaskManager()
    instrumentTasks(tasks)
    const say = (): void => {
      tasks.addMessage(id, { role: 'user', parts: [{ text: 'more' }] })
    }
    const id = inSpan('first', () => {
      const { id: made } = tasks.createTask({ skill: 'x' })
      tasks.addMessage(made, { role: 'user', parts: [{ text: 'begin' }] })
      return made
    })
    inSpan('second', () => {
      say()
      say()
    })
    inSpan('agent', () => tasks.addMessage(id, { role: 'agent', parts: [{ text: 'yes' }] }))
    inSpan('third', say)
    tasks.cancelTask(id)
    const execute = span('a2a.task.execute')
    expect(traceOf(execute)).toBe(traceOf(span('first')))
    expect(execute.links.map((link) => link.context.spanId)).toEqual([
      idOf(span('second')),
      idOf(span('third')),
    ])
  })

  it('begins with the next change of a task that was restored, as a child of what is active', () => {
    const before = new TaskManager()
    const ids = [run(before, 'working'), run(before, 'working', 'completed'), run(before, 'working')]
    const { inSpan, span, spans } = sdk()
    const tasks = new TaskManager()
    instrumentTasks(tasks)
    tasks.restore(before.snapshot())
    expect(spans()).toEqual([])
    const [id = ''] = ids
    inSpan('request', () =>
      tasks.updateTask(id, { state: 'completed', output: 1, artifacts: [{ name: 'a' }] }),
    )
    expect(span('a2a.task.execute').attributes).toMatchObject({ 'a2a.task.id': id })
    expect(parentOf(span('a2a.task.execute'))).toBe(idOf(span('request')))
    tasks.destroy()
    expect(spans()).toHaveLength(2)
  })

  it('ends once, also where the last command brings more than the end', () => {
    const { spans } = sdk()
    const tasks = new TaskManager()
    const stop = instrumentTasks(tasks)
    const id = run(tasks, 'working')
    tasks.updateTask(id, { state: 'completed', output: 'x', artifacts: [{ name: 'a' }], message: 'Done' })
    stop()
    expect(spans().map(({ name }) => name)).toEqual(['a2a.task.submit', 'a2a.task.execute'])
  })

  it('ends when the task expires, which is an error of one that had not ended', () => {
    const { span } = sdk()
    const clock = new ManualClock()
    const tasks = new TaskManager({ clock, expiryMs: 1_000 })
    instrumentTasks(tasks)
    run(tasks, 'working')
    clock.advance(2_000)
    tasks.prune()
    const { status, attributes } = span('a2a.task.execute')
    expect([status.code, attributes['error.type']]).toEqual([SpanStatusCode.ERROR, 'TASK_EXPIRED'])
  })

  it('ends when the manager is destroyed, and when one stops, each once', () => {
    const { spans } = sdk()
    const destroyed = new TaskManager()
    const stopDestroyed = instrumentTasks(destroyed)
    run(destroyed, 'working')
    destroyed.destroy()
    expect(spans()).toHaveLength(2)
    stopDestroyed()
    const stopped = new TaskManager()
    const stop = instrumentTasks(stopped)
    const id = run(stopped, 'working')
    stop()
    expect(spans()).toHaveLength(4)
    stopped.updateTask(id, { state: 'completed' })
    run(stopped, 'working')
    stopped.destroy()
    expect(spans()).toHaveLength(4)
    expect(spans().map(({ status }) => status.code)).toEqual([0, 0, 0, 0])
  })

  it('has the states of a lifecycle of its own as they are', async () => {
    const { span, metrics } = sdk()
    const lifecycle = defineLifecycle({
      todo: ['done', 'failed', 'canceled'],
      done: [],
      failed: [],
      canceled: [],
    })
    const tasks = new TaskManager({ lifecycle })
    instrumentTasks(tasks)
    tasks.updateTask(tasks.createTask({ skill: 'x' }).id, { state: 'done' })
    expect(span('a2a.task.execute').attributes['a2a.task.state']).toBe('done')
    expect((await metrics())['a2a.task.duration']?.points).toHaveLength(1)
  })

  it('tells nothing of what is said', async () => {
    const { spans, metrics } = sdk()
    const tasks = new TaskManager()
    instrumentTasks(tasks)
    const { id } = tasks.createTask({ skill: 'secret-skill', input: 'secret', metadata: { key: 'secret' } })
    tasks.addMessage(id, { role: 'user', parts: [{ text: 'secret' }] })
    tasks.updateTask(id, { state: 'working', message: 'secret' })
    tasks.updateTask(id, {
      state: 'failed',
      message: 'secret',
      output: 'secret',
      artifacts: [{ name: 'secret' }],
    })
    expect(spans()).toHaveLength(2)
    expect(textOfSpans(spans()) + JSON.stringify(await metrics())).not.toContain('secret')
  })
})

describe('the metrics of tasks', () => {
  it('count the states that are entered, and how long tasks took by their own clock, with states as attributes', async () => {
    const { metrics } = sdk()
    const clock = new ManualClock()
    const tasks = new TaskManager({ clock })
    instrumentTasks(tasks)
    for (const ms of [10, 30]) {
      const { id } = tasks.createTask({ skill: 'x' })
      tasks.updateTask(id, { state: 'working' })
      clock.advance(ms)
      tasks.updateTask(id, { state: 'completed' })
    }
    tasks.cancelTask(tasks.createTask({ skill: 'x' }).id)
    const state = (name: string, value: unknown): object => ({
      attributes: { 'a2a.task.state': name },
      value,
    })
    expect(await metrics()).toEqual({
      'a2a.tasks': {
        unit: '1',
        points: [
          state('TASK_STATE_SUBMITTED', 3),
          state('TASK_STATE_WORKING', 2),
          state('TASK_STATE_COMPLETED', 2),
          state('TASK_STATE_CANCELED', 1),
        ],
      },
      'a2a.task.duration': {
        unit: 'ms',
        points: [
          state('TASK_STATE_COMPLETED', { sum: 40, count: 2 }),
          state('TASK_STATE_CANCELED', { sum: 0, count: 1 }),
        ],
      },
    })
  })
})

describe('the prefix kaos', () => {
  it("gives spans, metrics and attributes KAOS' names", async () => {
    const { span, metrics } = sdk()
    const tasks = new TaskManager()
    instrumentTasks(tasks, { prefix: 'kaos' })
    const id = run(tasks, 'working')
    tasks.cancelTask(id)
    expect(span('kaos.task.submit').attributes).toEqual({ 'task.session_id': 'conversation' })
    expect(span('kaos.task.execute').attributes).toMatchObject({ 'task.id': id, 'task.state': 'canceled' })
    expect(span('kaos.task.cancel').attributes).toEqual({ 'task.id': id })
    const { 'kaos.tasks': counter, 'kaos.task.duration': histogram } = await metrics()
    expect(counter?.points.map(({ attributes }) => attributes)).toEqual([
      { state: 'submitted' },
      { state: 'working' },
      { state: 'canceled' },
    ])
    expect(histogram?.points.map(({ attributes }) => attributes)).toEqual([{ state: 'canceled' }])
  })

  it('is one of many: others keep the attributes of the draft', () => {
    const { span } = sdk()
    const tasks = new TaskManager()
    instrumentTasks(tasks, { prefix: 'my-agent' })
    run(tasks, 'working', 'completed')
    expect(span('my-agent.task.execute').attributes).toHaveProperty(['a2a.task.id'])
  })
})

describe('OpenTelemetry', () => {
  it('is not needed', () => {
    unregister()
    const tasks = new TaskManager()
    const stop = instrumentTasks(tasks)
    tasks.cancelTask(run(tasks, 'working'))
    run(tasks, 'working', 'completed')
    stop()
  })

  it('may be registered later, and heeds what happens from then on', async () => {
    unregister()
    const tasks = new TaskManager()
    instrumentTasks(tasks)
    const early = run(tasks, 'working')
    const { span, metrics } = sdk()
    tasks.updateTask(early, { state: 'completed' })
    expect(span('a2a.task.execute').attributes['a2a.task.id']).toBe(early)
    expect(Object.keys(await metrics())).toEqual(['a2a.tasks', 'a2a.task.duration'])
  })

  it('may be given', async () => {
    const { spans, metrics } = sdk()
    const tasks = new TaskManager()
    instrumentTasks(tasks, { api: otel })
    run(tasks, 'working', 'completed')
    expect(spans()).toHaveLength(2)
    expect(Object.keys(await metrics())).toHaveLength(2)
  })

  it('breaks no task by what it throws', () => {
    const broken = (): never => {
      throw new Error('The exporter is on fire')
    }
    const span = {
      spanContext: broken,
      setAttributes: broken,
      addEvent: broken,
      addLink: broken,
      setStatus: broken,
      end: broken,
    }
    const meter = { createCounter: () => ({ add: broken }), createHistogram: () => ({ record: broken }) }
    for (const startSpan of [broken, () => span]) {
      const tasks = new TaskManager()
      const failures: unknown[] = []
      tasks.on('listener:error', (failure) => failures.push(failure))
      const api = { ...otel, trace: otel.trace, metrics: { getMeter: () => meter } }
      const stop = instrumentTasks(tasks, {
        api: { ...api, trace: { ...bound(otel.trace), getTracer: () => ({ startSpan }) } },
      })
      const id = run(tasks, 'working')
      tasks.addMessage(id, { role: 'user', parts: [{ text: 'x' }] })
      tasks.cancelTask(id)
      run(tasks, 'working', 'failed')
      run(tasks, 'working')
      stop()
      expect(failures).toEqual([])
      expect(tasks.countTasks({ state: 'failed' })).toBe(1)
    }
  })

  it.each([
    [{ prefix: '' }, '"prefix" must be a letter'],
    [{ prefix: 'a b' }, '"prefix" must be a letter'],
    [{ api: {} as typeof otel }, '"api" must be the package @opentelemetry/api: it has no trace'],
    [{ prefx: 'a2a', prefix: 'a2a' }, 'Unknown option "prefx" of instrumentTasks; known are prefix, api'],
  ])('is told what is wrong with %j', (options, text) => {
    expect(() => instrumentTasks(new TaskManager(), options)).toThrow(text)
  })
})

/** Its methods need a `this`, or are taken one by one. */
function bound({
  setSpan,
  getSpanContext,
}: typeof otel.trace): Pick<typeof otel.trace, 'setSpan' | 'getSpanContext'> {
  return { setSpan, getSpanContext }
}
