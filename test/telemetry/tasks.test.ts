/** Telemetry of the tasks of both managers. */
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import * as otel from '@opentelemetry/api'
import { describe, expect, it } from 'vitest'
import { defineLifecycle } from 'a2a-tasks'
import { instrumentTasks } from 'a2a-tasks/telemetry'
import { ManualClock } from 'a2a-tasks/testing'
import { MANAGERS, run } from './support/managers.js'
import { idOf, parentOf, sdk, textOfSpans, traceOf, unregister } from './support/sdk.js'

describe.each(MANAGERS)('over $name,', ({ make }) => {
  describe('the span of a task', () => {
    it('lasts from its creation to its end, with its transitions', async () => {
      const { span, spans } = sdk()
      const tasks = make()
      instrumentTasks(tasks)
      const id = await run(tasks, 'working', 'completed')
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

    it('is a child of what is active where the task is created, beside that of its submission', async () => {
      const { inSpan, span } = sdk()
      const tasks = make()
      instrumentTasks(tasks)
      const id = await inSpan('request', () => run(tasks, 'working'))
      await tasks.updateTask(id, { state: 'completed' })
      const request = idOf(span('request'))
      expect([parentOf(span('a2a.task.submit')), parentOf(span('a2a.task.execute'))]).toEqual([
        request,
        request,
      ])
    })

    it('is an error when the task fails, and not when it is canceled', async () => {
      const { spans } = sdk()
      const tasks = make()
      instrumentTasks(tasks)
      await run(tasks, 'working', 'failed')
      await tasks.cancelTask(await run(tasks))
      const ends = spans().filter(({ name }) => name === 'a2a.task.execute')
      expect(ends.map(({ status, attributes }) => [status.code, attributes['error.type']])).toEqual([
        [SpanStatusCode.ERROR, 'failed'],
        [SpanStatusCode.UNSET, undefined],
      ])
    })

    it("is linked from that of a cancel, which is a child of the caller's", async () => {
      const { inSpan, span } = sdk()
      const tasks = make()
      instrumentTasks(tasks)
      const id = await run(tasks, 'working')
      await inSpan('cancel request', async () => await tasks.cancelTask(id))
      const cancel = span('a2a.task.cancel')
      expect(parentOf(cancel)).toBe(idOf(span('cancel request')))
      expect(cancel.attributes).toEqual({ 'a2a.task.id': id })
      expect(cancel.links.map((link) => link.context.spanId)).toEqual([idOf(span('a2a.task.execute'))])
    })

    it('links a message that comes by another trace, once a request', async () => {
      const { inSpan, span } = sdk()
      const tasks = make()
      instrumentTasks(tasks)
      const say = async (): Promise<void> => {
        await tasks.addMessage(id, { role: 'user', parts: [{ text: 'more' }] })
      }
      const id = await inSpan('first', async () => {
        const { id: made } = await tasks.createTask({ skill: 'x' })
        await tasks.addMessage(made, { role: 'user', parts: [{ text: 'begin' }] })
        return made
      })
      await inSpan('second', async () => {
        await say()
        await say()
      })
      await inSpan(
        'agent',
        async () => await tasks.addMessage(id, { role: 'agent', parts: [{ text: 'yes' }] }),
      )
      await inSpan('third', say)
      await tasks.cancelTask(id)
      const execute = span('a2a.task.execute')
      expect(traceOf(execute)).toBe(traceOf(span('first')))
      expect(execute.links.map((link) => link.context.spanId)).toEqual([
        idOf(span('second')),
        idOf(span('third')),
      ])
    })

    it('ends once, also where the last command brings more than the end', async () => {
      const { spans } = sdk()
      const tasks = make()
      const stop = instrumentTasks(tasks)
      const id = await run(tasks, 'working')
      await tasks.updateTask(id, {
        state: 'completed',
        output: 'x',
        artifacts: [{ name: 'a' }],
        message: 'Done',
      })
      stop()
      expect(spans().map(({ name }) => name)).toEqual(['a2a.task.submit', 'a2a.task.execute'])
    })

    it('ends when the manager is destroyed, and when one stops, each once', async () => {
      const { spans } = sdk()
      const destroyed = make()
      const stopDestroyed = instrumentTasks(destroyed)
      await run(destroyed, 'working')
      await destroyed.destroy()
      expect(spans()).toHaveLength(2)
      stopDestroyed()
      const stopped = make()
      const stop = instrumentTasks(stopped)
      const id = await run(stopped, 'working')
      stop()
      expect(spans()).toHaveLength(4)
      await stopped.updateTask(id, { state: 'completed' })
      await run(stopped, 'working')
      await stopped.destroy()
      expect(spans()).toHaveLength(4)
      expect(spans().map(({ status }) => status.code)).toEqual([0, 0, 0, 0])
    })

    it('has the states of a custom lifecycle as they are', async () => {
      const { span, metrics } = sdk()
      const lifecycle = defineLifecycle({
        todo: ['done', 'failed', 'canceled'],
        done: [],
        failed: [],
        canceled: [],
      })
      const tasks = make({ lifecycle })
      instrumentTasks(tasks)
      const { id } = await tasks.createTask({ skill: 'x' })
      await tasks.updateTask(id, { state: 'done' })
      expect(span('a2a.task.execute').attributes['a2a.task.state']).toBe('done')
      expect((await metrics())['a2a.task.duration']?.points).toHaveLength(1)
    })

    it('reveals nothing of what is said', async () => {
      const { spans, metrics } = sdk()
      const tasks = make()
      instrumentTasks(tasks)
      const { id } = await tasks.createTask({
        skill: 'secret-skill',
        input: 'secret',
        metadata: { key: 'secret' },
      })
      await tasks.addMessage(id, { role: 'user', parts: [{ text: 'secret' }] })
      await tasks.updateTask(id, { state: 'working', message: 'secret' })
      await tasks.updateTask(id, {
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
      const tasks = make({ clock })
      instrumentTasks(tasks)
      for (const ms of [10, 30]) {
        const { id } = await tasks.createTask({ skill: 'x' })
        await tasks.updateTask(id, { state: 'working' })
        clock.advance(ms)
        await tasks.updateTask(id, { state: 'completed' })
      }
      await tasks.cancelTask((await tasks.createTask({ skill: 'x' })).id)
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
      const tasks = make()
      instrumentTasks(tasks, { prefix: 'kaos' })
      const id = await run(tasks, 'working')
      await tasks.cancelTask(id)
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

    it('is one of many: others keep the attributes of the draft', async () => {
      const { span } = sdk()
      const tasks = make()
      instrumentTasks(tasks, { prefix: 'my-agent' })
      await run(tasks, 'working', 'completed')
      expect(span('my-agent.task.execute').attributes).toHaveProperty(['a2a.task.id'])
    })
  })

  describe('OpenTelemetry', () => {
    it('is not needed', async () => {
      unregister()
      const tasks = make()
      const stop = instrumentTasks(tasks)
      await tasks.cancelTask(await run(tasks, 'working'))
      await run(tasks, 'working', 'completed')
      stop()
    })

    it('may be registered later, and records changes from then on', async () => {
      unregister()
      const tasks = make()
      instrumentTasks(tasks)
      const early = await run(tasks, 'working')
      const { span, metrics } = sdk()
      await tasks.updateTask(early, { state: 'completed' })
      expect(span('a2a.task.execute').attributes['a2a.task.id']).toBe(early)
      expect(Object.keys(await metrics())).toEqual(['a2a.tasks', 'a2a.task.duration'])
    })

    it('may be given', async () => {
      const { spans, metrics } = sdk()
      const tasks = make()
      instrumentTasks(tasks, { api: otel })
      await run(tasks, 'working', 'completed')
      expect(spans()).toHaveLength(2)
      expect(Object.keys(await metrics())).toHaveLength(2)
    })

    it('breaks no task by an error that it throws', async () => {
      const broken = (): never => {
        throw new Error('The exporter is on fire')
      }
      const span = {
        spanContext: broken,
        updateName: broken,
        setAttributes: broken,
        addEvent: broken,
        addLink: broken,
        setStatus: broken,
        end: broken,
      }
      const meter = {
        createCounter: () => ({ add: broken }),
        createHistogram: () => ({ record: broken }),
        createObservableGauge: broken,
      }
      for (const startSpan of [broken, () => span]) {
        const tasks = make()
        const failures: unknown[] = []
        tasks.on('listener:error', (failure) => failures.push(failure))
        const api = { ...otel, trace: otel.trace, metrics: { getMeter: () => meter } }
        const stop = instrumentTasks(tasks, {
          api: { ...api, trace: { ...bound(otel.trace), getTracer: () => ({ startSpan }) } },
        })
        const id = await run(tasks, 'working')
        await tasks.addMessage(id, { role: 'user', parts: [{ text: 'x' }] })
        await tasks.cancelTask(id)
        await run(tasks, 'working', 'failed')
        await run(tasks, 'working')
        stop()
        expect(failures).toEqual([])
        expect(await tasks.countTasks({ state: 'failed' })).toBe(1)
      }
    })

    it.each([
      [{ prefix: '' }, '"prefix" must begin with a letter'],
      [{ prefix: 'a b' }, '"prefix" must begin with a letter'],
      [{ api: {} as typeof otel }, '"api" must be the package @opentelemetry/api: it has no trace'],
      [
        { prefx: 'a2a', prefix: 'a2a' },
        'Unknown option "prefx" of instrumentTasks, did you mean "prefix"?; known are prefix, api',
      ],
    ])('receives the error of %j', (options, text) => {
      expect(() => instrumentTasks(make(), options)).toThrow(text)
    })
  })
})

/** Its methods need a `this`, or are taken one by one. */
function bound({
  setSpan,
  getSpanContext,
}: typeof otel.trace): Pick<typeof otel.trace, 'setSpan' | 'getSpanContext'> {
  return { setSpan, getSpanContext }
}
