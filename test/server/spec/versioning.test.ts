import { describe, expect, test } from 'vitest'
import { v0_3, v1 } from '../../../src/wire/index.js'
import { agent, BINDINGS, get, post, refused, user } from './support/agent.js'
import type { TestAgent } from './support/agent.js'

const idle = (): TestAgent => agent(() => 'done')
const asking = (version: string) => ({ headers: { 'A2A-Version': version } })
const old = { messageId: 'm', role: 'user', kind: 'message', parts: [{ kind: 'text', text: 'hi' }] }
const inOld = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message: old } }
const inNew = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: user('hi') } }

async function rpc({ handler }: TestAgent, body: object, version?: string): Promise<unknown> {
  return (await handler.fetch(post('/', body, version === undefined ? {} : asking(version)))).json()
}

test('107. a request is served as the version that it asks for has it', async () => {
  const a = idle()
  expect(await rpc(a, inNew, '1.0')).toMatchObject({
    result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } },
  })
  expect(await rpc(a, inOld, '0.3')).toMatchObject({
    result: { kind: 'task', status: { state: 'completed' } },
  })
  // Neither version has the method of the other.
  expect(await rpc(a, inOld, '1.0')).toMatchObject({ error: { code: -32601 } })
  expect(await rpc(a, inNew, '0.3')).toMatchObject({ error: { code: -32601 } })
})

describe.each(BINDINGS)('$name: A2A-Version', (binding) => {
  test('108. an unsupported version is refused, and the error lists the supported ones', async () => {
    for (const version of ['99.0', '2.0', '1.1', '1', 'one', '0.2', '1.0.0.0', '10']) {
      const error = await refused(binding, idle(), 'SendMessage', { message: user('go') }, asking(version))
      expect(error).toMatchObject({
        reason: 'VERSION_NOT_SUPPORTED',
        details: [{ metadata: { version, supported: '1.0,0.3' } }],
      })
    }
  })

  test('108. so is a version that the agent does not serve', async () => {
    const a = agent(() => 'done', { dialects: [v1()] })
    const error = await refused(binding, a, 'ListTasks', {}, asking('0.3'))
    expect(error.reason).toBe('VERSION_NOT_SUPPORTED')
  })
})

test('109. no version, or an empty one: that of the method, or of the path', async () => {
  for (const version of [undefined, '']) {
    const a = idle()
    expect(await rpc(a, inOld, version)).toMatchObject({ result: { kind: 'task' } })
    expect(await rpc(a, inNew, version)).toMatchObject({ result: { task: {} } })
    const init = version === undefined ? {} : asking(version)
    expect(await (await a.handler.fetch(get('/tasks', init))).json()).toHaveProperty('totalSize')
    expect(await (await a.handler.fetch(get('/v1/tasks', init))).json()).toBeInstanceOf(Array)
  }
})

test('109. an agent that speaks 0.3 alone takes it for granted', async () => {
  const a = agent(() => 'done', { dialects: [v0_3()] })
  expect(await rpc(a, inOld)).toMatchObject({ result: { kind: 'task' } })
  expect(await rpc(a, inNew)).toMatchObject({ error: { code: -32601 } })
})

test('111. the version may be in the query', async () => {
  const { handler } = idle()
  const known = await handler.fetch(get('/tasks?A2A-Version=1.0'))
  expect(known.status).toBe(200)
  const unknown = await handler.fetch(get('/tasks?A2A-Version=99.0'))
  expect(await unknown.json()).toMatchObject({ error: { details: [{ reason: 'VERSION_NOT_SUPPORTED' }] } })
  const rpcAnswer = await handler.fetch(post('/?A2A-Version=99.0', inNew))
  expect(await rpcAnswer.json()).toMatchObject({ error: { code: -32009 } })
  // The header is what §3.6.1 asks for: it decides where both are there.
  const both = await handler.fetch(get('/tasks?A2A-Version=99.0', asking('1.0')))
  expect(both.status).toBe(200)
})

test('107, 108, 113. dispatch reads version and extensions from its context', async () => {
  const { handler } = idle()
  expect(await handler.dispatch(inNew, { version: '1.0.1' })).toHaveProperty('result.task')
  expect(await handler.dispatch(inNew, { version: '99.0' })).toMatchObject({ error: { code: -32009 } })
  expect(await handler.dispatch(inOld, { version: '0.3' })).toHaveProperty('result.kind', 'task')
})

test('113. the names of extensions have their case', async () => {
  const uri = 'https://extensions.test/Case'
  const card = { name: 'Test', url: 'https://agent.test', capabilities: { extensions: [{ uri }] } }
  const { handler } = agent(() => 'done', { card })
  for (const [asked, echoed] of [
    [uri, uri],
    [uri.toLowerCase(), null],
  ] as const) {
    const response = await handler.fetch(get('/tasks', { headers: { 'A2A-EXTENSIONS': asked } }))
    expect(response.headers.get('a2a-extensions')).toBe(echoed)
  }
})
