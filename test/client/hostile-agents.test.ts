/** Regressions of runs with hostile agents and with callbacks that fail. */
import { describe, expect, it, test, vi } from 'vitest'
import { A2AClient, bearerAuth, type ClientOptions } from '../../src/client/index.js'
import { applyEvent } from '../../src/client/run/remote-task.js'
import { trimSlashes } from '../../src/http/url.js'
import type { RemoteTask } from '../../src/wire/index.js'
import {
  cardOf,
  clientOf,
  error,
  failureOf,
  scripted,
  status,
  stream,
  task,
  writeEvents,
  type Asked,
} from './faults/scripted.js'
import { cpuMs } from '../support/cpu-time.js'

const INTERNAL = -32603
const BUSY = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'UNAVAILABLE' }

interface RestAnswer {
  readonly status?: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A client of an agent over HTTP+JSON, and the URLs that it asked. */
function rest(
  answer: (path: string, method: string) => RestAnswer,
  { url = 'https://a.example', version = '1.0', tenant, ...options }: ClientOptions & RestFace = {},
): { readonly client: A2AClient; readonly asked: string[] } {
  const asked: string[] = []
  const face = { url, protocolBinding: 'HTTP+JSON', protocolVersion: version, ...(tenant && { tenant }) }
  const client = new A2AClient({
    retry: { baseDelayMs: 1, maxDelayMs: 2 },
    ...options,
    card: { ...cardOf([], false), supportedInterfaces: [face] },
    fetch: (target, { method }) => {
      asked.push(`${method} ${target}`)
      const { status = 200, body, headers } = answer(new URL(target).pathname, method ?? '')
      return Promise.resolve(new Response(JSON.stringify(body), { status, headers: { ...headers } }))
    },
  })
  return { client, asked }
}

interface RestFace {
  readonly url?: string
  readonly version?: string
  readonly tenant?: string
}

async function caught(work: Promise<unknown> | (() => Promise<unknown>)): Promise<unknown> {
  return await (typeof work === 'function' ? work() : work).then(
    (value) => Promise.reject(new Error(`No error: ${JSON.stringify(value)}`)),
    (reason: unknown) => reason,
  )
}

describe('a message', () => {
  function failing(code: number, body: (asked: Asked) => object, headers: Record<string, string> = {}) {
    return scripted((asked) => {
      if (asked.method !== 'SendMessage') return error(-32601)
      const text = JSON.stringify({ jsonrpc: '2.0', id: asked.id, ...body(asked) })
      asked.response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(text)
      return undefined
    }, false)
  }

  const oops = { code: INTERNAL, message: 'Said: "reason":"UNAVAILABLE", https://a2a-protocol.org' }

  it('that came to HTTP 503 with any JSON-RPC error may have arrived', async () => {
    const agent = await failing(503, () => ({ error: oops }))
    const sent = await caught(clientOf(agent).send('hi'))
    expect(sent).toMatchObject({ code: 'EXTERNAL_SERVICE_ERROR', data: { status: 503 } })
    expect(failureOf(await clientOf(agent).run('hi')).type).toBe('error')
    expect(agent.methods()).toEqual(['SendMessage', 'SendMessage', 'ListTasks'])
  })

  it.each([
    ['by its reason', { ...oops, data: [BUSY] }, {}],
    ['by when to come back', oops, { 'retry-after': '0' }],
  ])(
    'that is refused %s is sent as often as `retry.attempts` says, and no more',
    async (_, error, headers) => {
      const agent = await failing(503, () => ({ error }), headers)
      const result = await clientOf(agent).run('hi')
      expect(failureOf(result)).toEqual({ type: 'error', code: 'UNAVAILABLE' })
      expect(agent.methods()).toEqual(Array(4).fill('SendMessage'))
    },
  )

  it.each([302, 303])('that is answered with HTTP %i has been taken', async (code) => {
    const second = await failing(200, () => ({ result: { task: task('completed') } }))
    const first = await failing(code, () => ({}), { location: '/there' })
    const card = cardOf([first.url, second.url], false)
    expect(await caught(clientOf({ card }).send('hi'))).toMatchObject({ data: { status: code } })
    expect(second.asked).toEqual([])
  })

  it('that is answered with HTTP 308 to elsewhere goes to the next interface', async () => {
    const second = await failing(200, () => ({ result: { task: task('completed') } }))
    const first = await failing(308, () => ({}), { location: 'http://elsewhere.example/' })
    const card = cardOf([first.url, second.url], false)
    expect(await clientOf({ card }).send('hi')).toMatchObject({ type: 'task' })
  })

  /** Asks, loses the answer, and keeps of its history the last `kept` messages. */
  async function forgetful(kept: number, isTaken: boolean) {
    let messages: string[] = []
    let answers = 0
    const agent = await scripted(({ method, params: { message }, response }) => {
      if (method === 'GetTask')
        return task(answers > 0 && messages.includes('done') ? 'completed' : 'input-required', {
          says: 'q-1',
          history: messages.slice(-kept),
        })
      const { messageId = '', taskId } = message ?? {}
      if (taskId === undefined) {
        messages = [messageId, 'q-1']
        return { task: task('input-required', { says: 'q-1' }) }
      }
      answers += 1
      if (answers > 1) messages.push(messageId, 'done')
      // The agent continues, and tells of what is later only.
      else if (isTaken) messages.push(messageId, 'later')
      if (answers === 1) response.destroy()
      return answers === 1 ? undefined : { task: task('completed') }
    }, false)
    const result = await clientOf(agent).run('hi', { onInputRequired: () => 'Berlin' })
    return { result, answers, asked: agent.asked }
  }

  it('that is an answer is not sent again if a partial history lacks it', async () => {
    const { result, answers } = await forgetful(1, true)
    expect(failureOf(result).type).toBe('error')
    expect(answers).toBe(1)
  })

  it('that is an answer is sent again if the whole history lacks it', async () => {
    const { result, answers, asked } = await forgetful(9, false)
    expect(result.type).toBe('completed')
    expect(answers).toBe(2)
    expect(asked.map(({ params }) => params)).toContainEqual({ id: 't-1', historyLength: 1_000 })
  })

  it('in a conversation with a task whose history is incomplete is not sent again', async () => {
    const agent = await scripted(({ method, response }) => {
      const history = [{ messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'Later' }] }]
      if (method === 'ListTasks') return { tasks: [{ ...task('completed'), history }] }
      response.destroy()
      return undefined
    }, false)
    const result = await clientOf(agent).run('hi', { contextId: 'c-1' })
    expect(failureOf(result).type).toBe('error')
    expect(agent.methods()).toEqual(['SendMessage', 'ListTasks'])
  })

  it('to an agent of 0.3, which may have taken it under another id, is not sent again', async () => {
    const { client, asked } = rest((_, method) => (method === 'GET' ? { body: [] } : { status: 502 }), {
      version: '0.3',
    })
    expect(failureOf(await client.run('hi')).type).toBe('error')
    expect(asked.filter((each) => each.startsWith('POST'))).toHaveLength(1)
  })
})

describe('events of another task', () => {
  it('is no answer to getTask and cancelTask', async () => {
    const agent = await scripted(() => task('completed', { id: 'OTHER', text: 'secret' }))
    for (const ask of [() => clientOf(agent).getTask('t-1'), () => clientOf(agent).cancelTask('t-1')]) {
      expect(await caught(ask)).toMatchObject({ code: 'INVALID_AGENT_RESPONSE' })
    }
  })

  it('is no result of a run', async () => {
    const agent = await scripted(
      ({ method }) =>
        method === 'SendMessage' ? { task: task('working') } : task('completed', { id: 'OTHER', text: 'x' }),
      false,
    )
    const result = await clientOf(agent).run('hi')
    expect(failureOf(result)).toEqual({ type: 'error', code: 'INVALID_AGENT_RESPONSE' })
  })

  it.each([
    ['a task', { task: task('working', { id: 'OTHER' }) }],
    ['a status', status('working', { id: 'OTHER' })],
  ])('is no event of a subscription: %s', async (_, event) => {
    const agent = await scripted((asked) => stream(asked, [{ task: task('working') }, event]))
    const events: unknown[] = []
    const failure = await caught(async () => {
      for await (const each of clientOf(agent).subscribe('t-1')) events.push(each)
    })
    expect(failure).toMatchObject({ code: 'INVALID_AGENT_RESPONSE' })
    expect(events).toHaveLength(1)
  })
})

describe('JSON of an agent', () => {
  const odd = { toString: 1, valueOf: 1 }

  it('has texts that cannot be made texts: the error is typed', async () => {
    const { client } = rest(() => ({
      status: 400,
      body: {
        error: {
          code: 400,
          message: 'No',
          details: [{ ...BUSY, reason: 'TASK_NOT_FOUND', metadata: { taskId: odd } }],
        },
      },
    }))
    expect(await caught(client.getTask('t'))).toMatchObject({ code: 'TASK_NOT_FOUND' })
  })

  it('has ids that cannot stand in a URL: they are no ids', async () => {
    const { client } = rest(() => ({ body: { task: task('working', { id: 'a\ud800' }) } }))
    expect(failureOf(await client.run('hi', { resend: false }))).toEqual({
      type: 'error',
      code: 'INVALID_AGENT_RESPONSE',
    })
    expect(await caught(client.getTask('a\ud800'))).toMatchObject({ code: 'INVALID_PARAMS' })
  })

  it('has errors that would command a terminal, or write a line of a log', async () => {
    const text = '\u001b[2J\r\nFAKE LOG\u2028LINE\u009b1m ☺ ok'
    const details = [
      { '@type': 'google.rpc.ErrorInfo', reason: 'TASK_NOT_FOUND', metadata: { taskId: 'a\nb' } },
      { '@type': 'google.rpc.BadRequest', fieldViolations: [{ field: 'a\u0000b', description: 'c\u0007' }] },
    ]
    const { client } = rest((path) => ({
      status: 400,
      body: {
        error: {
          code: path.endsWith('x') ? 400 : '\u001b',
          message: text,
          details: path.endsWith('x') ? details.slice(1) : details,
        },
      },
    }))
    const failure = await caught(client.getTask('t'))
    expect(failure).toMatchObject({ message: ' [2J FAKE LOG LINE 1m ☺ ok', data: { taskId: 'a b' } })
    expect(await caught(client.getTask('x'))).toMatchObject({ data: { path: 'a b', reason: 'c ' } })
  })
})

describe('the URL of an interface', () => {
  it('may be all slashes', async () => {
    const trim = (): void => expect(trimSlashes(`https://a.example${'/'.repeat(200_000)}x//`)).toMatch(/\/x$/)
    expect(await cpuMs(trim)).toBeLessThan(2_000)
  })

  it('may have a query, and a fragment', async () => {
    const { client, asked } = rest(() => ({ body: task('completed', { id: 't' }) }), {
      url: 'https://a.example/api/?key=1&b#top',
    })
    await client.getTask('t')
    await client.getTask('t', { historyLength: 2 })
    await client.cancelTask('t')
    expect(asked).toEqual([
      'GET https://a.example/api/tasks/t?key=1&b',
      'GET https://a.example/api/tasks/t?key=1&b&historyLength=2',
      'POST https://a.example/api/tasks/t:cancel?key=1&b',
    ])
  })

  it('has a tenant that leads elsewhere: the error does not blame the caller', async () => {
    const { client, asked } = rest(() => ({}), { tenant: '..' })
    expect(failureOf(await client.run('hi'))).toEqual({ type: 'error', code: 'URL_BLOCKED' })
    expect(asked).toEqual([])
  })
})

describe('what fails in a run', () => {
  it.each([
    ['credentials', { auth: bearerAuth(() => Promise.reject(new Error('vault closed'))) }],
    ['a guard', { urlGuard: () => Promise.reject(new Error('vault closed')) }],
  ])('because of %s is a result with a typed error', async (_, options) => {
    const agent = await scripted(() => ({ task: task('completed') }), false)
    const result = await clientOf(agent, options).run('hi')
    expect(result).toMatchObject({ type: 'error', handle: { messageId: expect.any(String) as string } })
    if (!('error' in result)) throw new Error('It has no error')
    expect(result.error.code).toMatch(/^[A-Z_]+$/)
    expect(agent.asked).toEqual([])
  })

  it('because of our own clock is one as well', async () => {
    const agent = await scripted(() => ({ task: task('working') }), false)
    const random = (): number => {
      throw new TypeError('no luck')
    }
    const result = await clientOf(agent, { random }).run('hi')
    expect(result).toMatchObject({
      type: 'error',
      error: { code: 'INTERNAL', message: 'The run failed: TypeError: no luck' },
      handle: { taskId: 't-1' },
    })
  })

  it('because `onUpdate` rejects ends it, as if it had thrown', async () => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    const agent = await scripted((asked) => {
      if (asked.method === 'CancelTask') return task('canceled')
      if (asked.method === 'GetTask') return task('working')
      writeEvents(asked, [{ task: task('working') }])
      return undefined
    })
    const full = new Error('disk full')
    // Its type allows it: what is given back is `void`.
    const onUpdate: () => unknown = async () => {
      await Promise.resolve()
      throw full
    }
    expect(await caught(clientOf(agent).run('hi', { onUpdate }))).toBe(full)
    expect(agent.methods().at(-1)).toBe('CancelTask')
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })
})

test('paging ends where an agent repeats page tokens in turns', async () => {
  const turns: Record<string, string> = { '': 'a', a: 'b', b: 'a' }
  const pages = rest(() => ({ body: {} }))
  const client = new A2AClient({
    card: { ...cardOf(['https://a.example'], false), capabilities: { pushNotifications: true } },
    fetch: (target, { body }) => {
      pages.asked.push(target)
      const { id, params } = JSON.parse(typeof body === 'string' ? body : '') as {
        id: number
        params: { pageToken?: string }
      }
      const result = { tasks: [], configs: [], nextPageToken: turns[params.pageToken ?? ''] }
      return Promise.resolve(new Response(JSON.stringify({ jsonrpc: '2.0', id, result })))
    },
  })
  await client.listPushConfigs('t')
  expect(pages.asked).toHaveLength(3)
  let tasks = 0
  for await (const page of client.listTasks()) tasks += 1 + page.tasks.length
  expect(tasks).toBe(3)
})

test('many artifacts take no time that grows with their square', async () => {
  let folded: RemoteTask | undefined
  const about = { type: 'artifact', taskId: 't', lastChunk: false } as const
  const taken = await cpuMs(() => {
    for (const append of [false, true]) {
      for (let index = 0; index < 100_000; index += 1) {
        const artifact = { artifactId: `a-${index}`, parts: [{ data: '.' }] }
        folded = applyEvent(folded, { ...about, artifact, append })
      }
    }
  })
  expect(taken).toBeLessThan(5_000)
  expect(folded?.artifacts).toHaveLength(100_000)
  expect(folded?.artifacts.every(({ parts }) => parts.length === 2)).toBe(true)
})

test('artifacts are found in a list that the caller has changed', () => {
  const put = (task: RemoteTask | undefined, artifactId: string): RemoteTask =>
    applyEvent(task, {
      ...{ type: 'artifact', taskId: 't', append: true, lastChunk: false },
      artifact: { artifactId, parts: [{ data: '.' }] },
    })
  const folded = put(put(put(undefined, 'a'), 'b'), 'c')
  folded.artifacts.reverse()
  put(folded, 'a')
  folded.artifacts.shift()
  put(folded, 'c')
  put(folded, 'a')
  const lengths = folded.artifacts.map(({ artifactId, parts }) => [artifactId, parts.length])
  expect(lengths).toEqual([
    ['b', 1],
    ['a', 3],
    ['c', 1],
  ])
})
