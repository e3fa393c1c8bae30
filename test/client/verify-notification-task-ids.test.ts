/** Notifications that name more than one task. */
import { verifyNotification, type PushNotification } from 'a2a-tasks/client'
import { describe, expect, it } from 'vitest'
import { failureOf } from '../http/support/http.js'

const TASK = { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_COMPLETED' } }

function verify(body: unknown): Promise<PushNotification> {
  const headers = { 'content-type': 'application/a2a+json', 'x-a2a-notification-token': 'secret' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  return verifyNotification(new Request('http://receiver.test/webhook', init), {
    token: 'secret',
    taskId: 't1',
  })
}

describe('what names two tasks is refused', () => {
  const status = { state: 'TASK_STATE_WORKING' }
  const ofTask = { taskId: 't1', contextId: 'c1' }
  const of = (ids: object): object => ({ messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'x' }], ...ids })
  it.each<[string, unknown]>([
    ['in another spelling', { statusUpdate: { ...ofTask, task_id: 't2', status } }],
    ['by another name', { kind: 'status-update', ...ofTask, id: 't2', status: { state: 'working' } }],
    ['beside its kind', { kind: 'task', ...TASK, status: { state: 'working' }, task: { ...TASK, id: 't2' } }],
    [
      'in the message of its state',
      { statusUpdate: { ...ofTask, status: { ...status, message: of({ taskId: 't2' }) } } },
    ],
    [
      'by the context of that message',
      { statusUpdate: { ...ofTask, status: { ...status, message: of({ contextId: 'c2' }) } } },
    ],
    ['in its history', { task: { ...TASK, history: [of({}), of({ taskId: 't2' })] } }],
  ])('%s', async (_, body) => {
    expect(await failureOf(verify(body))).toMatchObject({ code: 'INVALID_PARAMS', statusCode: 400 })
  })

  it('a notification that names one task twice is accepted', async () => {
    const history = [of(ofTask), of({}), of({ taskId: '' })]
    const task = { ...TASK, taskId: 't1', history }
    expect(await verify({ task })).toMatchObject({ taskId: 't1' })
    expect(await verify({ task, id: 'of something else' })).toMatchObject({ taskId: 't1' })
  })
})
