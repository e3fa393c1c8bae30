import { describe, expect, it } from 'vitest'
import { createRequestHandler, type Execute, type RequestHandlerOptions } from 'a2a-tasks/server'
import { bearerAuth } from 'a2a-tasks/client'
import { toNodeListener } from '../../../../src/server/node/index.js'
import { a2a } from '../../../../src/gateway/providers/a2a/provider.js'
import { site } from '../../../http/support/http.js'
import {
  A_REF,
  agentAt,
  asked,
  calling,
  collect,
  fault,
  follow,
  nowhere,
  serve,
  textsOf,
} from './support/a2a.js'

const LINEAGE = 'https://a2a-tasks.dev/extensions/lineage/v1'

/** Our own agent, over HTTP, and the requests that it gets. */
async function own(
  execute: Execute,
  options: Partial<RequestHandlerOptions> = {},
): Promise<{ url: string; seen: { path: string; headers: Headers; body: string }[] }> {
  const seen: { path: string; headers: Headers; body: string }[] = []
  const url = await serve((origin) => {
    const handler = createRequestHandler({ card: { name: 'Own', url: `${origin}/a2a` }, execute, ...options })
    return toNodeListener(async (request) => {
      const { pathname: path } = new URL(request.url)
      seen.push({ path, headers: request.headers, body: await request.clone().text() })
      return await handler.fetch(request)
    })
  })
  return { url, seen }
}

describe('an agent of A2A', () => {
  it('tells what its task has spent', async () => {
    const { url } = await own(async (run) => {
      await run.step('think', () => run.spend({ cost: 0.25, model: 'small' }))
      await run.step('write', () => run.spend({ cost: 0.25, tokens: 7 }))
      return 'done'
    })
    const provider = a2a()
    const updates = await collect(provider.streamTask(agentAt(url), asked('x'), calling()))
    expect(updates.findLast(({ spent }) => spent !== undefined)?.spent).toEqual({ cost: 0.5, tokens: 7 })
    const { ref = {} } = updates.at(-1) ?? {}
    const polled = await provider.getTask(agentAt(url), ref, calling())
    expect(polled.spent).toEqual({ cost: 0.5, tokens: 7 })
  })

  it('accepts a task, and is asked for it', async () => {
    let finish = (): void => {}
    const { url } = await own(
      ({ text }) => new Promise((resolve) => (finish = () => resolve(`You said ${text}`))),
    )
    const provider = a2a()
    const agent = agentAt(url)
    const sent = await provider.sendTask(agent, asked('Hello'), calling())
    expect(sent.state).toMatch(/submitted|working/)
    expect(sent.ref).toEqual(A_REF)
    finish()
    const done = await follow(provider, agent, sent)
    expect(done).toMatchObject({ state: 'completed', ref: sent.ref })
    expect(textsOf(done)).toEqual(['You said Hello'])
  })

  it('gets the parts as they are, and of our ids only that of the task, in its lineage', async () => {
    const { url, seen } = await own(() => 'Thanks')
    const parts = [
      { text: 'a', metadata: { n: null } },
      { raw: 'AAEC', mediaType: 'image/png', filename: 'x.png' },
      { data: [1, { a: null }] },
    ]
    const message = {
      ...asked('a').message,
      ...{ parts, taskId: 'our-task', metadata: { lang: 'en' }, referenceTaskIds: ['ours-1'] },
    }
    await a2a().sendTask(agentAt(url), asked('a', { message }), calling())
    const { params } = JSON.parse(seen.at(-1)?.body ?? '') as { params: { message: object } }
    const lineage = { parentTaskId: asked('a').id, rootTaskId: asked('a').id, depth: 1, path: [] }
    expect(params.message).toEqual({
      ...{ role: 'ROLE_USER', parts, metadata: { lang: 'en', [LINEAGE]: lineage }, extensions: [LINEAGE] },
      messageId: expect.stringMatching(/^(?!our-message)/) as unknown,
    })
    const { id } = asked('a')
    expect(seen.at(-1)?.body.replaceAll(`"${id}"`, '')).not.toContain('our')
  })

  it('streams what it makes, with the ids that chunks are added by', async () => {
    const { url } = await own(async function* () {
      yield await Promise.resolve('one ')
      yield 'two'
    })
    const updates = await collect(a2a().streamTask(agentAt(url), asked('Go'), calling()))
    expect(updates[0]?.ref).toEqual(A_REF)
    expect(new Set(updates.map(({ ref }) => JSON.stringify(ref))).size).toBe(1)
    const output = updates.flatMap(({ artifacts = [], chunk }) => [...artifacts, ...(chunk ? [chunk] : [])])
    expect(output.flatMap(({ parts = [] }) => parts.map(({ text }) => text)).join('')).toBe('one two')
    expect(new Set(output.map(({ artifactId }) => artifactId)).size).toBe(1)
    expect(updates.at(-1)?.state).toBe('completed')
  })

  it('is sent the task where its card has no streams', async () => {
    const quiet = await serve((origin) => {
      const card = { name: 'Quiet', url: `${origin}/a2a`, capabilities: { streaming: false } }
      return toNodeListener(createRequestHandler({ card, execute: () => 'Done' }).fetch)
    })
    const [only, ...others] = await collect(a2a().streamTask(agentAt(quiet), asked('Go'), calling()))
    expect(others).toEqual([])
    expect(textsOf(await follow(a2a(), agentAt(quiet), only ?? {}))).toEqual(['Done'])
  })

  it('asks, and is answered in the same task', async () => {
    const { url } = await own(async (run) => {
      const answer = await run.requireInput('Which city?')
      return `Sunny in ${answer.parts.map(({ text = '' }) => text).join('')}`
    })
    const provider = a2a()
    const agent = agentAt(url)
    const question = await follow(
      provider,
      agent,
      await provider.sendTask(agent, asked('Weather?'), calling()),
    )
    expect(question).toMatchObject({ state: 'input-required', message: { parts: [{ text: 'Which city?' }] } })
    const ref = question.ref ?? {}
    const sent = await provider.sendTask(agent, asked('Rome', { ref }), calling())
    expect(sent.ref).toEqual(ref)
    expect(textsOf(await follow(provider, agent, sent))).toEqual(['Sunny in Rome'])
  })

  it('continues with a conversation by its own id', async () => {
    const { url, seen } = await own(() => 'Yes')
    const provider = a2a()
    const first = await provider.sendTask(agentAt(url), asked('One'), calling())
    const second = await provider.sendTask(agentAt(url), asked('Two', { previous: first.ref }), calling())
    expect(second.ref?.['contextId']).toBe(first.ref?.['contextId'])
    expect(second.ref?.['taskId']).not.toBe(first.ref?.['taskId'])
    expect(seen.at(-1)?.body).not.toContain('our-context')
  })

  it('may reply without a task', async () => {
    const { url } = await own(async (run) => {
      await run.reply('Hello')
    })
    const update = await a2a().sendTask(agentAt(url), asked('Hi'), calling())
    expect(update).toMatchObject({ state: 'completed', ref: { contextId: A_REF.contextId } })
    expect(textsOf(update)).toEqual(['Hello'])
    expect(textsOf((await collect(a2a().streamTask(agentAt(url), asked('Hi'), calling())))[0] ?? {})).toEqual(
      ['Hello'],
    )
  })

  it('says why a task has failed', async () => {
    const { url } = await own((run) => {
      run.fail('There is no such city')
    })
    const provider = a2a()
    const done = await follow(
      provider,
      agentAt(url),
      await provider.sendTask(agentAt(url), asked('Hi'), calling()),
    )
    expect(done).toMatchObject({ state: 'failed', message: { parts: [{ text: 'There is no such city' }] } })
  })

  it('cancels, and says how a task is that can no longer be canceled', async () => {
    const { url } = await own(({ text, signal }) =>
      text === 'wait'
        ? new Promise((resolve) => signal.addEventListener('abort', () => resolve('')))
        : 'Done',
    )
    const provider = a2a()
    const agent = agentAt(url)
    const working = await provider.sendTask(agent, asked('wait'), calling())
    expect(await provider.cancelTask(agent, working.ref ?? {}, calling())).toMatchObject({
      state: 'canceled',
    })
    const done = await follow(provider, agent, await provider.sendTask(agent, asked('go'), calling()))
    expect(await provider.cancelTask(agent, done.ref ?? {}, calling())).toMatchObject({
      state: 'completed',
      ref: done.ref,
    })
  })

  it('does not know every task', async () => {
    const { url } = await own(() => 'Done')
    const error = await fault(a2a().getTask(agentAt(url), { taskId: 'gone' }, calling()))
    expect(error.code).toBe('TASK_NOT_FOUND')
    expect((await fault(Promise.resolve().then(() => a2a().getTask(agentAt(url), {}, calling())))).code).toBe(
      'TASK_NOT_FOUND',
    )
  })
})

describe('the card of an agent', () => {
  const cards = (seen: readonly { path: string }[]): number =>
    seen.filter(({ path }) => path.includes('.well-known')).length

  it('is fetched once, even for concurrent calls, and again for another endpoint', async () => {
    const { url, seen } = await own(() => 'Done')
    const provider = a2a()
    const agent = agentAt(url)
    await Promise.all([1, 2, 3].map(() => provider.sendTask(agent, asked('Hi'), calling())))
    await provider.sendTask({ ...agent, status: 'degraded' }, asked('Hi'), calling())
    expect(cards(seen)).toBe(1)
    await provider.sendTask(agentAt(url), asked('Hi'), calling())
    expect(cards(seen)).toBe(2)
  })

  it('is fetched again when it could not be had', async () => {
    let isUp = false
    const { url } = await own(() => 'Done')
    const provider = a2a({
      fetch: (to, init) => (isUp ? fetch(to, init) : Promise.reject(new TypeError('fetch failed'))),
    })
    const agent = agentAt(url)
    const error = await fault(provider.sendTask(agent, asked('Hi'), calling()))
    expect(error).toMatchObject({
      code: 'PROVIDER_ERROR',
      data: { provider: 'a2a', agentId: 'agent-1', retryable: true },
    })
    isUp = true
    expect((await provider.sendTask(agent, asked('Hi'), calling())).ref).toBeDefined()
  })

  it('is still fetched when one of the waiting callers aborts', async () => {
    const { url } = await own(() => 'Done')
    let answer = (): void => {}
    const gate = new Promise<void>((resolve) => (answer = resolve))
    const provider = a2a({ fetch: async (to, init) => (await gate, await fetch(to, init)) })
    const agent = agentAt(url)
    const leaving = new AbortController()
    const left = provider.sendTask(agent, asked('Hi'), { signal: leaving.signal })
    const stays = provider.sendTask(agent, asked('Hi'), calling())
    leaving.abort(new Error('I left'))
    await expect(left).rejects.toThrow('I left')
    answer()
    expect((await stays).ref).toBeDefined()
  })

  it('says how the agent is, and is renewed by that', async () => {
    const { url, seen } = await own(() => 'Done')
    const provider = a2a()
    const agent = agentAt(url)
    expect(await provider.healthCheck(agent, calling())).toBe('online')
    await provider.sendTask(agent, asked('Hi'), calling())
    expect(cards(seen)).toBe(1)
    const broken = await site(() => ({ status: 500 }))
    expect(await provider.healthCheck(agentAt(broken.url), calling())).toBe('degraded')
    const noCard = await site(() => ({ body: { name: 'No card' } }))
    expect(await provider.healthCheck(agentAt(noCard.url), calling())).toBe('degraded')
    const noJson = await site(() => ({ body: '<html>' }))
    expect(await provider.healthCheck(agentAt(noJson.url), calling())).toBe('degraded')
    expect(await provider.healthCheck(agentAt(await nowhere()), calling())).toBe('offline')
    const mute = await site(() => 'never')
    const impatient = agentAt(mute.url, { endpoint: { url: mute.url, timeoutMs: 20 } })
    expect(await provider.healthCheck(impatient, calling())).toBe('offline')
    const signal = AbortSignal.abort(new Error('Enough'))
    await expect(provider.healthCheck(agentAt(mute.url), { signal })).rejects.toThrow('Enough')
  })
})

describe('credentials', () => {
  const guarded = {
    authenticate: ({ headers }: Request) =>
      headers.get('authorization') === 'Bearer s3cret' ? { id: 'gateway' } : null,
  }

  it('are those of the endpoint', async () => {
    const { url } = await own(() => 'Done', guarded)
    const endpoint = { url, timeoutMs: 5_000, auth: bearerAuth('s3cret') }
    const sent = await a2a().sendTask(agentAt(url, { endpoint }), asked('Hi'), calling())
    expect(sent.ref).toBeDefined()
    const error = await fault(a2a().sendTask(agentAt(url), asked('Hi'), calling()))
    expect(error).toMatchObject({ code: 'PROVIDER_ERROR', data: { retryable: false } })
    expect(error.cause).toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('are signed over the whole request by the given function, in place of those of the endpoint', async () => {
    const { url, seen } = await own(() => 'Done', guarded)
    const signed: string[] = []
    const provider = a2a({
      authorize({ method, url: { pathname }, headers, body }, agent) {
        signed.push(`${agent.id} ${method} ${pathname} ${body?.includes('SendMessage') ?? 'nothing'}`)
        headers.set('authorization', 'Bearer s3cret')
      },
    })
    const endpoint = { url, timeoutMs: 5_000, auth: bearerAuth('other') }
    await provider.sendTask(agentAt(url, { endpoint }), asked('Hi'), calling())
    expect(signed).toEqual(['agent-1 GET /.well-known/agent-card.json nothing', 'agent-1 POST /a2a true'])
    expect(seen.map(({ headers }) => headers.get('authorization'))).not.toContain('Bearer other')
  })

  it('do not follow a redirect to another origin', async () => {
    const elsewhere = await site(() => ({ body: {} }))
    const away = await site(() => ({ status: 302, headers: { location: `${elsewhere.url}/card.json` } }))
    const provider = a2a({ authorize: ({ headers }) => headers.set('authorization', 'Bearer s3cret') })
    const error = await fault(provider.sendTask(agentAt(away.url), asked('Hi'), calling()))
    expect(error.code).toBe('PROVIDER_ERROR')
    expect(elsewhere.asked).toEqual([])
  })
})

describe('what goes wrong', () => {
  const cardAt = (host = '') => ({
    ...{ name: 'Peer', version: '1', capabilities: { streaming: true } },
    supportedInterfaces: [{ url: `http://${host}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  })
  async function answering(
    body: unknown,
    status = 200,
    headers: Record<string, string> = {},
  ): Promise<string> {
    const { url } = await site(({ method, headers: { host } }) =>
      method === 'GET' ? { body: cardAt(host) } : { status, headers, body },
    )
    return url
  }

  it.each([
    [
      'a state that is not known',
      { result: { task: { id: 't', status: { state: 'TASK_STATE_NEW' } } } },
      false,
    ],
    ['no answer of A2A', { result: {} }, false],
    ['an error of its own', { error: { code: -32603, message: 'Boom' } }, false],
  ])('%s is an error, and no guess', async (_name, body, retryable) => {
    const error = await fault(
      a2a().sendTask(agentAt(await answering({ jsonrpc: '2.0', id: 1, ...body })), asked('Hi'), calling()),
    )
    expect(error).toMatchObject({ code: 'PROVIDER_ERROR', data: { retryable } })
  })

  it('an agent that is busy says when it is no longer', async () => {
    const url = await answering('', 429, { 'retry-after': '7' })
    const provider = a2a({ retry: { attempts: 1 } })
    const error = await fault(provider.sendTask(agentAt(url), asked('Hi'), calling()))
    expect(error).toMatchObject({ code: 'PROVIDER_ERROR', data: { retryable: true, retryAfterMs: 7_000 } })
  })

  it('an agent that fails says by which status', async () => {
    const url = await answering('', 502)
    const error = await fault(a2a().sendTask(agentAt(url), asked('Hi'), calling()))
    expect(error).toMatchObject({ code: 'PROVIDER_ERROR', data: { status: 502, retryable: true } })
  })

  it('an agent that cannot cancel says so', async () => {
    const url = await answering({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32601, message: 'Method not found' },
    })
    const error = await fault(a2a().cancelTask(agentAt(url), { taskId: 't' }, calling()))
    expect(error.code).toBe('UNSUPPORTED_OPERATION')
  })

  it('streams that are declared and are not there are no loss', async () => {
    const { url, asked: requests } = await site(({ method, body, headers: { host } }) => {
      if (method === 'GET') {
        return { body: cardAt(host) }
      }
      return body.includes('SendStreamingMessage')
        ? { body: { jsonrpc: '2.0', id: 1, error: { code: -32004, message: 'No streams' } } }
        : {
            body: {
              jsonrpc: '2.0',
              id: 2,
              result: { task: { id: 't', status: { state: 'TASK_STATE_WORKING' } } },
            },
          }
    })
    const updates = await collect(a2a().streamTask(agentAt(url), asked('Hi'), calling()))
    expect(updates).toEqual([{ ref: { taskId: 't' }, state: 'working' }])
    expect(requests).toHaveLength(3)
  })

  it('a stream that has begun is not opened again, whatever it says', async () => {
    const events = [
      { result: { task: { id: 't', status: { state: 'TASK_STATE_WORKING' } } } },
      { error: { code: -32004, message: 'No more' } },
    ]
    const { url, asked: requests } = await site(({ method, headers: { host } }) =>
      method === 'GET'
        ? { body: cardAt(host) }
        : {
            headers: { 'content-type': 'text/event-stream' },
            body: events
              .map((event) => `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, ...event })}\n\n`)
              .join(''),
          },
    )
    const error = await fault(collect(a2a().streamTask(agentAt(url), asked('Hi'), calling())))
    expect(error.code).toBe('UNSUPPORTED_OPERATION')
    expect(requests).toHaveLength(2)
  })

  it('an aborted call rejects with the reason', async () => {
    const { url } = await site(() => 'never')
    const controller = new AbortController()
    const sent = a2a().sendTask(agentAt(url), asked('Hi'), { signal: controller.signal })
    controller.abort(new Error('Canceled'))
    await expect(sent).rejects.toThrow('Canceled')
  })

  it('an invalid option is refused at once', () => {
    expect(() => a2a({ retry: { attempts: 0 } })).toThrow(RangeError)
    // @ts-expect-error -- a misspelt option
    expect(() => a2a({ fetsch: fetch })).toThrow(/Unknown option "fetsch"/)
  })
})
