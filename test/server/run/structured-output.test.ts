/** Results that a schema checks: what is stored, what fails the task, and what is refused. */
import { TaskManager, type Task } from 'a2a-tasks'
import { createRequestHandler, type Run, type StandardSchema } from 'a2a-tasks/server'
import { expect, onTestFinished, test } from 'vitest'
import * as z from 'zod/mini'
import { call, jsonRpc, ORIGIN, taskOf, user } from '../spec/support/agent.js'

const Weather = z.object({
  sky: z.enum(['clear', 'cloudy']),
  hours: z.array(z.object({ celsius: z.number() })),
  unit: z._default(z.string(), 'C'),
})

interface Ended {
  readonly task: Task
  readonly errors: readonly Error[]
}

async function run(output: StandardSchema, execute: (run: Run) => unknown): Promise<Ended> {
  const errors: Error[] = []
  const tasks = new TaskManager()
  const onError = (error: unknown): unknown => errors.push(error as Error)
  const handler = createRequestHandler({
    card: { name: 'Test', url: ORIGIN },
    tasks,
    output,
    execute,
    onError,
  })
  onTestFinished(() => handler.close({ graceMs: 1 }))
  const { id } = taskOf(await call(jsonRpc, { handler }, 'SendMessage', { message: user('Go') }))
  const task = tasks.getTask(id)
  if (task === null) throw new Error('There is no task')
  return { task, errors }
}

const partsOf = ({ task }: Ended): unknown[] => task.artifacts.flatMap(({ parts = [] }) => parts)

test('the output of the schema is stored, as a data part', async () => {
  const ended = await run(Weather, () => ({ sky: 'clear', hours: [{ celsius: 21, rain: 0 }] }))
  expect(ended.errors).toEqual([])
  expect(ended.task.state).toBe('completed')
  expect(partsOf(ended)).toEqual([{ data: { sky: 'clear', hours: [{ celsius: 21 }], unit: 'C' } }])
})

test.each<[string, StandardSchema, unknown, unknown]>([
  ['a string becomes a text', z.string(), 'done', { text: 'done' }],
  ['lists are data', z.array(z.number()), [1, 2], { data: [1, 2] }],
  [
    'what looks like an artifact is the value',
    z.object({ parts: z.array(z.any()) }),
    { parts: [1] },
    { data: { parts: [1] } },
  ],
  [
    'what looks like a part is the value',
    z.object({ text: z.string() }),
    { text: 'x' },
    { data: { text: 'x' } },
  ],
])('%s', async (_name, schema, value, part) => {
  expect(partsOf(await run(schema, () => value))).toEqual([part])
})

test('a schema may check asynchronously', async () => {
  const even = z.number().check(z.refine((value) => Promise.resolve(value % 2 === 0), 'must be even'))
  expect(partsOf(await run(even, () => 2))).toEqual([{ data: 2 }])
  const { task, errors } = await run(even, () => 3)
  expect(task.state).toBe('failed')
  expect(errors.map(({ message }) => message)).toEqual([
    'The result of execute() does not match "output": must be even',
  ])
})

test('a result that does not match fails the task, and onError reads each path', async () => {
  const { task, errors } = await run(Weather, () => ({
    sky: 'green',
    hours: [{ celsius: 21 }, { celsius: '9' }],
  }))
  expect(task).toMatchObject({ state: 'failed', artifacts: [] })
  expect(JSON.stringify(task.messages)).not.toContain('celsius')
  const [error] = errors
  expect(error).toBeInstanceOf(TypeError)
  expect(error?.message).toMatch(/does not match "output": sky: .+; hours\[1\]\.celsius: /)
  expect(error?.cause).toMatchObject([{ path: ['sky'] }, { path: ['hours', 1, 'celsius'] }])
})

test('no more than five issues are shown', async () => {
  const { errors } = await run(z.array(z.number()), () => ['a', 'b', 'c', 'd', 'e', 'f', 'g'])
  expect(errors[0]?.message).toMatch(/\[4\]: [^;]+; and 2 more$/)
})

test.each<[string, (run: Run) => unknown, string]>([
  ['nothing', () => undefined, 'execute() returned nothing, which does not match "output": '],
  ['run.complete()', (run) => run.complete('Done'), 'return the result: do not call run.complete()'],
  ['a reply of a task', (run) => (run.start(), run.reply('Done')), 'or run.reply() after the task exists'],
  [
    'a generator',
    async function* () {
      yield await Promise.resolve({ sky: 'clear' })
    },
    'not a stream or generator',
  ],
])('%s fails the task', async (_name, execute, message) => {
  const { task, errors } = await run(Weather, execute)
  expect(task.state).toBe('failed')
  expect(errors.map((error) => error.message)).toEqual([expect.stringContaining(message) as string])
})

test('a stream that is refused is closed', async () => {
  let isClosed = false
  const stream = (): ReadableStream<string> => new ReadableStream({ cancel: () => void (isClosed = true) })
  await run(Weather, stream)
  expect(isClosed).toBe(true)
})

test('the run may end otherwise without a result: reject, fail, ask, and show artifacts', async () => {
  expect((await run(Weather, (run) => run.reject('No'))).task.state).toBe('rejected')
  expect((await run(Weather, (run) => run.fail('No'))).errors).toEqual([])
  const asked = await run(Weather, (run) => void run.requireInput('Where?'))
  expect([asked.task.state, asked.errors]).toEqual(['input-required', []])
  const shown = await run(z.string(), (run) => (run.artifact('draft'), 'final'))
  expect(partsOf(shown)).toEqual([{ text: 'draft' }, { text: 'final' }])
})

test('a message may be the reply where there is no task', async () => {
  const handler = createRequestHandler({
    card: { name: 'Test', url: ORIGIN },
    output: Weather,
    execute: (run) => run.reply('Which town?').then(() => undefined),
  })
  const answer = await call(jsonRpc, { handler }, 'SendMessage', { message: user('Hi') })
  expect(answer.result).toMatchObject({ message: { parts: [{ text: 'Which town?' }] } })
})

test.each([[{ parse: () => 1 }], ['zod'], [() => true], [null]])('refuses the schema %s', (output) => {
  const options = { card: { name: 'Test', url: ORIGIN }, execute: () => 'x', output }
  expect(() => createRequestHandler(options as never)).toThrow(
    /^"output" must be a Standard Schema, such as z\.object/,
  )
})
