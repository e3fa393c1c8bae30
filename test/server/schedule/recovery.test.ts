/** Messages that are sent again in another version of the protocol, after a crash, or with a webhook. */
import type { Execute } from 'a2a-tasks/server'
import { expect, test } from 'vitest'
import { result } from '../dialects/support/dialects.js'
import { get, pass, replicas, type Replica } from '../durable/support/replicas.js'
import { as, authenticate, call, jsonRpc, taskOf, textsOf, user } from '../spec/support/agent.js'

const asking: Execute = async (run) => {
  const { parts } = await run.requireInput('Which?')
  return `You said ${parts[0]?.text ?? ''}`
}

async function sendNow(at: Replica, message: object): ReturnType<typeof call<'SendMessage'>> {
  return await call(jsonRpc, at, 'SendMessage', { message, configuration: { returnImmediately: true } })
}

test('a message is the same in A2A 0.3 and 1.0', async () => {
  const { a, b } = replicas(asking, { authenticate })
  const message = { messageId: 'm1', parts: [{ text: 'go' }], metadata: { tone: 'kind' } }
  const first = await call(
    jsonRpc,
    a,
    'SendMessage',
    { message: { ...message, role: 'ROLE_USER' } },
    as('ada'),
  )
  const parts = [{ kind: 'text', text: 'go' }]
  const again = { message: { ...message, kind: 'message', role: 'user', parts } }
  const second = await result(b, 'message/send', again, as('ada'))
  expect(second).toMatchObject({ kind: 'task', id: taskOf(first).id, status: { state: 'input-required' } })
  expect(await a.tasks.size()).toBe(1)
})

test('the task of a process that has died is found by its message, and is worked on again', async () => {
  const options = { manager: { recover: 'resume' }, idempotency: { anonymous: true } } as const
  const never: Execute = (run) => {
    run.start()
    return new Promise(() => undefined)
  }
  const { a, b, clock } = replicas([never, (run) => `done: ${run.text}`], options)
  const message = user('go')
  const begun = taskOf(await sendNow(a, message))
  a.store.fail()
  const found = taskOf(await sendNow(b, message))
  expect([found.id, found.status.state]).toEqual([begun.id, 'TASK_STATE_WORKING'])
  await pass(clock, async () => (await get(b, begun.id)).status.state === 'TASK_STATE_COMPLETED')
  expect(textsOf(taskOf(await sendNow(b, message)))).toEqual(['done: go'])
  expect(await b.tasks.size()).toBe(1)
})

test('a webhook that comes with the message is registered once', async () => {
  const push = { allow: ['127.0.0.1'], fetch: () => Promise.resolve(new Response(null, { status: 204 })) }
  const { a, b } = replicas(asking, { authenticate, push })
  const configuration = {
    returnImmediately: true,
    taskPushNotificationConfig: { url: 'http://127.0.0.1:8080/hook', token: 'secret' },
  }
  const message = user('go')
  const ids: string[] = []
  for (const at of [a, b, a]) {
    ids.push(taskOf(await call(jsonRpc, at, 'SendMessage', { message, configuration }, as('ada'))).id)
  }
  expect(new Set(ids).size).toBe(1)
  const configs = await call(jsonRpc, a, 'ListTaskPushNotificationConfigs', { taskId: ids[0] }, as('ada'))
  expect(configs.result?.['configs']).toHaveLength(1)
})
