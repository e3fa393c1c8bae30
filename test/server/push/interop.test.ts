import { SendMessageRequest, StreamResponse, TaskState } from '@a2a-js/sdk'
import type { Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { legacyFactory, modernClient, type Binding } from '../interop/peers.js'
import { serve } from '../interop/support/agent.js'
import { receiver, summariesOf, until } from './support/push.js'

// The official clients of both lines register webhooks, and get what they understand.

const BINDINGS: readonly Binding[] = ['JSONRPC', 'HTTP+JSON']
const push = { allow: ['127.0.0.1'] }
const execute = async (run: Run): Promise<string> => {
  await run.requireInput('Really?')
  return 'done'
}
const MESSAGE = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'Go' }] }

describe.each(BINDINGS)('the official client 1.3.0 over %s', (binding) => {
  test('registers, reads, lists and deletes webhooks, which receive the task', async () => {
    const hook = await receiver()
    const { url, handler } = await serve({ execute, push })
    const { transport } = await modernClient({ binding, speaks: '1.0' }, url, fetch)
    const sent = await transport.sendMessage(SendMessageRequest.fromJSON({ message: MESSAGE }))
    if (!('status' in sent)) throw new Error('There is no task')
    const taskId = sent.id
    const config = { tenant: '', taskId, id: 'one', url: hook.url, token: 't-1' }
    const authentication = { scheme: 'Bearer', credentials: 'c-1' }
    const made = await transport.createTaskPushNotificationConfig({ ...config, authentication })
    expect(made).toMatchObject({ taskId, id: 'one', url: hook.url, token: 't-1', authentication })
    const asked = { tenant: '', taskId, id: 'one' }
    expect(await transport.getTaskPushNotificationConfig(asked)).toEqual(made)
    const listed = await transport.listTaskPushNotificationConfig({
      tenant: '',
      taskId,
      pageSize: 10,
      pageToken: '',
    })
    expect(listed).toMatchObject({ configs: [made] })
    await hook.arrived(1)
    await transport.cancelTask({ tenant: '', id: taskId, metadata: undefined })
    await hook.arrived(2)
    expect(summariesOf(hook.received)).toEqual(['task input_required', 'canceled'])
    expect(hook.received[1]?.headers).toMatchObject({
      authorization: 'Bearer c-1',
      'x-a2a-notification-token': 't-1',
    })
    const [first, second] = hook.received.map(({ body }) => StreamResponse.fromJSON(body).payload)
    expect(first).toMatchObject({ $case: 'task', value: { id: taskId } })
    expect(second).toMatchObject({
      $case: 'statusUpdate',
      value: { status: { state: TaskState.TASK_STATE_CANCELED } },
    })
    await transport.deleteTaskPushNotificationConfig(asked)
    await transport.deleteTaskPushNotificationConfig(asked)
    expect(await handler.push.health(taskId)).toEqual([])
    await expect(transport.getTaskPushNotificationConfig(asked)).rejects.toThrow()
  })

  test('names a webhook with its message', async () => {
    const hook = await receiver()
    const { url, handler } = await serve({ execute: () => 'done', push })
    const client = await modernClient({ binding, speaks: '1.0' }, url, fetch)
    const configuration = { taskPushNotificationConfig: { url: hook.url, token: 't-1' } }
    await client.sendMessage(SendMessageRequest.fromJSON({ message: MESSAGE, configuration }))
    await until(() => hook.received.length > 0 && /completed/.test(summariesOf(hook.received).join()))
    expect(hook.received[0]?.headers['x-a2a-notification-token']).toBe('t-1')
    // What has arrived may not be known as delivered yet.
    await handler.close({ graceMs: 10_000 })
  })
})

describe.each(BINDINGS)('the official client 0.3.14 over %s', (binding) => {
  test('registers, reads, lists and deletes webhooks, which get the whole task', async () => {
    const hook = await receiver()
    const { url, handler } = await serve({ execute, push })
    const { transport } = await legacyFactory(binding, fetch).createFromUrl(`${url}/`)
    const parts = [{ kind: 'text' as const, text: 'Go' }]
    const message = { kind: 'message' as const, messageId: 'm-1', role: 'user' as const, parts }
    const sent = await transport.sendMessage({ message })
    if (sent.kind !== 'task') throw new Error('There is no task')
    const taskId = sent.id
    const pushNotificationConfig = { id: 'one', url: hook.url, token: 't-1' }
    await transport.setTaskPushNotificationConfig({ taskId, pushNotificationConfig })
    const asked = { id: taskId, pushNotificationConfigId: 'one' }
    expect(await transport.getTaskPushNotificationConfig(asked)).toMatchObject({ pushNotificationConfig })
    expect(await transport.listTaskPushNotificationConfig({ id: taskId })).toMatchObject([
      { pushNotificationConfig },
    ])
    await hook.arrived(1)
    await transport.cancelTask({ id: taskId })
    const bodies = (await hook.arrived(2)).map(({ body }) => body)
    expect(bodies).toMatchObject([
      { kind: 'task', id: taskId, status: { state: 'input-required' } },
      { kind: 'task', id: taskId, status: { state: 'canceled' } },
    ])
    expect(hook.received[0]?.headers['x-a2a-notification-token']).toBe('t-1')
    await transport.deleteTaskPushNotificationConfig(asked)
    expect(await handler.push.health(taskId)).toEqual([])
  })

  test('names a webhook with its message', async () => {
    const hook = await receiver()
    const { url, handler } = await serve({ execute: () => 'done', push })
    const { transport } = await legacyFactory(binding, fetch).createFromUrl(`${url}/`)
    const parts = [{ kind: 'text' as const, text: 'Go' }]
    const message = { kind: 'message' as const, messageId: 'm-1', role: 'user' as const, parts }
    const pushNotificationConfig = { id: 'one', url: hook.url, token: 't-1' }
    await transport.sendMessage({ message, configuration: { blocking: true, pushNotificationConfig } })
    await until(() => /"state":"completed"/.test(JSON.stringify(hook.received)))
    expect(hook.received[0]?.body).toMatchObject({ kind: 'task' })
    // What has arrived may not be known as delivered yet.
    await handler.close({ graceMs: 10_000 })
  })
})
