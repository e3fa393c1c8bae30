/** Limits of one user: tasks, runs and streams, over each kind of manager and in each binding. */
import { describe, expect, test } from 'vitest'
import { inTime, MANAGERS, type Agents } from './schedule/support.js'
import {
  as,
  BINDINGS,
  call,
  gate,
  open as stream,
  refused,
  taskOf,
  user,
  type Binding,
} from './spec/support/agent.js'

interface Work {
  readonly text: string
  readonly start: () => void
  readonly requireInput: (text: string) => Promise<unknown>
}

/** Asks, replies, ends or works, as the message says. */
async function execute(run: Work): Promise<undefined> {
  if (run.text === 'ask') return void run.requireInput('?')
  if (run.text === 'end') return undefined
  run.start()
  await new Promise(() => {})
}

describe.each(MANAGERS)('over %s', (_, open) => {
  describe.each(BINDINGS)('$name: a user', (binding) => {
    test('has maxTasksPerOwner tasks that have not ended, at all replicas together', async () => {
      const agents = await open(execute, { limits: { maxTasksPerOwner: 2, waitingTimeoutMs: 600_000 } })
      for (let count = 0; count < 3; count++) await begin(binding, agents, 'ada', 'end')
      const first = await begin(binding, agents, 'ada', 'ask')
      agents.clock.advance(5_000)
      await begin(binding, { ...agents, a: agents.b }, 'ada', 'ask')
      const answer = await send(binding, agents, 'ada', 'end')
      expect(answer.error?.reason).toBe('RATE_LIMITED')
      // The first one is canceled after ten minutes, by a check each minute.
      expect([answer.response.status, answer.response.headers.get('retry-after')]).toEqual([429, '655'])
      await begin(binding, agents, 'bob', 'ask')
      const canceling = call(binding, agents.a, 'CancelTask', { id: first }, as('ada'))
      expect((await inTime(agents, canceling)).error).toBeUndefined()
      await begin(binding, agents, 'ada', 'end')
    })

    test('may answer a question with as many tasks as there may be', async () => {
      const agents = await open(execute, { limits: { maxTasksPerOwner: 1 } })
      const taskId = await begin(binding, agents, 'ada', 'ask')
      const message = user('end', { taskId })
      const sending = call(binding, agents.a, 'SendMessage', { message }, as('ada'))
      expect(taskOf(await inTime(agents, sending)).id).toBe(taskId)
    })

    test('has maxRunsPerOwner runs at work, and others have theirs', async () => {
      const agents = await open(execute, { limits: { maxRunsPerOwner: 2 } })
      const asked = await begin(binding, agents, 'ada', 'ask')
      for (let count = 0; count < 2; count++) await begin(binding, agents, 'ada', 'work')
      const answers = [
        await send(binding, agents, 'ada', 'work'),
        await send(binding, agents, 'ada', 'work', { taskId: asked }),
      ]
      for (const { response, error } of answers) {
        expect([error?.reason, response.status, response.headers.get('retry-after')]).toEqual([
          'RATE_LIMITED',
          429,
          '1',
        ])
      }
      await begin(binding, agents, 'bob', 'work')
    })

    test('has maxStreamsPerOwner streams open, and more when one ends', async () => {
      const agents = await open(execute, { limits: { maxStreamsPerOwner: 1 } })
      const id = await begin(binding, agents, 'ada', 'work')
      const first = await stream(binding, agents.a, 'SubscribeToTask', { id }, as('ada'))
      const params = [
        ['SubscribeToTask', { id }],
        ['SendStreamingMessage', { message: user('work') }],
      ] as const
      for (const [operation, given] of params) {
        expect((await refused(binding, agents.a, operation, given, as('ada'))).reason).toBe('RATE_LIMITED')
      }
      const bobs = await stream(
        binding,
        agents.a,
        'SendStreamingMessage',
        { message: user('ask') },
        as('bob'),
      )
      expect(bobs.response.status).toBe(200)
      await inTime(agents, call(binding, agents.a, 'CancelTask', { id }, as('ada')))
      await inTime(agents, first.rest())
      const again = await stream(
        binding,
        agents.a,
        'SendStreamingMessage',
        { message: user('ask') },
        as('ada'),
      )
      expect(again.response.status).toBe(200)
    })
  })

  test('messages that arrive together count before their tasks exist', async () => {
    const { opened, open: release } = gate()
    const agents = await open(
      async () => {
        await opened
      },
      { limits: { maxTasksPerOwner: 2 } },
    )
    const [binding] = BINDINGS as readonly [Binding]
    const sending = Array.from({ length: 5 }, () => send(binding, agents, 'ada', 'x'))
    agents.clock.advance(0)
    const statuses = (await inTime(agents, Promise.all(sending))).map(({ response }) => response.status)
    expect(statuses.toSorted()).toEqual([200, 200, 429, 429, 429])
    release()
  })

  test('callers without a principal are one user, and tenants are apart', async () => {
    const limits = { maxTasksPerOwner: 1 }
    const agents = await open(execute, { limits, authenticate: undefined })
    const [binding] = BINDINGS as readonly [Binding]
    const statuses: number[] = []
    for (const tenant of [undefined, undefined, 'acme', 'acme']) {
      const params = { message: user('ask'), tenant }
      const answer = await inTime(agents, call(binding, agents.a, 'SendMessage', params))
      statuses.push(answer.response.status)
    }
    expect(statuses).toEqual([200, 429, 200, 429])
  })

  test('a repeated message is answered with its task beyond the limit too', async () => {
    const agents = await open(execute, { limits: { maxTasksPerOwner: 1 } })
    const [binding] = BINDINGS as readonly [Binding]
    const message = user('ask')
    const sending = (): ReturnType<typeof call<'SendMessage'>> =>
      inTime(agents, call(binding, agents.a, 'SendMessage', { message }, as('ada')))
    expect(taskOf(await sending()).id).toBe(taskOf(await sending()).id)
  })
})

async function send(binding: Binding, agents: Agents, name: string, text: string, more: object = {}) {
  const params = { message: user(text, more), configuration: { returnImmediately: true } }
  return await inTime(agents, call(binding, agents.a, 'SendMessage', params, as(name)))
}

async function begin(binding: Binding, agents: Agents, name: string, text: string): Promise<string> {
  return taskOf(await send(binding, agents, name, text)).id
}
