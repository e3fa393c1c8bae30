/**
 * The client with servers of A2A 0.3 over HTTP+JSON that the devDependencies do not have. Each server here responds as the
 * source of the official SDK in its name.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { A2AError } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import { expect, onTestFinished, test } from 'vitest'

interface Asked {
  readonly method: string
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
}

interface Answered {
  readonly status: number
  readonly json?: object
  readonly text?: string
}

/** A real server, a client of it, and what the client has sent. */
async function serving(answer: (asked: Asked) => Answered, protocolBinding = 'HTTP+JSON') {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    request.on('end', () => {
      const { method = '', url: path = '' } = request
      const one = { method, path, body: JSON.parse(text || '{}') as Asked['body'] }
      asked.push(one)
      const { status, json, text: plain } = answer(one)
      response.writeHead(status, { 'content-type': json ? 'application/json' : 'text/plain' })
      response.end(json ? JSON.stringify(json) : plain)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const card = {
    ...{ protocolVersion: '0.3.0', name: 'Peer', description: 'A peer', version: '1', skills: [] },
    ...{ url, preferredTransport: protocolBinding, capabilities: { pushNotifications: true } },
    ...{ defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] },
  }
  const client = new A2AClient({ card, retry: { attempts: 1 } })
  return { client, asked }
}

async function failureOf(work: Promise<unknown>): Promise<A2AError> {
  return (await work.then(
    () => expect.unreachable('It must fail'),
    (error: unknown) => error,
  )) as A2AError
}

const WEBHOOK = { id: 'w', url: 'https://hooks.example/a', token: 'secret' }
const NAME = 'tasks/t/pushNotificationConfigs/w'
const MADE = { name: NAME, pushNotificationConfig: WEBHOOK }

/** The fields of `CreateTaskPushNotificationConfigRequest` in the proto of 0.3. A strict parser knows no others. */
function isProtoRequest({ body }: Asked): boolean {
  const known = ['parent', 'configId', 'config']
  const config = body['config'] as { pushNotificationConfig?: object; name?: string } | undefined
  return (
    Object.keys(body).every((key) => known.includes(key)) &&
    body['parent'] === 'tasks/t' &&
    config?.pushNotificationConfig !== undefined &&
    Object.keys(config).every((key) => ['name', 'pushNotificationConfig'].includes(key))
  )
}

/** How each server reads the body of a new push configuration. */
const SERVERS: Readonly<Record<string, (asked: Asked) => Answered>> = {
  // json_format.Parse without ignore_unknown_fields; any exception that is no ServerError is "unknown exception".
  'a2a-python 0.3': (asked) =>
    isProtoRequest(asked)
      ? { status: 200, json: MADE }
      : { status: 500, json: { message: 'unknown exception' } },
  // JsonFormat.parser() is strict too. Errors have the name of a class instead of a code.
  'a2a-java 0.3': (asked) =>
    isProtoRequest(asked)
      ? { status: 201, json: MADE }
      : { status: 422, json: { error: 'io.a2a.spec.InvalidParamsError', message: 'Failed to parse' } },
  // `fromJSON` of the proto's request; the task comes from `parent`.
  '@a2a-js/sdk 0.3.13': ({ body }) => {
    const config = body['config'] as { pushNotificationConfig?: object } | undefined
    const isRead = config?.pushNotificationConfig !== undefined && body['parent'] === 'tasks/t'
    return isRead
      ? { status: 201, json: MADE }
      : { status: 400, json: { code: -32602, message: 'Request must include a `config` object' } }
  },
  // The body and the task of the path are the configuration.
  '@a2a-js/sdk 0.3.12': ({ body }) =>
    body['pushNotificationConfig'] === undefined
      ? { status: 400, json: { code: -32602, message: 'pushNotificationConfig is required' } }
      : { status: 201, json: MADE },
  // `[FromBody] PushNotificationConfig`, whose `url` is required: ASP.NET responds 400 without a body.
  'a2a-dotnet 0.3': ({ body }) =>
    body['url'] === WEBHOOK.url
      ? { status: 200, json: { taskId: 't', pushNotificationConfig: WEBHOOK } }
      : { status: 400, text: '' },
}

test.each(Object.entries(SERVERS))('a push configuration is created at a server of %s', async (_, answer) => {
  const { client, asked } = await serving(answer)
  const created = await client.createPushConfig('t', WEBHOOK)
  expect(created).toEqual({ taskId: 't', config: WEBHOOK })
  expect(asked.length).toBeLessThanOrEqual(2)
  expect(asked.every(({ path }) => path === '/v1/tasks/t/pushNotificationConfigs')).toBe(true)
})

test('a push configuration that an agent refuses in both forms fails with its first reason', async () => {
  const reasons = ['the URL is not allowed', 'the body must be a request']
  const { client, asked } = await serving(() => ({
    status: 400,
    json: { code: -32602, message: reasons[asked.length - 1] },
  }))
  const error = await failureOf(client.createPushConfig('t', WEBHOOK))
  expect(error).toMatchObject({ code: 'INVALID_PARAMS', message: 'the URL is not allowed' })
  expect(asked).toHaveLength(2)
})

test('no other refusal is answered with another form', async () => {
  const { client, asked } = await serving(() => ({ status: 404, json: { code: -32001, message: 'No task' } }))
  expect(await failureOf(client.createPushConfig('t', WEBHOOK))).toMatchObject({ code: 'TASK_NOT_FOUND' })
  expect(asked).toHaveLength(1)
})

test.each<[string, object]>([
  ['a2a-python 0.3', { message: 'unknown exception' }],
  ['a2a-python 1.1', { error: { code: 500, status: 'INTERNAL', message: 'unknown exception' } }],
  ['a2a-java 0.3', { error: 'io.a2a.spec.InternalError', message: 'unknown exception' }],
  ['a2a-dotnet 0.3', { title: 'An error occurred', status: 500, detail: 'unknown exception' }],
])('the text of an error 500 without a code of A2A is in the error: %s', async (_, json) => {
  const { client } = await serving(() => ({ status: 500, json }))
  const error = await failureOf(client.getTask('t'))
  expect(error).toMatchObject({ code: 'EXTERNAL_SERVICE_ERROR', data: { status: 500 } })
  expect(error.message).toMatch(/answered HTTP 500 Internal Server Error: unknown exception$/)
})

test('the text of an error is one line of at most 1,000 characters', async () => {
  const { client } = await serving(() => ({
    status: 500,
    json: { message: `a\nb\u001b[31m${'x'.repeat(5_000)}` },
  }))
  const { message } = await failureOf(client.getTask('t'))
  expect(message).toContain(': a b [31mxxx')
  expect(message.length).toBeLessThan(1_200)
})

// model_dump(exclude_none=True) leaves out `result: null`.
test.each<[string, object]>([
  ['without a result', {}],
  ['with null', { result: null }],
])('a delete that a JSON-RPC server answers %s succeeds', async (_, rest) => {
  const { client, asked } = await serving(
    ({ body: { id } }) => ({ status: 200, json: { jsonrpc: '2.0', id, ...rest } }),
    'JSONRPC',
  )
  await expect(client.deletePushConfig('t', 'w')).resolves.toBeUndefined()
  expect(asked).toMatchObject([{ body: { method: 'tasks/pushNotificationConfig/delete' } }])
})

test('any other response without a result is refused', async () => {
  const answer = ({ body: { id } }: Asked): Answered => ({ status: 200, json: { jsonrpc: '2.0', id } })
  const { client } = await serving(answer, 'JSONRPC')
  expect(await failureOf(client.getTask('t'))).toMatchObject({ code: 'INVALID_AGENT_RESPONSE' })
})

test('a delete that an agent refuses fails', async () => {
  const answer = ({ body: { id } }: Asked): Answered => ({
    status: 200,
    json: { jsonrpc: '2.0', id, error: { code: -32001, message: 'Task not found' } },
  })
  const { client } = await serving(answer, 'JSONRPC')
  expect(await failureOf(client.deletePushConfig('t', 'w'))).toMatchObject({ code: 'TASK_NOT_FOUND' })
})
