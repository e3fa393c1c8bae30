/** The endpoint of AG-UI over HTTP, without AG-UI's client: what is refused, who calls, and runs that are repeated or left. */
import { describe, expect, it } from 'vitest'
import { createAgUiHandler, type AgUiClient, type AgUiOptions } from 'a2a-tasks/ag-ui'
import { A2AClient, textOf } from 'a2a-tasks/client'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'
import { fakeAgent } from 'a2a-tasks/testing'

const URL = 'https://agent.test/ag-ui'

interface AgUiEvent {
  readonly type: string
  readonly [field: string]: unknown
}

function inputOf(fields: object = {}): object {
  return {
    ...{ threadId: 't1', runId: 'r1', state: {}, tools: [], context: [] },
    messages: [{ id: 'u1', role: 'user', content: 'Hi' }],
    ...fields,
  }
}

function requestOf(body: unknown, init: RequestInit = {}): Request {
  const headers = { 'content-type': 'application/json' }
  return new Request(URL, { method: 'POST', headers, body: JSON.stringify(body), ...init })
}

async function eventsOf(response: Response): Promise<AgUiEvent[]> {
  const text = await response.text()
  return text
    .split('\n\n')
    .filter((part) => part.startsWith('data: '))
    .map((part) => JSON.parse(part.slice(6)) as AgUiEvent)
}

function sceneOf(execute: Execute, options: AgUiOptions = {}) {
  const agent = fakeAgent(execute, { idempotency: { anonymous: true } })
  const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
  const handle = createAgUiHandler(client, options)
  const run = async (fields?: object): Promise<AgUiEvent[]> =>
    eventsOf(await handle(requestOf(inputOf(fields))))
  return { ...agent, client, handle, run }
}

function textsOf(events: readonly AgUiEvent[]): string {
  return events.map(({ delta = '' }) => String(delta)).join('')
}

describe('a request is refused', () => {
  const never: Execute = () => {
    throw new Error('The agent was called')
  }
  const BAD: readonly [why: string, request: () => Request, status: number, code: string][] = [
    ['by GET', () => new Request(URL), 405, 'METHOD_NOT_ALLOWED'],
    [
      'as text',
      () => requestOf(inputOf(), { headers: { 'content-type': 'text/plain' } }),
      415,
      'CONTENT_TYPE_NOT_SUPPORTED',
    ],
    ['without a body', () => new Request(URL, { method: 'POST' }), 400, 'INVALID_PARAMS'],
    ['that is no JSON', () => requestOf('', { body: '{' }), 400, 'PARSE_ERROR'],
    ['that is a list', () => requestOf([]), 400, 'INVALID_PARAMS'],
    ['that is null', () => requestOf(null), 400, 'INVALID_PARAMS'],
    ['without a thread', () => requestOf(inputOf({ threadId: '' })), 400, 'INVALID_PARAMS'],
    ['with a run that is a number', () => requestOf(inputOf({ runId: 1 })), 400, 'INVALID_PARAMS'],
    ['without messages', () => requestOf(inputOf({ messages: undefined })), 400, 'INVALID_PARAMS'],
    ['with nothing said', () => requestOf(inputOf({ messages: [] })), 400, 'INVALID_PARAMS'],
    [
      'after a reply',
      () => requestOf(inputOf({ messages: [{ id: 'a', role: 'assistant', content: 'Hi' }] })),
      400,
      'INVALID_PARAMS',
    ],
    [
      'with an empty text',
      () => requestOf(inputOf({ messages: [{ id: 'u', role: 'user', content: '' }] })),
      400,
      'INVALID_PARAMS',
    ],
    [
      'with a content that is none',
      () => requestOf(inputOf({ messages: [{ id: 'u', role: 'user', content: 1 }] })),
      400,
      'INVALID_PARAMS',
    ],
    [
      'with an image without a source',
      () => requestOf(inputOf({ messages: [{ id: 'u', role: 'user', content: [{ type: 'image' }] }] })),
      400,
      'INVALID_PARAMS',
    ],
    [
      'with a foreign interrupt',
      () => requestOf(inputOf({ resume: [{ interruptId: 'x', status: 'resolved' }] })),
      400,
      'INVALID_PARAMS',
    ],
    [
      'with a bad interrupt',
      () => requestOf(inputOf({ resume: [{ interruptId: '%/x', status: 'resolved' }] })),
      400,
      'INVALID_PARAMS',
    ],
    [
      'with interrupts of two tasks',
      () =>
        requestOf(
          inputOf({ resume: ['a/q', 'b/q'].map((interruptId) => ({ interruptId, status: 'cancelled' })) }),
        ),
      400,
      'INVALID_PARAMS',
    ],
    [
      'with another status',
      () => requestOf(inputOf({ resume: [{ interruptId: 'a/q', status: 'x' }] })),
      400,
      'INVALID_PARAMS',
    ],
    [
      'with half a character',
      () => requestOf('', { body: JSON.stringify(inputOf()).replace('Hi', '\\ud800') }),
      400,
      'INVALID_PARAMS',
    ],
    [
      'that is deep',
      () => requestOf('', { body: `${'['.repeat(20_000)}${']'.repeat(20_000)}` }),
      400,
      'LIMIT_EXCEEDED',
    ],
    ['with many values', () => requestOf(inputOf({ tools: Array(25_000).fill(1) })), 413, 'LIMIT_EXCEEDED'],
    ['that is large', () => requestOf(inputOf({ state: 'x'.repeat(5_000) })), 413, 'LIMIT_EXCEEDED'],
  ]

  it.each(BAD)('%s', async (_, request, status, code) => {
    const { handle, requests } = sceneOf(never, {
      maxBodyBytes: code === 'LIMIT_EXCEEDED' && status === 413 ? 4_000 : 200_000,
    })
    const response = await handle(request())
    expect(response.status).toBe(status)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toMatchObject({ error: { code } })
    expect(requests).toEqual([])
  })

  it('beyond the number of runs, until one has ended', async () => {
    let goOn = (): void => undefined
    const scene = sceneOf(
      async () => {
        await new Promise<void>((resolve) => (goOn = resolve))
        return 'Done'
      },
      { maxRuns: 1 },
    )
    const first = await scene.handle(requestOf(inputOf()))
    const second = await scene.handle(requestOf(inputOf({ runId: 'r2' })))
    expect([second.status, second.headers.get('retry-after')]).toEqual([503, '1'])
    for (;;) {
      if (scene.tasks.listTasks().length > 0) break
      await new Promise((resolve) => setImmediate(resolve))
    }
    goOn()
    expect(textsOf(await eventsOf(first))).toBe('Done')
    expect((await scene.handle(requestOf(inputOf()))).status).toBe(200)
  })
})

describe('the client', () => {
  it('is made for each request, with the principal of its user', async () => {
    const agent = createRequestHandler({
      card: { name: 'Agent', url: 'https://agent.test' },
      authenticate: () => null,
      execute: (run) => `You are ${run.principal?.id ?? 'unknown'}`,
    })
    const clientFor: AgUiClient = (request) => {
      const id = request.headers.get('x-user')
      if (id === null) return new Response('Who?', { status: 401, headers: { 'www-authenticate': 'Cookie' } })
      const principal = { id }
      return new A2AClient({
        card: agent.card,
        fetch: (url, init) => agent.fetch(new Request(url, init), { principal }),
      })
    }
    const handle = createAgUiHandler(clientFor)
    const refused = await handle(requestOf(inputOf()))
    expect([refused.status, await refused.text(), refused.headers.get('www-authenticate')]).toEqual([
      401,
      'Who?',
      'Cookie',
    ])
    const headers = { 'content-type': 'application/json', 'x-user': 'ann' }
    expect(textsOf(await eventsOf(await handle(requestOf(inputOf(), { headers }))))).toBe('You are ann')
    // Another user has no access to her questions.
    const [task] = agent.tasks.listTasks()
    const resume = [{ interruptId: `${task?.id}/q`, status: 'cancelled' }]
    const other = await handle(
      requestOf(inputOf({ runId: 'r2', resume }), { headers: { ...headers, 'x-user': 'bob' } }),
    )
    expect((await eventsOf(other)).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'TASK_NOT_FOUND' })
    await agent.close()
  })

  it('that does not reach its agent ends the run without its address', async () => {
    const { card } = fakeAgent('Hi')
    const fetch = (): Promise<Response> => Promise.reject(new TypeError('connect ECONNREFUSED 10.0.0.1:80'))
    const handle = createAgUiHandler(new A2AClient({ card, fetch, retry: { attempts: 1 } }))
    const events = await eventsOf(await handle(requestOf(inputOf())))
    expect(events.map(({ type }) => type)).toEqual(['RUN_STARTED', 'RUN_ERROR'])
    expect(JSON.stringify(events)).not.toContain('10.0.0.1')
  })

  it.each([['https://agent.test'], [undefined], [null]])('is not %s', (given) => {
    expect(() => createAgUiHandler(given as never)).toThrow(TypeError)
  })
})

describe('a run that is repeated', () => {
  it('begins no second task, and shows the reply', async () => {
    let calls = 0
    const { run, tasks } = sceneOf(() => `Call ${(calls += 1)}`)
    expect(textsOf(await run())).toBe('Call 1')
    expect(textsOf(await run())).toBe('Call 1')
    expect(tasks.listTasks()).toHaveLength(1)
  })

  it('answers once, also where messages are not recognized', async () => {
    const agent = fakeAgent(async (run) => {
      const first = textOf(await run.requireInput('First?'))
      run.artifact({ artifactId: 'a', parts: [{ text: `One: ${first}` }] })
      const second = textOf(await run.requireInput('Second?'))
      run.artifact({ artifactId: 'b', parts: [{ text: `Two: ${second}` }] })
    })
    const handle = createAgUiHandler(new A2AClient({ card: agent.card, fetch: agent.fetch }))
    const run = async (fields: object): Promise<AgUiEvent[]> =>
      eventsOf(await handle(requestOf(inputOf(fields))))
    const asked = (await run({})).at(-1)?.['outcome'] as {
      readonly interrupts: readonly { readonly id: string }[]
    }
    const answer = (payload: string) => ({
      resume: asked.interrupts.map(({ id }) => ({ interruptId: id, status: 'resolved', payload })),
    })
    const once = await run({ runId: 'r2', ...answer('A') })
    const twice = await run({ runId: 'r2', ...answer('A') })
    expect([textsOf(once), textsOf(twice)]).toEqual(['One: ASecond?', 'One: ASecond?'])
    expect(twice.at(-1)).toEqual(once.at(-1))
    // An answer to what is no longer asked is not sent.
    const late = await run({ runId: 'r3', ...answer('B') })
    expect(late.at(-1)).toMatchObject({ outcome: { type: 'interrupt' } })
    const [task] = agent.tasks.listTasks()
    expect(task?.messages.filter(({ role }) => role === 'user')).toHaveLength(2)
    await agent.close()
  })
})

it('a run shows what is new since its answer, also of an artifact of the run before', async () => {
  const { run } = sceneOf(async (run) => {
    run.artifact({ artifactId: 'a', parts: [{ text: 'Half' }] })
    await run.requireInput('Go on?')
    run.artifact({ artifactId: 'a', parts: [{ text: 'Half, whole' }] }, { append: false })
  })
  const first = await run()
  expect(textsOf(first)).toBe('HalfGo on?')
  const { interrupts } = first.at(-1)?.['outcome'] as {
    readonly interrupts: readonly { readonly id: string }[]
  }
  const resume = interrupts.map(({ id }) => ({ interruptId: id, status: 'resolved', payload: 'Yes' }))
  expect(textsOf(await run({ runId: 'r2', resume }))).toBe(', whole')
})

describe('a front end that closes the stream', () => {
  it.each([
    ['continue', 'completed'],
    ['cancel', 'canceled'],
  ] as const)('%s', async (onDisconnect, state) => {
    let goOn = (): void => undefined
    const scene = sceneOf(
      async (run) => {
        run.artifact({ parts: [{ text: 'Half' }] })
        await new Promise<void>((resolve) => {
          goOn = resolve
          run.signal.addEventListener('abort', () => resolve())
        })
        return 'Done'
      },
      { onDisconnect },
    )
    const response = await scene.handle(requestOf(inputOf()))
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    for (let text = ''; !text.includes('Half');) text += (await reader?.read())?.value ?? ''
    await reader?.cancel()
    if (onDisconnect === 'continue') goOn()
    const [task] = scene.tasks.listTasks()
    expect((await scene.tasks.waitFor(task?.id ?? '')).state).toBe(state)
  })

  it('the time limit of a run ends it, and not the task', async () => {
    const scene = sceneOf(
      async (run) => {
        await new Promise<void>((resolve) => run.signal.addEventListener('abort', () => resolve()))
      },
      { timeoutMs: 500 },
    )
    expect((await scene.run()).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'timed-out' })
    expect(scene.tasks.listTasks()).toMatchObject([{ state: 'working' }])
    await scene.close()
  })
})

it.each([
  [{ onDisconnect: 'stop' }, TypeError],
  [{ timeoutMs: 0 }, RangeError],
  [{ maxBodyBytes: 0 }, RangeError],
  [{ maxRuns: 1.5 }, RangeError],
  [{ onError: true }, TypeError],
  [{ clock: {} }, TypeError],
  [{ onDisconect: 'cancel' }, TypeError],
])('the options %j are refused', (options, error) => {
  const { client } = sceneOf(() => 'Hi')
  expect(() => createAgUiHandler(client, options as AgUiOptions)).toThrow(error)
})
