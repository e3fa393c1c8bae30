/** Agents whose manager is full: who is refused and how, what still works, and how there is room again. */
import { createRequestHandler } from 'a2a-tasks/server'
import { TaskManager, type TaskManagerOptions } from 'a2a-tasks'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { runsAll } from '../support/samples.js'
import {
  agent,
  as,
  authenticate,
  BINDINGS,
  call,
  ORIGIN,
  refused,
  stateName,
  taskOf,
  user,
  type Binding,
  type TestAgent,
} from './spec/support/agent.js'

const LONG = 'x'.repeat(10_000)
const TASKS: TaskManagerOptions = { maxTasks: 4, whenFull: 'evict' }
/** Room for about four messages of {@link LONG}. */
const BYTES: TaskManagerOptions = { whenFull: 'evict', limits: { maxTotalBytes: 58_000 } }

/** An agent that asks, works on, or ends a task, as the message says. */
function full(tasks: TaskManagerOptions): TestAgent {
  return agent(
    async (run) => {
      if (run.text.startsWith('ask')) return void run.requireInput('More?')
      run.start()
      if (run.text.startsWith('work')) await new Promise(() => {})
      return undefined
    },
    { tasks, authenticate },
  )
}

async function send(binding: Binding, a: TestAgent, name: string, text: string) {
  const configuration = { returnImmediately: true }
  return await call(binding, a, 'SendMessage', { message: user(text), configuration }, as(name))
}

/** Sends messages until one is refused. Returns the ids of the tasks, and the refusal. */
async function sendMany(binding: Binding, a: TestAgent, name: string, text: string) {
  const ids: string[] = []
  while (ids.length < 10) {
    const answer = await send(binding, a, name, text)
    if (answer.error !== undefined) return { ids, ...answer, error: answer.error }
    ids.push(taskOf(answer).id)
  }
  throw new Error('No message was refused')
}

describe.each(BINDINGS)('$name: a manager that is full of', (binding) => {
  const refusals = [
    ['tasks', TASKS, 'work', 'TASK_LIMIT_REACHED'],
    ['bytes', BYTES, `work ${LONG}`, 'LIMIT_EXCEEDED'],
  ] as const

  test.each(refusals)(
    '%s at work refuses messages, and its tasks can be read and canceled',
    async (...row) => {
      const [, options, text, reason] = row
      const a = full(options)
      const { ids, response, error } = await sendMany(binding, a, 'ada', text)
      expect(ids.length).toBeGreaterThan(2)
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
      expect(error.reason).toBe(reason)
      expect((await send(binding, a, 'bob', text)).response.status).toBe(503)
      expect(a.errors).toEqual([])

      const [first = '', second = ''] = ids
      const read = await call(binding, a, 'GetTask', { id: first }, as('ada'))
      expect(read.result?.history?.[0]?.parts).toEqual([{ text }])
      const list = await call(binding, a, 'ListTasks', {}, as('ada'))
      expect(list.result?.tasks.map(({ id }) => id)).toEqual(expect.arrayContaining(ids))
      expect((await refused(binding, a, 'GetTask', { id: first }, as('bob'))).reason).toBe('TASK_NOT_FOUND')
      const canceled = await call(binding, a, 'CancelTask', { id: first }, as('ada'))
      expect(stateName(canceled.result?.status.state ?? '')).toBe('canceled')

      expect(taskOf(await send(binding, a, 'ada', text)).id).not.toBe(first)
      expect((await refused(binding, a, 'GetTask', { id: first }, as('ada'))).reason).toBe('TASK_NOT_FOUND')
      expect((await call(binding, a, 'GetTask', { id: second }, as('ada'))).error).toBeUndefined()
    },
  )

  test.each([
    ['tasks', TASKS, ''],
    ['bytes', BYTES, LONG],
  ])(
    '%s that have ended makes room at the expense of the owner that holds the most',
    async (_, options, text) => {
      const a = full(options)
      const bobs = taskOf(await send(binding, a, 'bob', `end ${text}`)).id
      const adas: string[] = []
      for (let count = 0; count < 8; count++)
        adas.push(taskOf(await send(binding, a, 'ada', `end ${text}`)).id)
      const cleos = taskOf(await send(binding, a, 'cleo', `end ${text}`)).id
      for (const [name, id] of [
        ['bob', bobs],
        ['ada', adas.at(-1) ?? ''],
        ['cleo', cleos],
      ] as const) {
        expect((await call(binding, a, 'GetTask', { id }, as(name))).result?.id).toBe(id)
      }
      const { reason } = await refused(binding, a, 'GetTask', { id: adas[0] ?? '' }, as('ada'))
      expect(reason).toBe('TASK_NOT_FOUND')
    },
  )

  test.each([
    ['tasks', TASKS, ''],
    ['bytes', BYTES, LONG],
  ])('%s that wait for one user has room for another, and for more of the first', async (...row) => {
    const [, options, text] = row
    const a = full(options)
    const ids: string[] = []
    for (let count = 0; count < 8; count++) ids.push(taskOf(await send(binding, a, 'ada', `ask ${text}`)).id)
    const { id } = taskOf(await send(binding, a, 'bob', `end ${text}`))
    expect((await call(binding, a, 'GetTask', { id }, as('bob'))).result?.id).toBe(id)
    const list = await call(binding, a, 'ListTasks', {}, as('ada'))
    const left = list.result?.tasks.filter(({ status }) => stateName(status.state) === 'input-required')
    expect(left?.length).toBeGreaterThan(0)
    const leftIds = left?.map((task) => task.id)
    // Tasks of the same millisecond are in the order of their ids.
    expect(leftIds?.toSorted()).toEqual(ids.slice(-(left?.length ?? 0)).toSorted())
    expect(leftIds).not.toContain(ids[0])
  })

  test('bytes refuses a follow-up that does not fit, and the task continues', async () => {
    const a = full({ ...BYTES, whenFull: 'evict-terminal' })
    const { ids } = await sendMany(binding, a, 'ada', `ask ${LONG}`)
    const taskId = ids.at(-1) ?? ''
    const message = user(`end ${LONG}`, { taskId })
    const answer = await call(binding, a, 'SendMessage', { message }, as('ada'))
    expect([answer.response.status, answer.response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(answer.error?.reason).toBe('LIMIT_EXCEEDED')
    const { result } = await call(binding, a, 'GetTask', { id: taskId }, as('ada'))
    expect(stateName(result?.status.state ?? '')).toBe('input-required')
    await call(binding, a, 'CancelTask', { id: ids[0] ?? '' }, as('ada'))
    const again = await call(binding, a, 'SendMessage', { message }, as('ada'))
    expect(stateName(taskOf(again).status.state)).toBe('completed')
  })
})

test.each(runsAll ? BINDINGS : BINDINGS.slice(0, 1))(
  '$name: questions that no client answers do not lock the agent',
  async (binding) => {
    const handler = createRequestHandler({
      card: { name: 'A', url: ORIGIN },
      execute: (run) => void run.requireInput('?'),
    })
    const ids: string[] = []
    for (let count = 0; count < 1_001; count++) {
      const answer = await call(binding, { handler }, 'SendMessage', { message: user('x') })
      ids.push(taskOf(answer).id)
    }
    const [first = '', second = ''] = ids
    expect((await refused(binding, { handler }, 'GetTask', { id: first })).reason).toBe('TASK_NOT_FOUND')
    const read = await call(binding, { handler }, 'GetTask', { id: second })
    expect(stateName(read.result?.status.state ?? '')).toBe('input-required')
  },
)

test("a manager of the integrator's without whenFull refuses messages though tasks have ended", async () => {
  const clock = new ManualClock()
  const tasks = new TaskManager({ maxTasks: 2, clock })
  const handler = createRequestHandler({
    card: { name: 'A', url: ORIGIN },
    tasks,
    execute: () => 'done',
    onError() {},
  })
  for (const binding of BINDINGS) {
    const statuses: number[] = []
    for (let count = 0; count < 2; count++) {
      const { response } = await call(binding, { handler }, 'SendMessage', { message: user('x') })
      statuses.push(response.status)
    }
    expect(statuses).toEqual([200, 200])
    clock.advance(3_600_000)
    const { response } = await call(binding, { handler }, 'SendMessage', { message: user('x') })
    // The first task expires after a day.
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, String(23 * 3_600 + 1)])
    clock.advance(23 * 3_600_000)
    expect((await call(binding, { handler }, 'SendMessage', { message: user('x') })).response.status).toBe(
      503,
    )
    clock.advance(1_000)
    expect((await call(binding, { handler }, 'SendMessage', { message: user('x') })).response.status).toBe(
      200,
    )
    tasks.destroy()
  }
})
