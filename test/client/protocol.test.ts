/** The requirements of the protocol on clients. The numbers are those of docs/reference/spec-coverage.md. */
import { A2AError, type ErrorCode } from 'a2a-tasks'
import { A2AClient, AgentCardCache, apiKeyAuth, bearerAuth, type A2AClientOptions } from 'a2a-tasks/client'
import { fakeAgent, type FakeAgent, type FakeAgentOptions, type FakeStep } from 'a2a-tasks/testing'
import { describe, expect, test, vi } from 'vitest'

const JSON_RPC = { protocolBindings: ['JSONRPC'] }
const REST = { protocolBindings: ['HTTP+JSON'] }
const SILENT = { card: { capabilities: { streaming: false } } }

function face(host: string, protocolBinding: string, protocolVersion = '1.0', tenant?: string) {
  return { url: `https://${host}`, protocolBinding, protocolVersion, ...(tenant !== undefined && { tenant }) }
}

function connect(agent: FakeAgent, options: A2AClientOptions = {}): A2AClient {
  return new A2AClient({ card: agent.card, fetch: agent.fetch, retry: { baseDelayMs: 1 }, ...options })
}

/** An agent, and a client that has sent it a message. */
async function asked(options: A2AClientOptions, given: FakeAgentOptions = {}, step: FakeStep = 'Done') {
  const agent = fakeAgent(step, given)
  const client = connect(agent, options)
  const sent = await client.send('Hello')
  if (sent.type !== 'task') throw new Error('There is no task')
  return { agent, client, id: sent.task.id }
}

function lastOf({ requests }: FakeAgent): Request {
  const last = requests.at(-1)
  if (last === undefined) throw new Error('Nothing was asked')
  return last
}

/** A client of something that answers the same whatever it is asked. */
function answeredWith(answer: () => Response, options: A2AClientOptions = JSON_RPC): A2AClient {
  return connect(fakeAgent(''), {
    ...options,
    retry: { attempts: 1 },
    fetch: () => Promise.resolve(answer()),
  })
}

function result(json: unknown): Response {
  return Response.json({ jsonrpc: '2.0', id: 1, result: json })
}

async function failureOf(work: Promise<unknown>): Promise<A2AError> {
  const error: unknown = await work.catch((reason: unknown) => reason)
  if (!A2AError.is(error)) throw new Error('It did not fail', { cause: error })
  return error
}

describe('versions and service parameters', () => {
  test.each([
    ['1.0', ['1.0']],
    ['0.3', ['0.3']],
  ])(
    '105, 106. every request to an agent of %s says so, as Major.Minor',
    async (version, protocolVersions) => {
      for (const bindings of [JSON_RPC, REST]) {
        const { agent, client, id } = await asked({ protocolVersions, ...bindings })
        await client.getTask(id)
        const events = client.stream('Again')
        await events.next()
        await events.return(undefined)
        expect(agent.requests.map(({ headers }) => headers.get('a2a-version'))).toEqual(
          Array(3).fill(version),
        )
      }
    },
  )

  test('110. a patch of the version is that version', async () => {
    const supportedInterfaces = [face('agent.test', 'JSONRPC', '1.0.7')]
    const { agent } = await asked({}, { card: { supportedInterfaces } })
    expect(lastOf(agent).headers.get('a2a-version')).toBe('1.0')
  })

  test('111. the version is in the header, and the URL is left as it is', async () => {
    const { agent, client, id } = await asked(REST)
    await client.getTask(id)
    expect(lastOf(agent).url).toBe(`https://agent.test/tasks/${id}`)
  })

  test('112. versions and transports are those of the card, and the caller chooses among them', () => {
    const { card } = fakeAgent('')
    const chosen = (options: A2AClientOptions) => {
      const { protocolBinding, protocolVersion } = new A2AClient({ card, ...options }).interface
      return `${protocolVersion} ${protocolBinding}`
    }
    expect(chosen({})).toBe('1.0 JSONRPC')
    expect(chosen(REST)).toBe('1.0 HTTP+JSON')
    expect(chosen({ protocolVersions: ['0.3'] })).toBe('0.3 JSONRPC')
    expect(() => chosen({ protocolVersions: ['2.0'] })).toThrow(/offers JSONRPC 1.0.*speaks.*2.0/)
  })

  test('113. extensions are named in a header, as they are written', async () => {
    const extensions = ['https://x.test/Geo', 'https://x.test/b']
    const { agent } = await asked({ extensions })
    expect(lastOf(agent).headers.get('a2a-extensions')).toBe(extensions.join())
    const old = await asked({ extensions, protocolVersions: ['0.3'] })
    expect(lastOf(old.agent).headers.get('x-a2a-extensions')).toBe(extensions.join())
  })
})

describe('what an agent answers', () => {
  test('124. is UTF-8', async () => {
    const bytes = new Uint8Array([0x22, 0xff, 0x22])
    const error = await failureOf(answeredWith(() => new Response(bytes)).getTask('1'))
    expect(error).toMatchObject({ code: 'INVALID_AGENT_RESPONSE', data: { reason: 'it is not UTF-8' } })
  })

  test('124. is checked before it is used', async () => {
    const error = await failureOf(answeredWith(() => result({ id: '1', status: {} })).getTask('1'))
    expect(error).toMatchObject({ code: 'INVALID_AGENT_RESPONSE' })
    expect(error.message).toMatch('result.status.state')
  })

  test('124. names files, which the client does not fetch', async () => {
    const parts = [{ url: 'http://169.254.169.254/secret', mediaType: 'text/plain' }]
    const { agent, client, id } = await asked({}, {}, (run) => void run.artifact({ parts }))
    expect((await client.getTask(id)).artifacts[0]?.parts).toEqual(parts)
    expect(agent.requests.map(({ url }) => new URL(url).host)).toEqual(['agent.test', 'agent.test'])
  })
})

describe('HTTP+JSON', () => {
  test('131, 132. parameters of a GET stand in path and query', async () => {
    const { agent, client, id } = await asked(REST)
    const since = '2026-01-01T00:00:00.000Z'
    await client.listTasks({ contextId: id, state: 'completed', pageSize: 5, since, includeArtifacts: true })
    const { method, url, body } = lastOf(agent)
    expect([method, body, new URL(url).pathname]).toEqual(['GET', null, '/tasks'])
    expect(Object.fromEntries(new URL(url).searchParams)).toEqual({
      contextId: id,
      status: 'TASK_STATE_COMPLETED',
      pageSize: '5',
      statusTimestampAfter: since,
      includeArtifacts: 'true',
    })
  })

  test('133. ids are percent-encoded, and lead nowhere else', async () => {
    const { agent, client } = await asked(REST)
    await failureOf(client.getTask('a/b?c#ü'))
    expect(new URL(lastOf(agent).url).pathname).toBe('/tasks/a%2Fb%3Fc%23%C3%BC')
    expect(await failureOf(client.getTask('..'))).toMatchObject({ code: 'INVALID_PARAMS' })
  })

  test('134. requests of 1.0 are application/a2a+json', async () => {
    const { agent } = await asked(REST)
    expect(lastOf(agent).headers.get('content-type')).toBe('application/a2a+json')
    expect(lastOf(agent).headers.get('accept')).toMatch('application/a2a+json')
  })
})

describe('interfaces', () => {
  test('146. the first supported one is used, at its URL', async () => {
    const supportedInterfaces = [
      face('grpc.test', 'GRPC'),
      face('next.test', 'JSONRPC', '9.0'),
      face('agent.test/a2a', 'HTTP+JSON'),
      face('other.test', 'JSONRPC'),
    ]
    const { agent, client } = await asked({}, { card: { supportedInterfaces } })
    expect(client.interface.url).toBe('https://agent.test/a2a')
    expect(lastOf(agent).url).toBe('https://agent.test/a2a/message:send')
  })

  test('147. its tenant goes along with every request, and no other', async () => {
    const tenantOf = async (binding: string, tenant?: string) => {
      const supportedInterfaces = [face('agent.test', binding, '1.0', tenant)]
      const { agent, client, id } = await asked({}, { card: { supportedInterfaces } })
      await client.getTask(id)
      return Promise.all(
        agent.requests.map(async (request) => {
          const body = request.method === 'POST' ? ((await request.json()) as Record<string, unknown>) : {}
          const { params, tenant: plain } = body as { params?: { tenant?: string }; tenant?: string }
          return params?.tenant ?? plain ?? new URL(request.url).pathname.split('/')[1]
        }),
      )
    }
    expect(await tenantOf('JSONRPC', 'acme')).toEqual(['acme', 'acme'])
    expect(await tenantOf('HTTP+JSON', 'acme')).toEqual(['acme', 'acme'])
    expect(await tenantOf('HTTP+JSON')).toEqual(['message:send', 'tasks'])
  })

  test('148. the next one is used where one fails', async () => {
    const supportedInterfaces = [face('down.test', 'JSONRPC'), face('agent.test', 'HTTP+JSON')]
    const agent = fakeAgent('Done', { card: { supportedInterfaces } })
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    const client = connect(agent, {
      fetch: (url, init) =>
        url.startsWith('https://down.test')
          ? Promise.reject(new TypeError('fetch failed', { cause }))
          : agent.fetch(url, init),
    })
    expect((await client.run('Hello')).type).toBe('completed')
    expect(client.interface.url).toBe('https://agent.test')
  })

  test('148. operations that the card does not offer are not called', async () => {
    const agent = fakeAgent('Done', SILENT)
    const client = connect(agent)
    const codes = [
      await failureOf(client.stream('Hello').next()),
      await failureOf(client.subscribe('1').next()),
      await failureOf(client.listPushConfigs('1')),
      await failureOf(client.getExtendedAgentCard()),
    ].map(({ code }) => code)
    const unsupported: ErrorCode = 'UNSUPPORTED_OPERATION'
    expect(codes).toEqual([unsupported, unsupported, 'PUSH_NOTIFICATION_NOT_SUPPORTED', unsupported])
    expect(agent.requests).toEqual([])
  })
})

describe('a run', () => {
  test('149. needs neither the messages of a stream nor a history', async () => {
    const agent = fakeAgent('The result')
    const client = connect(agent, {
      async fetch(url, init) {
        const { headers, body } = await agent.fetch(url, init)
        const text = await new Response(body).text()
        // Of a stream, nothing comes through but its beginning.
        if (headers.get('content-type') === 'text/event-stream')
          return new Response(`${text.split('\n\n')[0]}\n\n`, { headers })
        const answer: unknown = JSON.parse(text, (key, value: unknown) =>
          key === 'history' ? undefined : value,
        )
        return Response.json(answer)
      },
    })
    expect(await client.run('Hello')).toMatchObject({ type: 'completed', text: 'The result' })
  })

  test('153. answers a question in its task and context', async () => {
    const agent = fakeAgent(async (run) => `Hello ${(await run.requireInput('Who?')).parts[0]?.text}`)
    const result = await connect(agent).run('Hello', { onInputRequired: () => 'Ada' })
    expect(result).toMatchObject({ type: 'completed', text: 'Hello Ada' })
    const [task] = agent.tasks.listTasks()
    expect(task?.messages.at(-1)).toMatchObject({ taskId: task?.id, contextId: task?.contextId })
  })

  test.each([
    ['subscribes', {}, 'SubscribeToTask'],
    ['asks', SILENT, 'GetTask'],
  ])('153. %s until the agent has its credentials', async (_, given, operation) => {
    const agent = fakeAgent(async (run) => {
      await run.requireAuth('Log in')
      return 'Logged in'
    }, given)
    const waited = async (): Promise<void> => {
      const sent = await Promise.all(agent.requests.map((request) => request.clone().text()))
      expect(sent.join()).toMatch(operation)
    }
    const logIn = async (taskId: string): Promise<void> => {
      await vi.waitFor(waited, { interval: 1, timeout: 60_000 })
      await connect(agent).send('done', { taskId, returnImmediately: true })
    }
    const onAuthRequired = ({ id }: { id: string }) => void logIn(id)
    const result = await connect(agent).run('Hello', { onAuthRequired, pollIntervalMs: 1 })
    expect(result).toMatchObject({ type: 'completed', text: 'Logged in' })
    await waited()
  })
})

describe('cards', () => {
  const extended = {
    authenticate: ({ headers }: Request) => (headers.get('x-key') === 'secret' ? { id: 'ada' } : null),
    extendedCard: { name: 'For friends', url: 'https://agent.test' },
  }

  test('150. the extended card takes the place of the other', async () => {
    const client = connect(fakeAgent('', extended), {
      auth: apiKeyAuth({ name: 'x-key', value: 'secret', in: 'header' }),
    })
    expect(client.card.name).toBe('Fake agent')
    await client.getExtendedAgentCard()
    expect(client.card.name).toBe('For friends')
  })

  test('151. a card is asked for again only when it is due, and then whether it has changed', async () => {
    const agent = fakeAgent('')
    let now = 0
    const clock = { now: () => now, schedule: () => () => {} }
    const cardCache = new AgentCardCache()
    const options = { fetch: agent.fetch, cardCache, clock }
    for (const at of [0, 299_000, 301_000]) {
      now = at
      await A2AClient.connect(agent.url, options)
    }
    const conditions = agent.requests.map(({ headers }) => headers.has('if-none-match'))
    expect(conditions).toEqual([false, true])
  })

  test('152. the extended card is asked for with credentials', async () => {
    const agent = fakeAgent('', extended)
    expect(await failureOf(connect(agent).getExtendedAgentCard())).toMatchObject({ code: 'UNAUTHENTICATED' })
    await failureOf(connect(agent, { auth: bearerAuth('token') }).getExtendedAgentCard())
    expect(lastOf(agent).headers.get('authorization')).toBe('Bearer token')
  })
})

describe('errors', () => {
  const CODES: readonly (readonly [number, ErrorCode])[] = [
    [-32700, 'PARSE_ERROR'],
    [-32600, 'INVALID_REQUEST'],
    [-32601, 'METHOD_NOT_FOUND'],
    [-32602, 'INVALID_PARAMS'],
    [-32603, 'INTERNAL'],
    [-32001, 'TASK_NOT_FOUND'],
    [-32002, 'TASK_NOT_CANCELABLE'],
    [-32003, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
    [-32004, 'UNSUPPORTED_OPERATION'],
    [-32005, 'CONTENT_TYPE_NOT_SUPPORTED'],
    [-32006, 'INVALID_AGENT_RESPONSE'],
    [-32007, 'EXTENDED_AGENT_CARD_NOT_CONFIGURED'],
    [-32008, 'EXTENSION_SUPPORT_REQUIRED'],
    [-32009, 'VERSION_NOT_SUPPORTED'],
  ]

  test.each(CODES)('154. %i is %s, by its code or by its reason', async (code, known) => {
    const error = { code, message: 'No' }
    const byCode = answeredWith(() => Response.json({ jsonrpc: '2.0', id: 1, error }))
    expect(await failureOf(byCode.getTask('1'))).toMatchObject({ code: known, cause: error })
    const reason = known === 'INTERNAL' ? 'INTERNAL_ERROR' : known
    const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-protocol.org' }
    const body = { error: { code: 400, status: 'X', message: 'No', details: [info] } }
    const byReason = answeredWith(() => Response.json(body, { status: 400 }), REST)
    expect(await failureOf(byReason.getTask('1'))).toMatchObject({ cause: body.error })
    if (known !== 'INTERNAL') expect(await failureOf(byReason.getTask('1'))).toMatchObject({ code: known })
  })
})

describe('the id of a JSON-RPC response', () => {
  const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } }
  const error = { code: -32001, message: 'Task not found' }
  const json = (body: object) => (): Response => Response.json({ jsonrpc: '2.0', ...body })
  const events = (...bodies: object[]): Response => {
    const text = bodies.map((body) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...body })}\n\n`).join('')
    return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
  }
  const OTHER = {
    code: 'INVALID_AGENT_RESPONSE',
    data: { reason: 'it is the response to another JSON-RPC request' },
  }

  test.each<[string, object]>([
    ['is another number', { id: 2, result: task }],
    ['is another text', { id: 'x', result: task }],
    ['is of another type', { id: true, result: task }],
    ['is that of another request, with an error', { id: 2, error }],
  ])('a response is refused if it %s', async (_, body) => {
    expect(await failureOf(answeredWith(json(body)).getTask('t'))).toMatchObject(OTHER)
  })

  test('a response is refused after the first request too', async () => {
    let id = 1
    const client = answeredWith(() => json({ id, result: task })())
    expect(await client.getTask('t')).toMatchObject({ id: 't' })
    id = 9
    expect(await failureOf(client.getTask('t'))).toMatchObject(OTHER)
  })

  test.each<[string, object]>([
    ['is that of the request', { id: 1, result: task }],
    ['is that of the request, as a text', { id: '1', result: task }],
    ['is missing', { result: task }],
  ])('a response is read if it %s', async (_, body) => {
    expect(await answeredWith(json(body)).getTask('t')).toMatchObject({ id: 't' })
  })

  test.each([null, undefined, 1])('an error is read with the id %s', async (id) => {
    const client = answeredWith(json({ id, error }))
    expect(await failureOf(client.getTask('t'))).toMatchObject({ code: 'TASK_NOT_FOUND' })
  })

  test('an event of a stream is refused if it is that of another request', async () => {
    const client = answeredWith(() => events({ id: 1, result: { task } }, { id: 7, result: { task } }))
    const stream = client.stream('Hello')
    expect((await stream.next()).value).toMatchObject({ type: 'task' })
    expect(await failureOf(stream.next())).toMatchObject(OTHER)
  })
})
