import { A2AError } from 'a2a-tasks'
import { describe, expect, test } from 'vitest'
import { collect } from '../../support/manager.js'
import { agent, as, authenticate, BINDINGS, call, open, ORIGIN, refused, user } from './support/agent.js'
import type { TestAgent, TestAgentOptions } from './support/agent.js'

const CARD = { name: 'Test', url: ORIGIN }
const REQUIRED = 'https://extensions.test/required/v1'
const OFFERED = 'https://extensions.test/offered/v1'

function extended(
  extensions: readonly { uri: string; required?: boolean }[],
  seen: unknown[] = [],
): TestAgent {
  const capabilities = { streaming: true, extensions: [...extensions] }
  return agent((run) => void seen.push(run.extensions), { card: { ...CARD, capabilities } })
}

const idle = (options: TestAgentOptions = {}): TestAgent => agent(() => 'done', options)

describe.each(BINDINGS)('$name: what the card does not offer', (binding) => {
  test('69. push notifications are refused whether or not there is the task', async () => {
    const a = idle()
    const { id } = a.tasks.createTask({ skill: 'test' })
    for (const taskId of [id, 'none']) {
      const url = 'https://client.test/hook'
      for (const [operation, params] of [
        ['CreateTaskPushNotificationConfig', { taskId, url }],
        ['GetTaskPushNotificationConfig', { taskId, id: 'c' }],
        ['ListTaskPushNotificationConfigs', { taskId }],
        ['DeleteTaskPushNotificationConfig', { taskId, id: 'c' }],
      ] as const) {
        const { reason } = await refused(binding, a, operation, params)
        expect([operation, reason]).toEqual([operation, 'PUSH_NOTIFICATION_NOT_SUPPORTED'])
      }
    }
  })

  test('40, 69. what is not offered is said before what is wrong with the request', async () => {
    const a = idle({ card: { ...CARD, capabilities: { streaming: false } } })
    for (const [operation, params, reason] of [
      ['SendStreamingMessage', { message: {} }, 'UNSUPPORTED_OPERATION'],
      ['CreateTaskPushNotificationConfig', { taskId: 't' }, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
      ['ListTaskPushNotificationConfigs', { taskId: 't', pageSize: -1 }, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
    ] as const) {
      expect([operation, (await refused(binding, a, operation, params)).reason]).toEqual([operation, reason])
    }
  })

  test('70. an extended card is unsupported', async () => {
    expect((await refused(binding, idle(), 'GetExtendedAgentCard', {})).reason).toBe('UNSUPPORTED_OPERATION')
  })

  test('71. an extended card that is declared and not configured is said to be that', async () => {
    const a = idle({ card: { ...CARD, capabilities: { extendedAgentCard: true } } })
    const { reason } = await refused(binding, a, 'GetExtendedAgentCard', {})
    expect(reason).toBe('EXTENDED_AGENT_CARD_NOT_CONFIGURED')
  })
})

test.each([
  ['SendStreamingMessage', -32004],
  ['SubscribeToTask', -32004],
  ['GetTaskPushNotificationConfig', -32003],
  ['message/stream', -32004],
  ['tasks/resubscribe', -32004],
  ['tasks/pushNotificationConfig/set', -32003],
  ['tasks/pushNotificationConfig/list', -32003],
])('40, 69. %s is refused with %i, whatever its parameters', async (method, code) => {
  const { handler } = idle({ card: { ...CARD, capabilities: { streaming: false } } })
  for (const params of [undefined, {}, []]) {
    const answer = await handler.dispatch({ jsonrpc: '2.0', id: 1, method, params })
    const [only] = Symbol.asyncIterator in answer ? await collect(answer) : [answer]
    expect(only).toMatchObject({ id: 1, error: { code } })
  }
})

describe.each(BINDINGS)('$name: the extended card', (binding) => {
  test('72. is only for authenticated clients', async () => {
    const a = idle({ authenticate, extendedCard: { ...CARD, name: 'Inside' } })
    expect(a.handler.card.capabilities.extendedAgentCard).toBe(true)
    expect((await refused(binding, a, 'GetExtendedAgentCard', {})).reason).toBe('UNAUTHENTICATED')
    const { result } = await call(binding, a, 'GetExtendedAgentCard', {}, as('me'))
    expect(result?.name).toBe('Inside')
    const open = idle({ extendedCard: CARD })
    expect((await refused(binding, open, 'GetExtendedAgentCard', {})).reason).toBe('UNAUTHENTICATED')
  })

  test('73. may differ by principal, and be refused', async () => {
    const a = idle({
      authenticate,
      extendedCard: ({ id }) => {
        if (id === 'you') throw new A2AError('PERMISSION_DENIED', 'Not for you', {})
        return { ...CARD, name: `For ${id}` }
      },
    })
    const { result } = await call(binding, a, 'GetExtendedAgentCard', {}, as('me'))
    expect(result?.name).toBe('For me')
    expect(await refused(binding, a, 'GetExtendedAgentCard', {}, as('you'))).toMatchObject({
      reason: 'PERMISSION_DENIED',
      message: 'Not for you',
    })
  })

  test("73. one that is invalid is the agent's fault, not the client's", async () => {
    const a = idle({ authenticate, extendedCard: () => ({ ...CARD, skills: [{ id: '' }] as never }) })
    const error = await refused(binding, a, 'GetExtendedAgentCard', {}, as('me'))
    expect(error).toMatchObject({ reason: 'INTERNAL_ERROR', message: 'Internal error' })
    expect(a.errors).toMatchObject([{ error: { cause: { code: 'INVALID_PARAMS' } } }])
  })
})

describe.each(BINDINGS)('$name: extensions', (binding) => {
  test('74. one that is required has to be declared', async () => {
    const a = extended([{ uri: REQUIRED, required: true }, { uri: OFFERED }])
    for (const operation of ['SendMessage', 'SendStreamingMessage'] as const) {
      expect(await refused(binding, a, operation, { message: user('go') })).toMatchObject({
        reason: 'EXTENSION_SUPPORT_REQUIRED',
        details: [{ metadata: { extensions: REQUIRED } }],
      })
    }
    expect(a.tasks.size()).toBe(0)
    const headers = { 'A2A-Extensions': `${OFFERED}, ${REQUIRED}` }
    const { result } = await call(binding, a, 'SendMessage', { message: user('go') }, { headers })
    expect(result?.task?.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('75. another version of an extension is another extension', async () => {
    const a = extended([{ uri: REQUIRED, required: true }])
    for (const version of ['v2', 'v1.1', 'v', 'V1']) {
      const headers = { 'A2A-Extensions': REQUIRED.replace('v1', version) }
      const error = await refused(binding, a, 'SendMessage', { message: user('go') }, { headers })
      expect(error.reason).toBe('EXTENSION_SUPPORT_REQUIRED')
    }
  })

  test('76. those that are known are active and echoed, others ignored', async () => {
    const seen: unknown[] = []
    const a = extended([{ uri: OFFERED }], seen)
    const headers = { 'a2a-extensions': `https://extensions.test/unknown, ${OFFERED}` }
    const { response } = await call(binding, a, 'SendMessage', { message: user('go') }, { headers })
    expect(response.headers.get('A2A-Extensions')).toBe(OFFERED)
    const stream = await open(binding, a, 'SendStreamingMessage', { message: user('go') }, { headers })
    expect(stream.response.headers.get('A2A-Extensions')).toBe(OFFERED)
    await stream.rest()
    const plain = await call(binding, a, 'SendMessage', { message: user('go') })
    expect(plain.response.headers.has('A2A-Extensions')).toBe(false)
    expect(seen).toEqual([[OFFERED], [OFFERED], []])
  })
})
