/** What executors return and yield, and what becomes of it. */
import { TaskManager, type TaskSnapshot } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler, type Execute, type Outcome } from 'a2a-tasks/server'
import { describe, expect, onTestFinished, test } from 'vitest'
import { call, jsonRpc, ORIGIN, taskOf, user } from '../spec/support/agent.js'

const MANAGERS = [
  ['a TaskManager', () => new TaskManager()],
  ['a DurableTaskManager', () => new DurableTaskManager({ store: memoryStore() })],
] as const

interface Ended {
  readonly task: TaskSnapshot
  readonly errors: readonly unknown[]
}

/** Sends one message, and returns the task of the answer as the manager has it. */
async function run(tasks: TaskManager | DurableTaskManager, execute: Execute): Promise<Ended> {
  const errors: unknown[] = []
  const card = { name: 'Test', url: ORIGIN }
  const handler = createRequestHandler({ card, tasks, execute, onError: (error) => errors.push(error) })
  onTestFinished(async () => {
    await handler.close({ graceMs: 1 })
    await tasks.destroy()
  })
  const { id } = taskOf(await call(jsonRpc, { handler }, 'SendMessage', { message: user('Go') }))
  const task = await tasks.getTask(id)
  if (task === null) throw new Error('There is no task')
  return { task, errors }
}

const REPORT = {
  artifactId: 'report',
  name: 'Report',
  parts: [{ text: 'one' }, { url: 'https://files.test/a' }],
}
const SAID = { role: 'agent' as const, parts: [{ text: 'Nothing to do' }] }

function readable<T>(...values: T[]): ReadableStream<T> {
  return new ReadableStream({
    start(controller) {
      for (const value of values) controller.enqueue(value)
      controller.close()
    },
  })
}

/** As streams of browsers without `Symbol.asyncIterator`. */
function withoutIterator<T>(...values: T[]): { getReader: ReadableStream<T>['getReader'] } {
  const stream = readable(...values)
  return { getReader: stream.getReader.bind(stream) }
}

describe.each(MANAGERS)('over %s', (_name, manager) => {
  test.each<[string, string, Execute]>([
    ['returns', 'parts[0].raw', () => ({ raw: 'no base64!', mediaType: 'image/png' })],
    ['writes', 'artifact.parts[1].raw', (run) => run.artifact({ parts: [{ text: 'a' }, { raw: 'é' }] })],
    ['says', 'message.parts[0].raw', (run) => run.update({ message: { parts: [{ raw: 'a b' }] } })],
    ['replies', 'reply.parts[0].raw', (run) => run.reply({ parts: [{ raw: '%' }] })],
  ])('bytes that the code %s without base64 are refused, with their path', async (_how, path, execute) => {
    const { task, errors } = await run(manager(), async (given) => await execute(given))
    expect(task.state).toBe('failed')
    expect(String(errors[0])).toContain(`${path} must be base64`)
  })

  test.each<[string, Outcome, object]>([
    ['a text', 'done', { text: 'done' }],
    ['a part', { url: 'https://files.test/a.png', mediaType: 'image/png' }, {}],
    ['a data part', { data: [1, 2], metadata: { of: 'primes' } }, {}],
    ['a plain object', { celsius: 21, sky: { clouds: 0 } }, { data: { celsius: 21, sky: { clouds: 0 } } }],
    ['a plain object with a text beside', { text: 'x', score: 1 }, { data: { text: 'x', score: 1 } }],
    ['a plain object with two contents', { text: 'x', url: 'y' }, { data: { text: 'x', url: 'y' } }],
  ])('%s that is returned is the part of an artifact', async (_kind, outcome, part) => {
    const { task, errors } = await run(manager(), () => outcome)
    expect(errors).toEqual([])
    expect(task).toMatchObject({ state: 'completed', artifacts: [{ parts: [expect.anything()] }] })
    expect(task.artifacts[0]?.parts).toEqual([Object.keys(part).length === 0 ? outcome : part])
  })

  test('an artifact that is returned stays as it is', async () => {
    const { task } = await run(manager(), () => REPORT)
    expect(task).toMatchObject({ state: 'completed', artifacts: [REPORT] })
  })

  test('a message that is returned joins the conversation', async () => {
    const { task } = await run(manager(), () => SAID)
    expect(task).toMatchObject({ state: 'completed', artifacts: [], message: SAID })
    expect(task.messages.at(-1)).toMatchObject(SAID)
  })

  test.each([
    ['a ReadableStream', () => readable('a', 'b')],
    ['a stream with a reader only', () => withoutIterator('a', 'b')],
  ])('%s is one artifact', async (_kind, stream) => {
    const { task, errors } = await run(manager(), stream)
    expect(errors).toEqual([])
    expect(task.state).toBe('completed')
    expect(task.artifacts.map(({ parts }) => parts)).toEqual([[{ text: 'ab' }]])
  })

  test('texts, parts and data that are yielded are one artifact, beside other artifacts', async () => {
    const { task } = await run(manager(), async function* () {
      yield 'one'
      yield REPORT
      yield SAID
      yield await Promise.resolve({ celsius: 21 })
      return { data: 3 }
    })
    expect(task.state).toBe('completed')
    expect(task.artifacts.map(({ parts }) => parts)).toEqual([
      [{ text: 'one' }, { data: { celsius: 21 } }, { data: 3 }],
      REPORT.parts,
    ])
  })

  test('a stream that ends with a question leaves the task waiting', async () => {
    const { task } = await run(manager(), async function* (it) {
      yield await Promise.resolve('one')
      void it.requireInput('Go on?')
    })
    expect(task).toMatchObject({ state: 'input-required', artifacts: [{ parts: [{ text: 'one' }] }] })
  })
})

class Weather {
  readonly celsius = 21
}

test.each<[string, unknown, string]>([
  ['a number', 42, 'a number'],
  ['an array', ['a'], 'an array. For data, use { data: array }'],
  ['a function', () => 'x', 'a function'],
  ['an instance of a class', new Weather(), 'an instance of Weather'],
  ['a message of the user', { role: 'user', parts: [] }, 'an object'],
  ['null', null, 'null'],
])('%s that is returned fails the task, and the error lists valid results', async (_kind, outcome, got) => {
  const { task, errors } = await run(new TaskManager(), () => outcome as Outcome)
  expect(task.state).toBe('failed')
  expect(errors).toEqual([
    new TypeError(
      `execute() must return a string, a part, an artifact, a message of the agent or a plain object, a stream of these, or nothing, got ${got}`,
    ),
  ])
})

test('events of a model are data, not text, as all objects of a stream', async () => {
  const event = { type: 'text-delta', id: '0', text: 'Hello' }
  const { task } = await run(new TaskManager(), () => readable(event, event))
  expect(task.state).toBe('completed')
  expect(task.artifacts.map(({ parts }) => parts)).toEqual([[{ data: event }, { data: event }]])
})

test('a stream that is yielded as a whole fails the task, and the error says how to yield its elements', async () => {
  // As a program without types.
  const execute = async function* (): AsyncGenerator<string> {
    yield await Promise.resolve(readable('a', 'b') as unknown as string)
  }
  const { task, errors } = await run(new TaskManager(), execute)
  expect(task.state).toBe('failed')
  expect(String(errors[0])).toContain('use yield*')
})

test('a number that is yielded fails the task, and the error lists valid results', async () => {
  const { task, errors } = await run(new TaskManager(), async function* () {
    yield await Promise.resolve(42 as unknown as string)
  })
  expect(task.state).toBe('failed')
  expect(errors).toEqual([
    new TypeError(
      'execute() must yield a string, a part, an artifact, a message of the agent or a plain object, got a number',
    ),
  ])
})

describe('the promise of a question that was not awaited', () => {
  const NOT_AWAITED = new TypeError('execute() used the promise of run.requireInput() as a text: await it')
  const answerWith = (answer: unknown): string => `done ${String(answer)}`

  test('fails the task when it is returned in a text', async () => {
    const { task, errors } = await run(new TaskManager(), (it) => answerWith(it.requireInput('Really?')))
    expect([task.state, errors]).toEqual(['failed', [NOT_AWAITED]])
  })

  test('fails the task when it is yielded in a text', async () => {
    const { task, errors } = await run(new TaskManager(), async function* (it) {
      yield await Promise.resolve(answerWith(it.requireInput('Really?')))
    })
    expect([task.state, errors]).toEqual(['failed', [NOT_AWAITED]])
  })

  test('is not suspected where no question is open', async () => {
    const { task } = await run(new TaskManager(), () => 'It prints [object Promise]')
    expect(task.state).toBe('completed')
  })
})
