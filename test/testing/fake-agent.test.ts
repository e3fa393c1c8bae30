import { A2AClient } from 'a2a-tasks/client'
import { fakeAgent, ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'

const RPC = 'https://agent.test/'
const broken = new TypeError('fetch failed')

function post(method: string, params: object, init: RequestInit = {}): RequestInit {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
  return { method: 'POST', body, headers, ...init }
}

function message(messageId: string, more: object = {}): object {
  return { message: { messageId, role: 'ROLE_USER', parts: [{ text: 'Hi' }], ...more } }
}

const send = (id: string, init?: RequestInit): RequestInit => post('SendMessage', message(id), init)

async function outcomes(requests: readonly Promise<Response>[]): Promise<string[]> {
  const settled = await Promise.allSettled(requests)
  return Promise.all(
    settled.map(async (each) => {
      if (each.status === 'rejected') return String(each.reason)
      return /"text":"(one|two|three)"/.exec(await each.value.text())?.[1] ?? 'nothing'
    }),
  )
}

describe('fakeAgent.fetch heeds a signal', () => {
  test('that has aborted before the agent receives the request', async () => {
    const agent = fakeAgent('one')
    const signal = AbortSignal.abort(new Error('gone'))
    await expect(agent.fetch(RPC, send('1', { signal }))).rejects.toBe(signal.reason)
    expect(agent.requests).toEqual([])
    expect(agent.tasks.listTasks()).toEqual([])
  })

  test('that is aborted while the agent works', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    const agent = fakeAgent((run) => {
      run.start()
      controller.abort(reason)
      return new Promise(() => undefined)
    })
    await expect(agent.fetch(RPC, send('1', { signal: controller.signal }))).rejects.toBe(reason)
    expect(agent.requests).toHaveLength(1)
    await agent.close()
  })

  test('that is aborted while a stream is read', async () => {
    const controller = new AbortController()
    const agent = fakeAgent((run) => {
      run.start()
      return new Promise(() => undefined)
    })
    const init = post('SendStreamingMessage', message('1'), { signal: controller.signal })
    const { body } = await agent.fetch(RPC, init)
    const reader = body?.getReader()
    expect((await reader?.read())?.done).toBe(false)
    const read = (async () => {
      while (!(await reader?.read())?.done);
    })()
    controller.abort(new Error('enough'))
    await expect(read).rejects.toBe(controller.signal.reason)
    await agent.close()
  })

  test('as a client sees it', async () => {
    const clock = new ManualClock()
    const agent = fakeAgent((run) => new Promise(() => run.start()), { clock })
    const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
    const signal = AbortSignal.abort()
    await expect(client.getTask('t', { signal })).rejects.toMatchObject({ code: 'REQUEST_ABORTED' })
    await agent.close()
  })
})

describe('fakeAgent.fetch reaches the agent only', () => {
  test.each(['https://other.test/', 'http://agent.test/', 'https://agent.test:8443/', 'data:text/plain,x'])(
    '%s is not found',
    async (url) => {
      const agent = fakeAgent('one')
      const error: unknown = await agent.fetch(url, send('1')).catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(TypeError)
      expect(error).toMatchObject({ message: 'fetch failed', cause: { code: 'ENOTFOUND' } })
      expect(agent.requests).toEqual([])
    },
  )

  test('at its url, and wherever its card says', async () => {
    const face = { protocolBinding: 'JSONRPC', protocolVersion: '1.0' }
    const supportedInterfaces = ['https://a.test:8443/rpc', 'grpc.test:443'].map((url) => ({ url, ...face }))
    const agent = fakeAgent('one', { card: { supportedInterfaces } })
    const card = await agent.fetch(`${agent.url}/.well-known/agent-card.json`)
    expect(card.status).toBe(200)
    expect(await outcomes([agent.fetch('https://a.test:8443/rpc', send('1'))])).toEqual(['one'])
  })
})

describe('a step of the script', () => {
  test('is for one message, of several at once', async () => {
    const agent = fakeAgent([broken, 'one', broken, 'two'])
    const all = ['1', '2', '3', '4'].map((id) => agent.fetch(RPC, send(id)))
    expect((await outcomes(all)).sort()).toEqual([String(broken), String(broken), 'one', 'two'])
  })

  test('is kept where the message begins no run', async () => {
    const agent = fakeAgent(['one', 'one', 'two'])
    const wrong = agent.fetch(RPC, post('SendMessage', message('1', { role: 'ROLE_AGENT' })))
    expect(await outcomes([wrong])).toEqual(['nothing'])
    const answers: string[] = []
    for (const id of ['2', '3', '4']) answers.push(...(await outcomes([agent.fetch(RPC, send(id))])))
    expect(answers).toEqual(['one', 'one', 'two'])
  })

  test('is for messages, whatever the text of other requests', async () => {
    const agent = fakeAgent([broken, 'two'])
    const texts = { id: 'SendMessage', metadata: { method: 'message/send', path: '/message:send' } }
    await agent.fetch(RPC, post('GetTask', texts))
    await agent.fetch(`${RPC}tasks?contextId=/message:send`, { headers: { 'a2a-version': '1.0' } })
    expect(await outcomes([agent.fetch(RPC, send('1'))])).toEqual([String(broken)])
  })

  test.each([
    ['1.0', '', post('SendStreamingMessage', message('1'))],
    ['1.0 over HTTP+JSON', 'message:send', { method: 'POST', body: JSON.stringify(message('1')) }],
    ['0.3', '', post('message/send', {})],
    ['0.3 over HTTP+JSON', 'v1/message:stream', { method: 'POST', body: '{"request":{}}' }],
    ['no version', 'message:send', { method: 'POST', body: 'not JSON' }],
  ])('that is an error is for messages of %s', async (_, path, init) => {
    await expect(fakeAgent(broken).fetch(RPC + path, init)).rejects.toBe(broken)
  })
})
