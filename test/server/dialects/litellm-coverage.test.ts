/** Behaviour in the document of LiteLLM-RS beyond its requests, and the differences of this library. */
import { expect, test } from 'vitest'
import { walk } from '../../support/manager.js'
import { newTask } from '../../wire/litellm/support/litellm.js'
import { agent } from '../spec/support/agent.js'
import { result, send } from './support/dialects.js'

test.each([7, 'request-7'])('a request may have the id %j, which comes back', async (id) => {
  const a = agent(() => 'done')
  const asked = { jsonrpc: '2.0', id, method: 'task_send', params: newTask() }
  const { body } = await send(a, '/', asked)
  expect(Object.keys(body).sort()).toEqual(['id', 'jsonrpc', 'result'])
  expect(body['id']).toBe(id)
})

test('a submitted task may fail, and so may one that waits for input', async () => {
  const a = agent(() => 'done')
  for (const path of [[], ['working', 'input-required']] as const) {
    const { id } = a.tasks.createTask({ skill: 'test' })
    walk(a.tasks, id, ...path)
    a.tasks.updateTask(id, { state: 'failed', message: 'No' })
    expect(await result(a, 'task_get', { task_id: id })).toMatchObject({
      state: 'failed',
      error: { code: 'TASK_FAILED', message: 'No', retryable: false },
    })
  }
})
