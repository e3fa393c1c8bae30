/** Client-chosen task ids with a webhook: an id of another owner discloses nothing. */
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler } from 'a2a-tasks/server'
import type { JsonObject } from 'a2a-tasks/schemas'
import { ManualClock } from 'a2a-tasks/testing'
import { v0_1 } from 'a2a-tasks/compat'
import { v1, type Dialect } from 'a2a-tasks/wire'
import { describe, expect, onTestFinished, test } from 'vitest'
import { until } from './support/push.js'
import { call } from '../dialects/support/dialects.js'
import { as, authenticate, ORIGIN, type Reachable } from '../spec/support/agent.js'

const TYPED = { role: 'user', parts: [{ type: 'text', text: 'hi' }] }

/** 0.1, but that a task may have many webhooks, as in 1.0. */
function generous(): Dialect {
  const dialect = v0_1()
  const { SendMessage } = dialect.rpc
  if (SendMessage === undefined) throw new Error('It has it')
  const decode: typeof SendMessage.decode = (params) => {
    const { pushConfig, ...request } = SendMessage.decode(params)
    if (pushConfig === undefined) return request
    const { url, token = '' } = pushConfig
    return { ...request, pushConfig: { url, token } }
  }
  return { ...dialect, rpc: { ...dialect.rpc, SendMessage: { ...SendMessage, decode } } }
}

/** An agent whose tasks wait, and may have two webhooks each. */
function waiting(isShared: boolean): Reachable & { readonly sent: Request[] } {
  const clock = new ManualClock()
  const durable = isShared ? { tasks: new DurableTaskManager({ store: memoryStore(), clock }) } : {}
  const sent: Request[] = []
  const fetch = (url: string, init: RequestInit): Promise<Response> => {
    sent.push(new Request(url, init))
    return Promise.resolve(new Response(null, { status: 204 }))
  }
  const handler = createRequestHandler({
    card: { name: 'Test', url: ORIGIN },
    execute: (run) => void run.requireInput('And?'),
    push: { resolve: false, fetch, maxPerTask: 2 },
    dialects: [v1(), generous()],
    ...{ authenticate, clock, ...durable },
  })
  onTestFinished(async () => {
    await handler.close({ graceMs: 1 })
    await durable.tasks?.destroy()
  })
  return { handler, sent }
}

async function sent(a: Reachable, who: string, id: string, hook?: string): Promise<JsonObject> {
  const pushNotification = { url: `https://hooks.example/${hook}`, token: 't' }
  const params = { id, message: TYPED, ...(hook !== undefined && { pushNotification }) }
  return await call(a, 'tasks/send', params, as(who))
}

describe.each([
  ['in memory', false],
  ['in a store', true],
])('of a task %s', (_, isShared) => {
  test('another client does not learn which webhooks it has, nor how many', async () => {
    const a = waiting(isShared)
    const answers: JsonObject[] = []
    await sent(a, 'alice', 'hers')
    answers.push(await sent(a, 'mallory', 'hers', 'one'))
    for (const hook of ['one', 'two']) expect(await sent(a, 'alice', 'hers', hook)).toHaveProperty('result')
    for (const hook of ['one', 'three']) answers.push(await sent(a, 'mallory', 'hers', hook))
    // Both are the first webhooks of her own task.
    expect(answers).toMatchObject(Array(3).fill({ result: { id: 'hers' } }))
    const list = await call(a, 'ListTaskPushNotificationConfigs', { taskId: 'hers' }, as('mallory'))
    const { configs } = list['result'] as { configs: { taskId: string; url: string }[] }
    expect(configs.map(({ taskId, url }) => [taskId, url.split('/').at(-1)])).toEqual([
      ['hers', 'one'],
      ['hers', 'three'],
    ])
  })

  test('its notifications have the id that its owner chose', async () => {
    const a = waiting(isShared)
    await sent(a, 'alice', 'hers', 'one')
    await until(() => a.sent.length > 0)
    const [first] = a.sent
    expect(first?.headers.get('x-a2a-notification-id')).toMatch(/^hers\//)
    expect(await first?.json()).toMatchObject({ id: 'hers', taskId: 'hers' })
  })

  test('its owner learns that it has no room for another', async () => {
    const a = waiting(isShared)
    for (const hook of ['one', 'two']) await sent(a, 'alice', 'hers', hook)
    expect(await sent(a, 'alice', 'hers', 'three')).toMatchObject({
      error: { message: 'A task may have at most 2 push notification configurations' },
    })
  })

  test('no more than it may have are taken with messages that come at once', async () => {
    const a = waiting(isShared)
    const hooks = ['one', 'two', 'three', 'four']
    const answers = await Promise.all(hooks.map((hook) => sent(a, 'alice', 'hers', hook)))
    expect(answers.filter((answer) => 'error' in answer)).toHaveLength(2)
    const list = await call(a, 'ListTaskPushNotificationConfigs', { taskId: 'hers' }, as('alice'))
    expect((list['result'] as { configs: object[] }).configs).toHaveLength(2)
  })
})
