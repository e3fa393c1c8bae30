/** Behaviour of KAOS beyond its document, and the differences of this library. */
import type { JsonObject } from 'a2a-tasks/schemas'
import { kaos } from 'a2a-tasks/wire'
import { describe, expect, test } from 'vitest'
import { agent, get } from '../spec/support/agent.js'
import { call, result, send } from './support/dialects.js'

const only = () => agent((run) => run.text, { dialects: [kaos()] })
const hello = { role: 'user', parts: [{ type: 'text', text: 'hi' }] }

test('a status has a text, but for that of a task that has not begun', async () => {
  const a = only()
  const { id } = a.tasks.createTask({ skill: 'test' })
  const status = async () => (await result(a, 'GetTask', { id }))['status']
  expect(await status()).toEqual({ state: 'submitted', timestamp: '2026-01-01T00:00:00.000Z' })
  a.tasks.updateTask(id, { state: 'working' })
  expect(await status()).toMatchObject({ state: 'working', message: 'Processing' })
  a.tasks.updateTask(id, { state: 'input-required', message: 'Which one?' })
  expect(await status()).toMatchObject({ state: 'input-required', message: 'Which one?' })
})

describe('a request', () => {
  const rpc = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: hello } }

  test.each([{ id: 'r-1' }, { id: 7 }, { id: null }])(
    'may have the id of %j, which comes back',
    async (own) => {
      const { body } = await send(only(), '/', { ...rpc, ...own })
      expect(body).toMatchObject({ ...own, result: { output: 'hi' } })
    },
  )

  test.each<[JsonObject, unknown]>([
    [{ id: undefined } as object as JsonObject, null],
    [{ id: {} }, null],
    [{ jsonrpc: '1.0' }, 1],
    [{ jsonrpc: undefined } as object as JsonObject, 1],
    [{ params: 'hi' }, 1],
  ])('that is invalid gets an error: %o', async (wrong, id) => {
    const a = only()
    const error = { code: -32600, message: 'Invalid JSON-RPC request', data: null }
    expect(await send(a, '/', { ...rpc, ...wrong })).toEqual({
      status: 200,
      body: { jsonrpc: '2.0', id, error },
    })
    expect(a.tasks.size()).toBe(0)
  })

  test.each(['ListTasks', 'tasks/list'])('for %s is for an unknown method', async (method) => {
    expect((await call(only(), method, {}))['error']).toEqual({
      code: -32601,
      message: `Method not found: ${method}`,
      data: null,
    })
  })
})

describe('a message', () => {
  test.each([[[{ kind: 'text', text: 'hi' }]], [[{ text: 'hi' }]]])(
    'may have the parts %j',
    async (parts) => {
      expect(await result(only(), 'SendMessage', { message: { role: 'user', parts } })).toMatchObject({
        output: 'hi',
      })
    },
  )

  test('is in the session of the request, whatever context it names', async () => {
    const sent = await result(only(), 'SendMessage', {
      message: { ...hello, contextId: 'c' },
      sessionId: 's',
    })
    expect(sent['sessionId']).toBe('s')
    expect(
      (await result(only(), 'SendMessage', { message: { ...hello, contextId: 'c' } }))['sessionId'],
    ).not.toBe('c')
  })

  test('is answered before the task has ended where it says that it does not block', async () => {
    const a = agent(() => new Promise(() => {}), { dialects: [kaos()] })
    const sent = await result(a, 'SendMessage', { message: hello, configuration: { blocking: false } })
    expect(sent['status']).toMatchObject({ state: 'working', message: 'Processing' })
  })
})

test('the card has the address that the agent was given, and the modes of its skills', async () => {
  const skill = {
    id: 'add',
    name: 'Add',
    description: 'Adds',
    tags: ['math'],
    inputModes: ['application/json'],
  }
  const card = { name: 'my-agent', url: 'https://my-agent.example/', skills: [skill] }
  const a = agent((run) => run.text, { card, dialects: [kaos()] })
  const response = await a.handler.fetch(get('/.well-known/agent.json'))
  expect(await response.json()).toMatchObject({
    url: 'https://my-agent.example',
    skills: [skill],
    defaultInputModes: ['text/plain'],
  })
})
