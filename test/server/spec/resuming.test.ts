import type { Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { setImmediate as turn } from 'node:timers/promises'
import { walk } from '../../support/manager.js'
import {
  agent,
  BINDINGS,
  call,
  gate,
  nameOf,
  open,
  refused,
  SseReader,
  textsOf,
  user,
} from './support/agent.js'
import type { Binding, EventStream, StreamItem, TestAgent, TestAgentOptions } from './support/agent.js'

const message = () => ({ message: user('go') })

interface Working {
  readonly a: TestAgent
  readonly id: string
  readonly run: Run
  readonly finish: () => void
}

/** A task that is worked on until `finish` is called. */
async function working(options?: TestAgentOptions): Promise<Working> {
  const { opened, open: finish } = gate()
  const began = gate<Run>()
  const a = agent(async (run) => {
    run.start()
    began.open(run)
    await opened
  }, options)
  const sent = a.handler.dispatch({
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: { ...message(), configuration: { returnImmediately: true } },
  })
  const run = await began.opened
  await sent
  return { a, id: run.task.id, run, finish: () => finish() }
}

function resume(binding: Binding, { a, id }: Working, lastEventId: string): Promise<EventStream> {
  return open(binding, a, 'SubscribeToTask', { id }, { headers: { 'Last-Event-ID': lastEventId } })
}

async function take(stream: EventStream, count: number): Promise<StreamItem[]> {
  const items: StreamItem[] = []
  for (let index = 0; index < count; index++) {
    const item = await stream.next()
    if (item !== undefined) items.push(item)
  }
  return items
}

describe.each(BINDINGS)('$name: heartbeats', (binding) => {
  test('a silent stream says at every beat that it is alive, and a reader that reads nothing is sent none', async () => {
    const { a, id, run, finish } = await working({ heartbeatMs: 1000 })
    const response = await a.handler.fetch(binding.request('SubscribeToTask', { id }))
    const stalled = await a.handler.fetch(binding.request('SubscribeToTask', { id }))
    const reader = new SseReader(response)
    expect(await reader.next()).toHaveProperty('data')
    for (let count = 0; count < 3; count++) {
      const beat = reader.next()
      await turn()
      a.clock.advance(1000)
      expect(await beat).toEqual({ comment: '' })
    }
    const event = reader.next()
    await turn()
    a.clock.advance(999)
    run.artifact('text')
    expect(await event).toHaveProperty('data')
    finish()
    expect(await reader.next()).toHaveProperty('data')
    expect(await reader.next()).toBeUndefined()
    expect(await new SseReader(stalled).next()).toHaveProperty('data')
  })

  test('where no stream is open no timer is', async () => {
    const { a, id, finish } = await working({ heartbeatMs: 1000 })
    const before = a.clock.pending
    const streams = [
      await open(binding, a, 'SubscribeToTask', { id }),
      await open(binding, a, 'SubscribeToTask', { id }),
    ]
    expect(a.clock.pending).toBe(before + 1)
    await streams[0]?.leave()
    expect(a.clock.pending).toBe(before + 1)
    finish()
    await streams[1]?.rest()
    await a.tasks.waitFor(id)
    expect(a.clock.pending).toBe(before)
  })
})

describe.each(BINDINGS)('$name: Last-Event-ID', (binding) => {
  test('36. after any event, the rest comes: nothing is lost, nothing twice', async () => {
    const w = await working()
    const whole = await resume(binding, w, '0')
    for (let count = 0; count < 5; count++) w.run.artifact({ artifactId: 'a', parts: [{ text: `${count}` }] })
    const seen = await take(whole, 6)
    expect(seen.map(({ id }) => Number(id))).toEqual(seen.map(({ id }) => Number(id)).sort((x, y) => x - y))
    for (const [index, { id = '' }] of seen.entries()) {
      const resumed = await resume(binding, w, id)
      const rest = seen.slice(index + 1)
      expect(await take(resumed, rest.length)).toEqual(rest)
      await resumed.leave()
    }
    const live = await resume(binding, w, seen.at(-1)?.id ?? '')
    w.finish()
    expect((await live.rest()).map(nameOf)).toEqual(['completed'])
    expect((await whole.rest()).map(nameOf)).toEqual(['completed'])
  })

  test('36. events from while the client was away are sent even if the task has ended since', async () => {
    const w = await working()
    const stream = await resume(binding, w, '0')
    const [first] = await take(stream, 1)
    await stream.leave()
    w.run.artifact('text')
    w.finish()
    await w.a.tasks.waitFor(w.id)
    const rest = await (await resume(binding, w, first?.id ?? '')).rest()
    expect(rest.map(nameOf)).toEqual(['artifact:text', 'completed'])
    const last = rest.at(-1)?.id ?? ''
    const again = { headers: { 'Last-Event-ID': last } }
    expect((await refused(binding, w.a, 'SubscribeToTask', { id: w.id }, again)).reason).toBe(
      'UNSUPPORTED_OPERATION',
    )
  })

  test('an event that is no longer held stands for the whole task: resync', async () => {
    const w = await working({ tasks: { eventLogSize: 2 } })
    const stream = await resume(binding, w, '0')
    const [first] = await take(stream, 1)
    await stream.leave()
    for (let count = 0; count < 9; count++) w.run.artifact({ artifactId: 'a', parts: [{ text: `${count}` }] })
    const resumed = await resume(binding, w, first?.id ?? '')
    const [resync] = await take(resumed, 1)
    expect(resync?.event).toBe('resync')
    expect(resync?.value.task && textsOf(resync.value.task)).toEqual(['012345678'])
    expect(Number(resync?.id)).toBe(w.run.task.generation)
    w.finish()
    expect((await resumed.rest()).map(nameOf)).toEqual(['completed'])
  })

  test('34. a reader that stalls receives the whole task when its events are gone; the run has not waited', async () => {
    const w = await working({ tasks: { eventLogSize: 2 } })
    const stalled = await open(binding, w.a, 'SubscribeToTask', { id: w.id })
    await take(stalled, 1)
    for (let count = 0; count < 9; count++) w.run.artifact({ artifactId: 'a', parts: [{ text: `${count}` }] })
    w.finish()
    await w.a.tasks.waitFor(w.id)
    const rest = await stalled.rest()
    expect(rest.at(-1)?.event).toBe('resync')
    expect(rest.at(-1)?.value.task?.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test.each(['mine', '-1', '1.5', '', '99999999999999999999'])(
    '%j is no id of ours: a snapshot',
    async (id) => {
      const w = await working()
      const stream = await resume(binding, w, id)
      const [first] = await take(stream, 1)
      expect(first?.value.task?.id).toBe(w.id)
      expect(first?.event).toBeUndefined()
      w.finish()
      expect((await stream.rest()).map(nameOf)).toEqual(['completed'])
    },
  )

  test('one of the future, of a server before this one, loses nothing', async () => {
    const w = await working()
    const stream = await resume(binding, w, '1000')
    w.finish()
    const names = (await stream.rest()).map(nameOf)
    expect(names.at(0)).toBe('task')
  })

  test('sends nothing for a task that has ended and has no more events', async () => {
    const a = agent(() => 'done')
    const { id } = a.tasks.createTask({ skill: 'test' })
    walk(a.tasks, id, 'failed')
    const init = { headers: { 'Last-Event-ID': '2' } }
    expect((await refused(binding, a, 'SubscribeToTask', { id }, init)).reason).toBe('UNSUPPORTED_OPERATION')
  })

  test('31. a burst before the stream is opened does not lose its beginning', async () => {
    const a = agent(
      (run) => {
        for (let count = 0; count < 9; count++)
          run.artifact({ artifactId: 'a', parts: [{ text: `${count}` }] })
      },
      { tasks: { eventLogSize: 2 } },
    )
    const items = await (await open(binding, a, 'SendStreamingMessage', message())).rest()
    expect(items[0]?.value.task?.status.state).toBe('TASK_STATE_SUBMITTED')
    expect(items.at(-1)?.value.task?.status.state ?? items.at(-1)?.value.statusUpdate?.status.state).toBe(
      'TASK_STATE_COMPLETED',
    )
    const { result } = await call(binding, a, 'GetTask', { id: items[0]?.value.task?.id ?? '' })
    expect(result && textsOf(result)).toEqual(['012345678'])
  })
})
