import type { Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { walk } from '../../support/manager.js'
import {
  agent,
  BINDINGS,
  call,
  gate,
  nameOf,
  open,
  refused,
  textsOf,
  user,
  type Binding,
} from './support/agent.js'
import type { EventStream, StreamItem, TestAgent } from './support/agent.js'

/** Waits between its steps for the test to say so. */
function stepping(): { execute: (run: Run) => Promise<void>; step: () => void; began: Promise<string> } {
  const steps = [gate(), gate(), gate()]
  const began = gate<string>()
  let taken = 0
  return {
    began: began.opened,
    step: () => steps[taken++]?.open(),
    async execute(run) {
      run.start()
      began.open(run.task.id)
      for (const [index, { opened }] of steps.entries()) {
        await opened
        run.artifact({ artifactId: 'a', parts: [{ text: `${index}` }] })
      }
    },
  }
}

async function next(stream: EventStream): Promise<StreamItem> {
  const item = await stream.next()
  if (item === undefined) throw new Error('The stream has ended')
  return item
}

const message = () => ({ message: user('go') })

describe.each(BINDINGS)('$name: Send Streaming Message', (binding) => {
  test('24, 26, 27. opens a stream that begins with the task and continues with its updates', async () => {
    const a = agent((run) => {
      run.update('Reading')
      run.artifact('text')
    })
    const stream = await open(binding, a, 'SendStreamingMessage', message())
    const items = await stream.rest()
    expect(items.map(nameOf)).toEqual(['task', 'working', 'working', 'artifact:text', 'completed'])
    expect(items[0]?.value.task?.status.state).toBe('TASK_STATE_SUBMITTED')
    expect(items[0]?.value.task?.history).toHaveLength(1)
  })

  test('26. a stream about a task that there is begins with the task, too', async () => {
    const a = agent(async (run) => {
      await run.requireInput('Which?')
      run.artifact('that')
    })
    const first = await open(binding, a, 'SendStreamingMessage', message())
    const items = await first.rest()
    expect(items.map(nameOf)).toEqual(['task', 'working', 'input-required'])
    const taskId = items[0]?.value.task?.id ?? ''
    const more = await open(binding, a, 'SendStreamingMessage', { message: user('this', { taskId }) })
    expect((await more.rest()).map(nameOf)).toEqual(['task', 'artifact:that', 'completed'])
  })

  test.each<[string, (run: Run) => unknown]>([
    ['completed', (run: Run) => run.complete()],
    ['failed', (run: Run) => run.fail('no')],
    ['rejected', (run: Run) => run.reject()],
    [
      'canceled',
      (run: Run) => new Promise<void>((resolve) => run.signal.addEventListener('abort', () => resolve())),
    ],
  ])('28, 29. ends with the task: %s', async (state, end) => {
    const began = gate<string>()
    const a = agent(async (run) => {
      run.start()
      began.open(run.task.id)
      await end(run)
    })
    const stream = await open(binding, a, 'SendStreamingMessage', message())
    const id = await began.opened
    if (state === 'canceled') a.tasks.cancelTask(id)
    const names = (await stream.rest()).map(nameOf)
    expect(names.at(-1)).toBe(state)
    expect(names.filter((name) => name === state)).toHaveLength(1)
  })

  test('29. changes of the agent after the end are not sent', async () => {
    const thrown: unknown[] = []
    const a = agent((run) => {
      run.complete()
      try {
        run.artifact('late')
      } catch (error) {
        thrown.push(error)
      }
    })
    const items = await (await open(binding, a, 'SendStreamingMessage', message())).rest()
    expect(items.map(nameOf)).toEqual(['task', 'working', 'completed'])
    expect(thrown).toMatchObject([{ code: 'TASK_TERMINAL' }])
  })

  test('30. events come while the agent works', async () => {
    const { execute, step } = stepping()
    const a = agent(execute)
    const stream = await open(binding, a, 'SendStreamingMessage', message())
    expect([nameOf(await next(stream)), nameOf(await next(stream))]).toEqual(['task', 'working'])
    for (const text of ['0', '1', '2']) {
      step()
      expect(nameOf(await next(stream))).toBe(`artifact:${text}`)
    }
    expect((await stream.rest()).map(nameOf)).toEqual(['completed'])
  })

  test('31, 41. events come in the order in which they happened, and no state comes back', async () => {
    const a = agent((run) => {
      for (let count = 0; count < 50; count++)
        run.artifact({ artifactId: 'a', parts: [{ text: `${count} ` }] })
    })
    const items = await (await open(binding, a, 'SendStreamingMessage', message())).rest()
    const texts = items.map(nameOf).filter((name) => name.startsWith('artifact:'))
    expect(texts).toEqual(Array.from({ length: 50 }, (_, count) => `artifact:${count} `))
    const ids = items.map(({ id }) => Number(id))
    expect(ids).toEqual([...ids].sort((x, y) => x - y))
    const states = items.map(nameOf).filter((name) => ['submitted', 'working', 'completed'].includes(name))
    expect(states).toEqual(['working', 'completed'])
  })

  test('40. where the card offers no streaming, neither operation streams', async () => {
    const a = agent(() => 'done', { card: { name: 'Test', url: 'https://agent.test', capabilities: {} } })
    const { id } = a.tasks.createTask({ skill: 'test' })
    for (const [operation, params] of [
      ['SendStreamingMessage', message()],
      ['SubscribeToTask', { id }],
    ] as const) {
      expect((await refused(binding, a, operation, params)).reason).toBe('UNSUPPORTED_OPERATION')
    }
    expect(a.tasks.size()).toBe(1)
  })

  test('42. stays open while the task waits for credentials', async () => {
    const asked = gate<Run>()
    const a = agent(async (run) => {
      const answer = run.requireAuth('Log in')
      asked.open(run)
      await answer.catch(() => undefined)
    })
    const stream = await open(binding, a, 'SendStreamingMessage', message())
    const run = await asked.opened
    const first = [await next(stream), await next(stream), await next(stream)]
    expect(first.map(nameOf)).toEqual(['task', 'working', 'auth-required'])
    expect(first[2]?.value.statusUpdate?.status.message?.parts).toEqual([{ text: 'Log in' }])
    run.start()
    run.complete()
    expect((await stream.rest()).map(nameOf)).toEqual(['working', 'completed'])
  })

  test('43, 46. an update says of which task and context it is, and is one thing only', async () => {
    const a = agent(() => 'text')
    const [opening, ...updates] = await (await open(binding, a, 'SendStreamingMessage', message())).rest()
    const { id, contextId } = opening?.value.task ?? {}
    expect(updates.length).toBeGreaterThan(1)
    for (const { value } of updates) {
      expect(Object.keys(value)).toHaveLength(1)
      expect(value.statusUpdate ?? value.artifactUpdate).toMatchObject({ taskId: id, contextId })
    }
  })

  test('44, 45. chunks with an id continue its artifact, or replace it', async () => {
    const a = agent((run) => {
      run.artifact({ artifactId: 'a', parts: [{ text: 'one' }] })
      run.artifact({ artifactId: 'a', parts: [{ text: 'two' }] })
      run.artifact({ artifactId: 'b', parts: [{ text: 'old' }] })
      run.artifact({ artifactId: 'b', parts: [{ text: 'new' }] }, { append: false, lastChunk: true })
      a.tasks.appendArtifact(run.task.id, { artifactId: 'c', name: 'without parts' })
    })
    const items = await (await open(binding, a, 'SendStreamingMessage', message())).rest()
    const updates = items.flatMap(({ value }) => value.artifactUpdate ?? [])
    expect(updates.map(({ append = false, lastChunk = false }) => [append, lastChunk])).toEqual([
      [false, false],
      [true, false],
      [false, false],
      [false, true],
      [false, false],
    ])
    const { result } = await call(binding, a, 'GetTask', { id: updates[0]?.taskId ?? '' })
    expect(result && textsOf(result)).toEqual(['onetwo', 'new', ''])
    expect(result?.artifacts?.map(({ artifactId }) => artifactId)).toEqual(['a', 'b', 'c'])
    expect(result?.artifacts?.every(({ parts }) => parts.length > 0)).toBe(true)
  })
})

/** A task in progress, and the stream of its first message. */
async function begin(
  binding: Binding,
): Promise<{ a: TestAgent; id: string; step: () => void; first: EventStream }> {
  const { execute, step, began } = stepping()
  const a = agent(execute)
  const first = await open(binding, a, 'SendStreamingMessage', message())
  return { a, id: await began, step, first }
}

describe.each(BINDINGS)('$name: several streams', (binding) => {
  test('32, 33. all of a task get the same events in the same order', async () => {
    const { a, id, step, first } = await begin(binding)
    const others = [
      await open(binding, a, 'SubscribeToTask', { id }),
      await open(binding, a, 'SubscribeToTask', { id }),
    ]
    for (const other of others) expect(nameOf(await next(other))).toBe('task')
    expect([nameOf(await next(first)), nameOf(await next(first))]).toEqual(['task', 'working'])
    for (let count = 0; count < 3; count++) step()
    const [one, ...rest] = await Promise.all([first, ...others].map((stream) => stream.rest()))
    expect(one?.map(nameOf)).toEqual(['artifact:0', 'artifact:1', 'artifact:2', 'completed'])
    for (const items of rest) expect(items).toEqual(one)
  })

  test('34. one that is left, or not read, holds up neither the others nor the task', async () => {
    const { a, id, step, first } = await begin(binding)
    const leaving = await open(binding, a, 'SubscribeToTask', { id })
    const stalled = await open(binding, a, 'SubscribeToTask', { id })
    const reading = await open(binding, a, 'SubscribeToTask', { id })
    await first.leave()
    await next(leaving)
    await leaving.leave()
    for (let count = 0; count < 3; count++) step()
    const names = ['task', 'artifact:0', 'artifact:1', 'artifact:2', 'completed']
    expect((await reading.rest()).map(nameOf)).toEqual(names)
    const task = await a.tasks.waitFor(id)
    expect(task).toMatchObject({ state: 'completed', artifacts: [{ parts: [{ text: '012' }] }] })
    // A reader that has read nothing by then receives the task as it is.
    expect((await stalled.rest()).at(-1)?.value.task?.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('11, 34. all readers gone, the result is stored', async () => {
    const { a, id, step, first } = await begin(binding)
    const leaving = new AbortController()
    await open(binding, a, 'SubscribeToTask', { id }, { signal: leaving.signal })
    leaving.abort()
    await first.leave()
    for (let count = 0; count < 3; count++) step()
    expect((await a.tasks.waitFor(id)).state).toBe('completed')
  })
})

describe.each(BINDINGS)('$name: Subscribe to Task', (binding) => {
  test('35, 36, 37. begins with the task as it is, loses and repeats nothing, ends with the task', async () => {
    const { a, id, step, first } = await begin(binding)
    step()
    await next(first)
    await next(first)
    expect(nameOf(await next(first))).toBe('artifact:0')
    const stream = await open(binding, a, 'SubscribeToTask', { id })
    step()
    step()
    const { value } = await next(stream)
    expect(value.task?.status.state).toBe('TASK_STATE_WORKING')
    const rest = await stream.rest()
    const seen = [...(value.task ? textsOf(value.task) : []), ...rest.map(nameOf)].join(' ')
    expect(seen.replaceAll('artifact:', '')).toMatch(/^0 ?1 ?2 completed$/)
    expect(rest.at(-1)?.value.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('37. continues while the task waits for input', async () => {
    const a = agent(async (run) => {
      await run.requireInput('Which?')
    })
    const { result } = await call(binding, a, 'SendMessage', message())
    const id = result?.task?.id ?? ''
    const stream = await open(binding, a, 'SubscribeToTask', { id })
    expect((await next(stream)).value.task?.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    await call(binding, a, 'SendMessage', { message: user('this', { taskId: id }) })
    expect((await stream.rest()).map(nameOf)).toEqual(['working', 'completed'])
  })

  test.each([
    ['completed', 'working', 'completed'],
    ['failed', 'failed'],
    ['canceled', 'canceled'],
    ['rejected', 'rejected'],
  ] as const)('38. is refused when the task is %s', async (_state, ...path) => {
    const a = agent(() => 'done')
    const { id } = a.tasks.createTask({ skill: 'test' })
    walk(a.tasks, id, ...path)
    expect((await refused(binding, a, 'SubscribeToTask', { id })).reason).toBe('UNSUPPORTED_OPERATION')
  })

  test('39. is refused with a plain error when there is no such task', async () => {
    const error = await refused(
      binding,
      agent(() => 'done'),
      'SubscribeToTask',
      { id: 'none' },
    )
    expect(error.reason).toBe('TASK_NOT_FOUND')
  })
})
