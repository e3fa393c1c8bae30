/** Answers that want to do harm, at agents with a small heap: each is refused or asked again, and the task takes a good one. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../../support/repository.js'

/** Asks with `schema`, sends each of `parts`, and then a good answer. Prints what becomes of each. */
const PROGRAM = `
import { TaskManager } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler } from 'a2a-tasks/server'
import { openQuestionsOf, QUESTIONS } from 'a2a-tasks/wire'
import * as z from 'zod'
const many = (count, of) => Array.from({ length: count }, (_, n) => of(n))
const named = (count, of) => Object.fromEntries(many(count, (n) => ['p' + n, of(n)]))
const answers = (values) => [{ data: { [QUESTIONS]: { answers: values } } }]
const [manager, text] = process.argv.slice(-2)
const { schema, parts, good } = (0, eval)('(z, many, named, answers) => (' + text + ')')(z, many, named, answers)
const tasks = manager === 'memory' ? new TaskManager() : new DurableTaskManager({ store: memoryStore() })
const { fetch } = createRequestHandler({
  card: { name: 'A', url: 'http://a' },
  tasks,
  execute: async (run) => typeof (await run.requireInput('What?', { schema, attempts: 3 })),
})
const send = async (message) => {
  const body = JSON.stringify({ message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', ...message }, configuration: { returnImmediately: true } })
  const response = await fetch(new Request('http://a/message:send', { method: 'POST', headers: { 'content-type': 'application/json' }, body }))
  return { status: response.status, answer: await response.text() }
}
const { answer } = await send({ parts: [{ text: 'go' }] })
const { id } = JSON.parse(answer).task
const reaches = async (...states) => {
  for (;;) {
    const task = await tasks.getTask(id)
    if (states.includes(task.state)) return task
    await new Promise((resolve) => setImmediate(resolve))
  }
}
await reaches('input-required')
const refused = await send({ taskId: id, parts })
const waiting = await reaches('input-required')
const [question] = openQuestionsOf(waiting)
await send({ taskId: id, parts: answers({ [question.id]: good }) })
const { state } = await reaches('completed', 'failed')
const said = waiting.message.parts[0].text
console.log(JSON.stringify({ status: refused.status, isShort: refused.status === 200 || refused.answer.length < 10_000, id: question.id, said: said.slice(0, 100), state }))
process.exit()
`

const REFUSED = { status: 400, said: 'What?' }
/** The conversation has it, and the question is asked again. */
const AGAIN = { status: 200 }
const STRING = `schema: z.string(), good: 'x'`
const CASES: readonly (readonly [string, string, object])[] = [
  [
    'a text of 4 MB',
    `{ ${STRING}, parts: [{ text: 'x'.repeat(4_000_000) }] }`,
    { ...AGAIN, said: expect.stringContaining('exceeds limits.maxStepBytes') as unknown },
  ],
  ['a value of 4 MB', `{ ${STRING}, parts: answers({ 'input#1': 'x'.repeat(4_000_000) }) }`, REFUSED],
  [
    'a value of 4 MB without an id',
    `{ schema: z.unknown(), good: 'x', parts: [{ data: { a: 'x'.repeat(4_000_000) } }] }`,
    { ...AGAIN, said: expect.stringContaining('exceeds limits.maxStepBytes') as unknown },
  ],
  [
    'a text of 4 MB with a million lists',
    `{ schema: z.array(z.unknown()), good: [], parts: [{ text: '[' + '[],'.repeat(1_300_000) + '1]' }] }`,
    { ...AGAIN, said: expect.stringContaining('Please answer with JSON') as unknown },
  ],
  [
    'a text that is as deep as it is long',
    `{ schema: z.unknown(), good: 1, parts: [{ text: '['.repeat(30_000) + ']'.repeat(30_000) }] }`,
    { ...AGAIN, said: expect.stringContaining('is nested deeper') as unknown },
  ],
  ['10,000 values', `{ ${STRING}, parts: answers({ 'input#1': 'x', ...named(10_000, () => 1) }) }`, REFUSED],
  [
    '4,000 parts with values',
    `{ ${STRING}, parts: many(4_000, (n) => answers({ ['p' + n]: 1 })[0]) }`,
    REFUSED,
  ],
  ['an id of 4 MB', `{ ${STRING}, parts: answers({ ['x'.repeat(4_000_000)]: 1 }) }`, REFUSED],
  ['no value', `{ ${STRING}, parts: answers({}) }`, REFUSED],
  [
    'an unknown property of 1 MB',
    `{ schema: z.strictObject({}), good: {}, parts: answers({ 'input#1': { ['x'.repeat(1_000_000)]: 1 } }) }`,
    REFUSED,
  ],
  [
    '10,000 properties that only the code refuses',
    `{ schema: z.record(z.string().refine((key) => key === 'a', 'x'.repeat(100_000)), z.number()), good: {},
      parts: answers({ 'input#1': named(10_000, () => 1) }) }`,
    REFUSED,
  ],
  [
    'a list whose elements are all wrong',
    `{ schema: z.array(z.number().refine((n) => n > 0)), good: [1], parts: answers({ 'input#1': many(20_000, () => 0) }) }`,
    REFUSED,
  ],
  [
    'an answer in 400,000 lines',
    `{ schema: z.number(), good: 1, parts: [{ text: 'input: 1\\n'.repeat(400_000) }] }`,
    { ...AGAIN, said: expect.stringContaining('Please answer with a number') as unknown },
  ],
]

describe.each(['memory', 'store'])('over %s, an agent with a heap of 64 MB', (manager) => {
  it.each(CASES)(
    'takes a good answer after %s',
    async (_, question, expected) => {
      const flags = ['--max-old-space-size=64', '--input-type=module', '--eval', PROGRAM]
      const options = { cwd: ROOT, timeout: 20_000 }
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [...flags, '--', manager, question],
        options,
      )
      expect(JSON.parse(stdout)).toEqual({
        ...{ isShort: true, id: 'input#1', state: 'completed' },
        ...expected,
      })
    },
    30_000,
  )
})
