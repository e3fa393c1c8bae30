import type * as wire from 'a2a-tasks/schemas'
import { textOf } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { connect, say, taskOf } from './interop/peers.js'
import { gate, rejection, serve } from './interop/support/agent.js'

// The faults of the official server (1.3.0) that need HTTP to be seen.

const echo = { execute: () => 'ok' }
type Body = NonNullable<RequestInit['body']> | null
const JSON_TYPE = { 'content-type': 'application/json' }

interface RpcError {
  readonly id: unknown
  readonly error: { readonly code: number; readonly message: string }
}

async function post(
  url: string,
  body: Body,
  headers: Record<string, string> = JSON_TYPE,
): Promise<{ status: number; type: string | null; text: string }> {
  const init: RequestInit & { duplex: 'half' } = { method: 'POST', body, headers, duplex: 'half' }
  const response = await fetch(url, init)
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
}

describe('a body that is no request', () => {
  test.each<[string, Body, Record<string, string>, number, number]>([
    ['no JSON', '{"jsonrpc":', JSON_TYPE, 200, -32700],
    ['no UTF-8', new Uint8Array([0x22, 0xff, 0x22]), JSON_TYPE, 200, -32700],
    ['empty', null, JSON_TYPE, 200, -32700],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]', JSON_TYPE, 200, -32600],
    ['a form', '{}', { 'content-type': 'text/plain' }, 400, -32005],
    ['of no type', new TextEncoder().encode('{}'), {}, 400, -32005],
  ])('%s', async (_, body, headers, status, code) => {
    const { url } = await serve(echo)
    const answer = await post(url, body, headers)
    expect(answer).toMatchObject({ status, type: 'application/json' })
    expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: '2.0', id: null, error: { code } })
  })

  test('a path that is no UTF-8', async () => {
    const { url } = await serve(echo)
    const response = await fetch(`${url}/tasks/%ff`)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: 400, status: 'INVALID_ARGUMENT' } })
  })

  test('nesting that is too deep', async () => {
    const { url } = await serve(echo)
    const deep = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${'['.repeat(20_000)}${']'.repeat(20_000)}}`
    const answer = await post(url, deep)
    expect((JSON.parse(answer.text) as RpcError).error.code).toBe(-32602)
    const rest = await post(`${url}/message:send`, '['.repeat(20_000) + ']'.repeat(20_000))
    expect(rest.status).toBe(400)
  })
})

test.each(['', '/message:send'])(
  'a message with the names of the proto continues its task: %s',
  async (path) => {
    const { url, handler } = await serve({
      execute: async (run) => void run.artifact(textOf(await run.requireInput('Which?'))),
    })
    const send = async (message: object): Promise<object> => {
      const request = { message: { message_id: 'm', role: 1, ...message } }
      const body = path === '' ? { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: request } : request
      const { text } = await post(`${url}${path}`, JSON.stringify(body))
      const answer = JSON.parse(text) as { result?: object }
      return answer.result ?? answer
    }
    const first = await send({ parts: [{ text: 'go', media_type: 'text/plain' }] })
    const { task } = first as { task: wire.Task }
    expect(task.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(await send({ message_id: 'n', task_id: task.id, parts: [{ text: 'this' }] })).toMatchObject({
      task: { id: task.id, status: { state: 'TASK_STATE_COMPLETED' } },
    })
    expect(handler.tasks.size()).toBe(1)
    const twice = await send({ task_id: task.id, taskId: task.id, parts: [{ text: 'this' }] })
    expect(JSON.stringify(twice)).toContain('message.task_id must not be given together with taskId')
  },
)

describe('a body that is too large', () => {
  const LARGE = 'x'.repeat(4_194_304)

  function chunked(): ReadableStream<Uint8Array> {
    const chunk = new TextEncoder().encode('x'.repeat(65_536))
    let count = 0
    return new ReadableStream({
      pull(controller) {
        count += 1
        if (count > 80) controller.close()
        else controller.enqueue(chunk)
      },
    })
  }

  test.each([
    ['declared', () => JSON.stringify(LARGE)],
    ['not declared', chunked],
  ])('is an error of the protocol: its size is %s', async (_, body) => {
    const { url } = await serve(echo)
    const rpc = await post(url, body())
    expect(rpc).toMatchObject({ status: 413, type: 'application/json' })
    expect(JSON.parse(rpc.text)).toMatchObject({ id: null, error: { code: -32602 } })
    const rest = await post(`${url}/message:send`, body())
    expect(rest).toMatchObject({ status: 413, type: 'application/a2a+json' })
    expect(JSON.parse(rest.text)).toMatchObject({ error: { status: 'INVALID_ARGUMENT' } })
    expect(rpc.text + rest.text).not.toMatch(/<html|node_modules|\.ts|at /)
  })

  test('leaves the server as it was', async () => {
    const { url } = await serve(echo)
    await post(url, JSON.stringify(LARGE))
    const peer = await connect({ sdk: '1.3.0', speaks: '1.0', binding: 'JSONRPC' }, url)
    expect(taskOf(await peer.send(say('x'))).status.state).toBe('TASK_STATE_COMPLETED')
  })
})

describe.each(['JSONRPC', 'HTTP+JSON'] as const)('a client that is gone: %s', (binding) => {
  const line = { sdk: '1.3.0', speaks: '1.0', binding } as const

  test('in the middle of a stream leaves the work to be done', async () => {
    const go = gate()
    const { url, handler } = await serve({
      async execute(run) {
        run.start()
        await go.opened
        for (let chunk = 0; chunk < 20; chunk += 1) run.artifact({ artifactId: 'a', parts: [{ text: 'x' }] })
      },
    })
    const peer = await connect(line, url)
    const client = new AbortController()
    const stream = peer.stream(say('go'), { signal: client.signal })
    const { value } = (await stream.next()) as { value: wire.StreamResponse }
    const { id } = taskOf(value)
    client.abort()
    await rejection(async () => {
      for (;;) if ((await stream.next()).done) throw new Error('The stream has ended')
    })
    go.open()
    await handler.tasks.waitFor(id)
    const task = await (await connect(line, url)).get(id)
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(task.artifacts?.[0]?.parts).toEqual([{ text: 'x'.repeat(20) }])
  })

  test('takes no place among the streams any more', async () => {
    const { url } = await serve({
      async execute(run) {
        await run.requireAuth('?')
      },
      limits: { maxStreams: 1 },
    })
    const peer = await connect(line, url)
    const client = new AbortController()
    const stream = peer.stream(say('first'), { signal: client.signal })
    await stream.next()
    await rejection(() => peer.stream(say('second')).next())
    client.abort()
    // The server learns of it by and by.
    for (;;) {
      const next = peer.stream(say('third'))
      const opened = await next.next().catch(() => undefined)
      await next.return(undefined)
      if (opened?.done === false) break
    }
  })

  test('while it waits leaves the work to be done', async () => {
    const go = gate()
    const started = gate<string>()
    const { url, handler } = await serve({
      async execute(run) {
        started.open(run.task.id)
        await go.opened
        return 'stored'
      },
    })
    const peer = await connect(line, url)
    const client = new AbortController()
    const waiting = rejection(() => peer.send(say('go'), { signal: client.signal }))
    const id = await started.opened
    client.abort()
    expect(await waiting).toMatchObject({ name: 'AbortError' })
    go.open()
    await handler.tasks.waitFor(id)
    expect((await peer.get(id)).status.state).toBe('TASK_STATE_COMPLETED')
  })
})

test('the card says how to get in, in the words of the protocol', async () => {
  const securitySchemes = { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } }
  const { url } = await serve({ ...echo, card: () => ({ securitySchemes }) })
  const response = await fetch(`${url}/.well-known/agent-card.json`, { headers: { 'A2A-Version': '1.0' } })
  expect(await response.json()).toMatchObject({ securitySchemes })
})
