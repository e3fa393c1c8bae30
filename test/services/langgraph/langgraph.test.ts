/** The LangGraph server that tests start is real: its official client can do with it what `../README.md` says. */
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isInstalled, loadService, skipMissing } from '../installed.js'
import { LANGGRAPH_PACKAGES, type LangGraphServer, startLangGraph } from './start-langgraph.js'

/** What is used of `@langchain/langgraph-sdk`. */
interface ClientModule {
  readonly Client: new (options: object) => Client
}
interface Client {
  readonly assistants: { search(): Promise<unknown> }
  readonly threads: {
    create(): Promise<{ readonly thread_id: string }>
    get(thread: string): Promise<{ readonly status: string }>
    getState(thread: string): Promise<State>
  }
  readonly runs: {
    create(thread: string, graph: string, options: object): Promise<Run>
    get(thread: string, run: string): Promise<Run>
    join(thread: string, run: string): Promise<unknown>
    wait(thread: string, graph: string, options: object): Promise<unknown>
    cancel(thread: string, run: string, wait?: boolean, action?: string): Promise<void>
    stream(thread: string | null, graph: string, options: object): AsyncIterable<Event>
    joinStream(thread: string, run: string, options: object): AsyncIterable<Event>
  }
}
interface Run {
  readonly run_id: string
  readonly status: string
}
interface State {
  readonly next: readonly string[]
  readonly tasks: readonly { readonly error: string | null; readonly interrupts: readonly object[] }[]
}
interface Event {
  readonly event: string
  readonly data: unknown
}

const QUESTION = { id: expect.any(String) as unknown, value: { question: 'Which colour?' } }
const input = (content: string): object => ({ input: { messages: [{ role: 'user', content }] } })
const says = (...texts: readonly string[]): object => ({
  messages: texts.map((content) => expect.objectContaining({ content }) as unknown),
})

if (!isInstalled(...LANGGRAPH_PACKAGES))
  test('LangGraph is not installed', (context) => {
    skipMissing(context, ...LANGGRAPH_PACKAGES)
  })
else describe('LangGraph', langGraph)

function langGraph(): void {
  let server: LangGraphServer
  let client: Client
  beforeAll(async () => {
    server = await startLangGraph()
    const { Client } = await loadService<ClientModule>('@langchain/langgraph-sdk')
    client = new Client({ apiUrl: server.url, callerOptions: { maxRetries: 0 } })
  })
  afterAll(() => server.stop())

  async function thread(): Promise<string> {
    return (await client.threads.create()).thread_id
  }

  async function statuses(thread: string, run: string): Promise<[string, string]> {
    return [(await client.runs.get(thread, run)).status, (await client.threads.get(thread)).status]
  }

  /** A run of the graph `hold`, once it works; and what its stream tells from then on. */
  async function held(options: object = {}): Promise<{ id: string; run: string; rest: Promise<Event[]> }> {
    const id = await thread()
    const stream = client.runs.stream(id, 'hold', { ...input('hi'), streamMode: 'updates', ...options })
    const events = stream[Symbol.asyncIterator]()
    const first = (await events.next()).value as { readonly data: { readonly run_id: string } }
    expect(await events.next()).toMatchObject({
      value: { event: 'updates', data: { begin: says('Working') } },
    })
    return { id, run: first.data.run_id, rest: collect({ [Symbol.asyncIterator]: () => events }) }
  }

  test('runs a graph on a thread', async () => {
    const id = await thread()
    const { run_id, status } = await client.runs.create(id, 'echo', input('hi'))
    expect(status).toBe('pending')
    expect(await client.runs.join(id, run_id)).toMatchObject(says('hi', 'You said: hi'))
    expect(await statuses(id, run_id)).toEqual(['success', 'idle'])
  })

  test('streams updates as nodes are done, and what nodes write', async () => {
    const options = { ...input('hi'), streamMode: ['updates', 'custom'] }
    expect(await collect(client.runs.stream(await thread(), 'steps', options))).toMatchObject([
      { event: 'metadata', data: { run_id: expect.any(String) as unknown, attempt: 1 } },
      { event: 'updates', data: { first: says('one') } },
      { event: 'custom', data: { progress: 0.5 } },
      { event: 'updates', data: { second: says('two') } },
      { event: 'updates', data: { third: says('three') } },
    ])
  })

  test('streams a message in pieces, without a thread too', async () => {
    const options = { ...input('hi'), streamMode: 'messages-tuple' }
    const [, ...pieces] = await collect(client.runs.stream(null, 'tokens', options))
    const messages = pieces.map(
      ({ data }) => (data as [{ readonly id: string; readonly content: string }])[0],
    )
    expect(pieces.every(({ event }) => event === 'messages')).toBe(true)
    expect(messages.map(({ content }) => content).join('')).toBe('Hello, you')
    expect(new Set(messages.map(({ id }) => id)).size).toBe(1)
  })

  test('interrupts, and resumes in a new run', async () => {
    const id = await thread()
    const { run_id } = await client.runs.create(id, 'ask', input('hi'))
    expect(await client.runs.join(id, run_id)).toEqual({ __interrupt__: [QUESTION] })
    expect(await statuses(id, run_id)).toEqual(['success', 'interrupted'])
    expect(await client.threads.getState(id)).toMatchObject({
      next: ['ask'],
      tasks: [{ interrupts: [QUESTION] }],
    })
    // Joined again, it tells what the thread holds, and nothing of the interrupt.
    expect(await client.runs.join(id, run_id)).toMatchObject(says('hi'))
    const resumed = await client.runs.wait(id, 'ask', { command: { resume: 'blue' } })
    expect(resumed).toMatchObject(says('hi', 'You chose "blue"'))
    expect((await client.threads.get(id)).status).toBe('idle')
  })

  test('reports an interrupt in the stream', async () => {
    const events = await collect(
      client.runs.stream(await thread(), 'ask', { ...input('hi'), streamMode: ['updates', 'values'] }),
    )
    expect(events.slice(-2)).toMatchObject([
      { event: 'updates', data: { __interrupt__: [QUESTION] } },
      { event: 'values', data: { __interrupt__: [QUESTION] } },
    ])
  })

  test('fails its callers once, and keeps the failed state', async () => {
    const id = await thread()
    const { run_id } = await client.runs.create(id, 'fail', input('hi'))
    expect(await client.runs.join(id, run_id)).toEqual({
      __error__: { error: 'Error', message: '{"error":"Error","message":"boom"}' },
    })
    expect(await statuses(id, run_id)).toEqual(['error', 'error'])
    expect(await client.runs.join(id, run_id)).toMatchObject(says('hi', 'So far so good'))
    const { tasks } = await client.threads.getState(id)
    expect(tasks).toMatchObject([{ error: '{"message":"boom","name":"Error"}' }])
  })

  test('fails in the stream with its last event', async () => {
    const options = { ...input('hi'), streamMode: 'updates' }
    expect((await collect(client.runs.stream(await thread(), 'fail', options))).slice(1)).toMatchObject([
      { event: 'updates', data: { begin: says('So far so good') } },
      { event: 'error', data: { error: 'Error', message: 'boom' } },
    ])
  })

  test.each(['interrupt', 'rollback'])('cancels what works, with the action %s', async (action) => {
    const { id, run, rest } = await held()
    expect(await statuses(id, run)).toEqual(['running', 'busy'])
    await client.runs.cancel(id, run, true, action)
    expect(await rest).toMatchObject([{ event: 'error', data: { error: 'Error', message: action } }])
    expect(await statuses(id, run)).toEqual(['error', 'error'])
    // Once more changes nothing.
    await client.runs.cancel(id, run, true, action)
    expect(await statuses(id, run)).toEqual(['error', 'error'])
  })

  test('refuses a second run while one works, unless it may wait', async () => {
    const { id, run, rest } = await held()
    await expect(client.runs.create(id, 'echo', input('hi'))).rejects.toMatchObject({ status: 422 })
    const queued = await client.runs.create(id, 'echo', { ...input('hi'), multitaskStrategy: 'enqueue' })
    expect(queued.status).toBe('pending')
    await client.runs.cancel(id, queued.run_id)
    expect((await client.runs.get(id, queued.run_id)).status).toBe('interrupted')
    await client.runs.cancel(id, run, true)
    await rest
  })

  test('sends a client that reconnects what a resumable stream sent since', async () => {
    const { id, run, rest } = await held({ streamResumable: true })
    await client.runs.cancel(id, run, true)
    await rest
    const since = await collect(client.runs.joinStream(id, run, { lastEventId: '1' }))
    expect(since).toMatchObject([{ event: 'error', data: { message: 'interrupt' } }])
  })

  test('does not know other ids', async () => {
    const [id, unknown] = [await thread(), crypto.randomUUID()]
    const not = (status: number, text: string): object => ({ status, text })
    await expect(client.threads.get(unknown)).rejects.toMatchObject(
      not(404, `Thread with ID ${unknown} not found`),
    )
    await expect(client.runs.get(id, unknown)).rejects.toMatchObject(not(404, 'Run not found'))
    await expect(client.runs.cancel(id, unknown)).rejects.toMatchObject(not(404, 'Run not found'))
    await expect(client.runs.create(id, 'none', input('hi'))).rejects.toMatchObject({ status: 404 })
    await expect(client.runs.create(unknown, 'echo', input('hi'))).rejects.toMatchObject({ status: 422 })
  })

  test('refuses requests without the key if it has one, and leaves nothing behind', async () => {
    const locked = await startLangGraph({ apiKey: 'secret' })
    const { Client } = await loadService<ClientModule>('@langchain/langgraph-sdk')
    const as = (apiKey: string): Client =>
      new Client({ apiUrl: locked.url, apiKey, callerOptions: { maxRetries: 0 } })
    await expect(as('other').assistants.search()).rejects.toMatchObject({ status: 401 })
    expect(await as('secret').assistants.search()).toHaveLength(6)
    await locked.stop()
    expect(existsSync(locked.folder)).toBe(false)
    await expect(fetch(locked.url)).rejects.toThrow('fetch failed')
  })
}

async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const value of values) all.push(value)
  return all
}
