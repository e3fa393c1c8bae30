import { describe, expect, test } from 'vitest'
import {
  agent,
  as,
  authenticate,
  BINDINGS,
  call,
  gate,
  open,
  refused,
  taskOf,
  textsOf,
  user,
} from './support/agent.js'
import type { Binding, Failure, TestAgent } from './support/agent.js'

const me = as('me')
const you = as('you')
const waiting = (): TestAgent =>
  agent(async (run) => (await run.requireInput('Which?')).parts.map(({ text }) => text).join(''), {
    authenticate,
  })

async function taskOfMine(binding: Binding, a: TestAgent): Promise<string> {
  return taskOf(await call(binding, a, 'SendMessage', { message: user('go') }, me)).id
}

/** An error without the id that the client himself named. */
function shape(failure: Failure, id: string): string {
  return JSON.stringify(failure).replaceAll(id, 'ID')
}

describe.each(BINDINGS)('$name: visibility', (binding) => {
  test.each([
    ['GetTask', (id: string) => ({ id })],
    ['CancelTask', (id: string) => ({ id })],
    ['SubscribeToTask', (id: string) => ({ id })],
    ['SendMessage', (id: string) => ({ message: { ...user('x', { taskId: id }), messageId: 'm' } })],
    ['SendStreamingMessage', (id: string) => ({ message: { ...user('x', { taskId: id }), messageId: 'm' } })],
    ['CreateTaskPushNotificationConfig', (id: string) => ({ taskId: id, url: 'https://client.test' })],
    ['GetTaskPushNotificationConfig', (id: string) => ({ taskId: id, id: 'c' })],
    ['ListTaskPushNotificationConfigs', (id: string) => ({ taskId: id })],
    ['DeleteTaskPushNotificationConfig', (id: string) => ({ taskId: id, id: 'c' })],
  ] as const)(
    "96, 158, 159. %s does not disclose whether another user's task exists",
    async (operation, of) => {
      const a = waiting()
      const id = await taskOfMine(binding, a)
      const before = a.tasks.getTask(id)
      const foreign = await refused(binding, a, operation, of(id), you)
      const unknown = await refused(binding, a, operation, of('none'), you)
      expect(shape(foreign, id)).toBe(shape(unknown, 'none'))
      expect(foreign.reason).toMatch(/^(TASK_NOT_FOUND|PUSH_NOTIFICATION_NOT_SUPPORTED)$/)
      // Nor does one that has ended.
      a.tasks.cancelTask(id)
      expect(shape(await refused(binding, a, operation, of(id), you), id)).toBe(shape(foreign, id))
      expect(a.tasks.getTask(id)).toMatchObject({ messages: before?.messages, state: 'canceled' })
      await a.handler.close()
    },
  )

  test('96, 158. a tenant shows no more', async () => {
    const a = waiting()
    const { id } = taskOf(await call(binding, a, 'SendMessage', { message: user('go'), tenant: 'acme' }, me))
    const { result } = await call(binding, a, 'GetTask', { id, tenant: 'acme' }, me)
    expect(result?.id).toBe(id)
    for (const [params, who] of [
      [{ id, tenant: 'acme' }, you],
      [{ id }, me],
      [{ id, tenant: 'other' }, me],
    ] as const) {
      expect((await refused(binding, a, 'GetTask', params, who)).reason).toBe('TASK_NOT_FOUND')
    }
    const { result: list } = await call(binding, a, 'ListTasks', { tenant: 'acme' }, you)
    expect(list?.totalSize).toBe(0)
  })

  test('96. no id is another one in a tenant', async () => {
    const a = waiting()
    const { id } = taskOf(
      await call(binding, a, 'SendMessage', { message: user('go'), tenant: 'a' }, as('b')),
    )
    for (const [tenant, who] of [
      ['a\nb', 'b'],
      ['a%0Ab', 'b'],
      ['', '\na\nb'],
    ] as const) {
      const init = { headers: { authorization: encodeURIComponent(who) } }
      expect((await refused(binding, a, 'GetTask', { id, ...(tenant && { tenant }) }, init)).reason).toBe(
        'TASK_NOT_FOUND',
      )
    }
  })

  test("96, 158. a task of another's that a message refers to is not shown to the agent", async () => {
    const seen: string[][] = []
    const a = agent(
      (run) => {
        seen.push(run.referenceTasks.map(({ id }) => id))
      },
      { authenticate },
    )
    const mine = await taskOfMine(binding, a)
    const yours = taskOf(await call(binding, a, 'SendMessage', { message: user('go') }, you)).id
    const message = user('compare', { referenceTaskIds: [mine, yours, 'none'] })
    await call(binding, a, 'SendMessage', { message }, me)
    expect(seen.at(-1)).toEqual([mine])
  })

  test('158. the agent receives the principal and the tenant', async () => {
    const seen: (string | undefined)[] = []
    const a = agent((run) => void seen.push(run.principal?.id, run.tenant), { authenticate })
    await call(binding, a, 'SendMessage', { message: user('go'), tenant: 'acme' }, me)
    expect(seen).toEqual(['me', 'acme'])
  })
})

describe.each(BINDINGS)('$name: credentials for the task', (binding) => {
  test('155, 157. the task says what it waits for, and a message proves nothing', async () => {
    const authorized = gate()
    const a = agent(async (run) => {
      const answer = run.requireAuth('Log in at https://id.test')
      void authorized.opened.then(() => run.start())
      await answer
      await run.requireAuth('You have not')
    })
    const task = taskOf(await call(binding, a, 'SendMessage', { message: user('go') }))
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_AUTH_REQUIRED',
      message: { role: 'ROLE_AGENT', parts: [{ text: 'Log in at https://id.test' }] },
    })
    const again = taskOf(
      await call(binding, a, 'SendMessage', { message: user('I have', { taskId: task.id }) }),
    )
    expect(again.status).toMatchObject({
      state: 'TASK_STATE_AUTH_REQUIRED',
      message: { parts: [{ text: 'You have not' }] },
    })
    await a.handler.close()
  })

  test('155. the agent continues without a message when it has the credentials', async () => {
    const authorized = gate()
    const a = agent(async (run) => {
      run.requireAuth('Log in').catch(() => undefined)
      await authorized.opened
      run.start()
      return 'in'
    })
    const stream = await open(binding, a, 'SendStreamingMessage', { message: user('go') })
    await stream.next()
    authorized.open()
    const id = (await stream.rest()).at(-1)?.value.statusUpdate?.taskId ?? ''
    const { result } = await call(binding, a, 'GetTask', { id })
    expect(result && textsOf(result)).toEqual(['in'])
  })
})
