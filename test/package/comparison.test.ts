/**
 * The facts of the README's table that compares this library with `@a2a-js/sdk`. Both libraries get the same input, and
 * the name of each test is the first cell of its row.
 */
import type { Task } from '@a2a-js/sdk'
import { TaskState } from '@a2a-js/sdk'
import type { AgentExecutor, RequestContext } from '@a2a-js/sdk/server'
import {
  AgentEvent,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ResultManager,
  ServerCallContext,
} from '@a2a-js/sdk/server'
import { TaskManager } from 'a2a-tasks'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'
import { afterEach, expect, test, vi } from 'vitest'
import { executorOf, officialHandler } from '../bench/peers/official-server.js'
import { chunkOf, officialTask, statusOf } from '../bench/peers/official.js'
import { ENTRIES, read } from '../support/repository.js'
import { kBOf, OFFICIAL_SIZES, SIZES } from '../support/sizes.js'

const { TASK_STATE_WORKING: WORKING, TASK_STATE_COMPLETED: COMPLETED } = TaskState
const SDK = JSON.parse(read('node_modules/@a2a-js/sdk/package.json')) as {
  readonly version: string
  readonly exports: Record<string, unknown>
  readonly peerDependencies: Record<string, string>
}

/** By the first cell of a row: what it says of this library, then of the SDK. */
const README = read('README.md')
const TABLE = README.slice(README.indexOf('| `@a2a-js/sdk`')).split('\n\n')[0] ?? ''
const ROWS = new Map(
  TABLE.split('\n')
    .slice(2)
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, work = '', ours = '', theirs = '']) => [work, { ours, theirs }]),
)

type Json = Record<string, unknown>
type Answer = Json | AsyncIterable<Json>
type Send = (method: string, params: object, lastEventId?: string) => Promise<Answer>

const CARD = { name: 'Agent', url: 'https://agent.example' }
const onError = vi.fn()
afterEach(() => {
  vi.restoreAllMocks()
})

function ours(execute: Execute): Send {
  const handler = createRequestHandler({ card: CARD, execute, onError })
  return async (method, params, lastEventId) =>
    await handler.dispatch({ jsonrpc: '2.0', id: 1, method, params }, { version: '1.0', lastEventId })
}

const context = (): ServerCallContext => new ServerCallContext({ requestedVersion: '1.0' })

function theirs(executor: AgentExecutor): Send {
  const transport = new JsonRpcTransportHandler(officialHandler(executor))
  return async (method, params) =>
    // What the SDK calls a response is JSON of an answer.
    (await transport.handle({ jsonrpc: '2.0', id: 1, method, params }, context())) as Answer
}

function message(text: string, more: object = {}): object {
  return { message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more } }
}

function inBackground(text: string): object {
  return { ...message(text), configuration: { returnImmediately: true } }
}

/** The task in an answer that is not a stream, or an error. */
async function answerOf(sent: Promise<Answer>): Promise<{ task?: WireTask; error?: { message: string } }> {
  const { result, error } = (await sent) as { result?: { task: WireTask }; error?: { message: string } }
  return { ...result, ...(error !== undefined && { error }) }
}

interface WireTask {
  readonly id: string
  readonly status: { readonly state: string; readonly message?: { readonly parts: { text: string }[] } }
  readonly history?: readonly { readonly messageId: string }[]
}

/** The kind of each event of a stream; in the place of an answer with an error, `error`. */
async function eventsOf(sent: Promise<Answer>): Promise<string[]> {
  const answer = await sent
  const kinds: string[] = []
  for await (const { result } of Symbol.asyncIterator in answer ? answer : [answer]) {
    kinds.push(...Object.keys((result as object | undefined) ?? { error: true }))
  }
  return kinds
}

test('every row of the table has a test, and the table names the version of the SDK', ({ task }) => {
  const tests = task.file.tasks.map(({ name }) => name)
  expect([...ROWS.keys()].filter((row) => !tests.includes(row))).toEqual([])
  expect(ROWS.size).toBe(tests.length - 1)
  expect(README).toContain(`| \`@a2a-js/sdk\` ${SDK.version} `)
})

test('A change to a task that has ended', async () => {
  const tasks = new TaskManager()
  const { id } = tasks.createTask({ skill: 'work' })
  for (const state of ['working', 'completed'] as const) tasks.updateTask(id, { state })
  const before = tasks.getTask(id)
  expect(() => tasks.updateTask(id, { state: 'working' })).toThrow('terminal state')
  expect(() => tasks.appendArtifact(id, { artifactId: 'late', parts: [{ text: 'x' }] })).toThrow('terminal')
  expect(tasks.getTask(id)).toEqual(before)

  const store = new InMemoryTaskStore()
  const results = new ResultManager(store, context())
  const stored = async (): Promise<Task | undefined> => await store.load('1', context())
  await results.processEvent(AgentEvent.task(officialTask('1', { state: COMPLETED })))
  vi.spyOn(console, 'warn').mockReturnValueOnce()
  await results.processEvent(statusOf('1', WORKING))
  expect((await stored())?.status?.state, 'a status is ignored').toBe(COMPLETED)
  await results.processEvent(chunkOf('1', 'late', 'x'))
  expect((await stored())?.artifacts, 'an artifact is stored').toHaveLength(1)
  await results.processEvent(AgentEvent.task(officialTask('1', { state: WORKING })))
  expect((await stored())?.status?.state, 'a whole task is stored').toBe(WORKING)
})

test('Two writers that read the same version', async () => {
  const tasks = new TaskManager()
  const { id, generation: expectedGeneration } = tasks.createTask({ skill: 'work' })
  tasks.updateTask(id, { state: 'working', expectedGeneration })
  expect(() => tasks.updateTask(id, { state: 'rejected', expectedGeneration })).toThrow('generation')
  expect(tasks.stateOf(id)).toBe('working')

  const store = new InMemoryTaskStore()
  await store.save(officialTask('1', { state: WORKING }), context())
  const [first, second] = await Promise.all([store.load('1', context()), store.load('1', context())])
  if (first === undefined || second === undefined) throw new Error('The task is not stored')
  await store.save({ ...first, metadata: { by: 'first' } }, context())
  await store.save({ ...second, metadata: { by: 'second' } }, context())
  expect((await store.load('1', context()))?.metadata).toEqual({ by: 'second' })
})

test('A second message while the agent works', async () => {
  async function mostAtOnce(agentOf: (work: () => Promise<void>) => Send): Promise<number> {
    let [running, most] = [0, 0]
    const send = agentOf(async () => {
      most = Math.max(most, ++running)
      await new Promise((resolve) => setImmediate(resolve))
      running--
    })
    const { task } = await answerOf(send('SendMessage', inBackground('first')))
    await answerOf(send('SendMessage', message('second', { taskId: task?.id })))
    return most
  }
  const agent = (work: () => Promise<void>): Send =>
    ours(async ({ start }) => {
      start()
      await work()
    })
  expect(await mostAtOnce(agent)).toBe(1)
  vi.spyOn(console, 'error').mockReturnValue()
  expect(await mostAtOnce((work) => theirs(executorOf(() => () => work())))).toBe(2)
})

test('A client that reconnects to a stream', async () => {
  const here = ours(() => 'done')
  const sent = await answerOf(here('SendMessage', message('work')))
  const missed = await eventsOf(here('SubscribeToTask', { id: sent.task?.id }, '2'))
  expect(missed).toEqual(['statusUpdate', 'artifactUpdate', 'statusUpdate'])

  let finish = (): void => {}
  const work = new Promise<void>((resolve) => (finish = resolve))
  const there = theirs(executorOf(() => () => work))
  const { task } = await answerOf(there('SendMessage', inBackground('work')))
  const events = eventsOf(there('SubscribeToTask', { id: task?.id }))
  setImmediate(finish)
  expect(await events, 'the task as it is, then what is new').toEqual(['task', 'statusUpdate'])
  await expect(eventsOf(there('SubscribeToTask', { id: task?.id }))).rejects.toThrow('terminal state')
})

test('A field of the wrong type', async () => {
  const params = message('work', { messageId: { a: 1 } })
  const { error } = await answerOf(ours(() => 'done')('SendMessage', params))
  expect(error?.message).toContain('messageId')

  const { task } = await answerOf(theirs(executorOf(() => () => undefined))('SendMessage', params))
  expect(task?.history?.[0]?.messageId).toBe('[object Object]')
})

test('What a client reads when your code throws', async () => {
  const secret = new Error('connect ECONNREFUSED postgres://admin:secret@db')
  const { task } = await answerOf(ours(() => Promise.reject<string>(secret))('SendMessage', message('work')))
  expect(task?.status.message?.parts[0]?.text).toBe('The agent could not finish this task')
  expect(onError).toHaveBeenCalledWith(secret, expect.anything())

  vi.spyOn(console, 'error').mockReturnValueOnce()
  const peer = await answerOf(
    theirs(executorOf(() => () => Promise.reject(secret)))('SendMessage', message('')),
  )
  expect(peer.task?.status.message?.parts[0]?.text).toContain('admin:secret')
})

test('Stopping canceled work', async () => {
  let aborted = false
  const send = ours(async ({ start, signal }) => {
    start()
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    aborted = true
  })
  const { task } = await answerOf(send('SendMessage', inBackground('work')))
  await send('CancelTask', { id: task?.id })
  await expect.poll(() => aborted).toBe(true)

  let given: RequestContext | undefined
  const executor = executorOf(() => () => undefined)
  const execute: AgentExecutor['execute'] = (request, bus) => executor.execute((given = request), bus)
  await theirs({ ...executor, execute })('SendMessage', message('work'))
  expect(given).toBeDefined()
  const values = [given ?? {}, given?.context ?? {}].flatMap((each): unknown[] => Object.values(each))
  expect(values.some((value) => value instanceof AbortSignal)).toBe(false)
  expect(executor.cancelTask).toBeTypeOf('function')
})

test('Tasks kept in memory', async () => {
  const tasks = new TaskManager()
  for (let index = 0; index < 1_000; index++) tasks.createTask({ skill: 'work' })
  expect(() => tasks.createTask({ skill: 'work' })).toThrow('1000')

  const store = new InMemoryTaskStore()
  for (let index = 0; index < 5_000; index++) {
    await store.save(officialTask(`${index}`, { state: COMPLETED }), context())
  }
  const page = {
    ...{ tenant: '', contextId: '', status: TaskState.TASK_STATE_UNSPECIFIED, pageSize: 1, pageToken: '' },
  }
  const { totalSize } = await store.list({ ...page, statusTimestampAfter: undefined }, context())
  expect(totalSize).toBe(5_000)
})

test('HTTP servers', async () => {
  const handler = createRequestHandler({ card: CARD, execute: () => 'done' })
  const { status } = await handler.fetch(new Request('https://agent.example/.well-known/agent-card.json'))
  expect(status).toBe(200)
  const servers = Object.keys(SDK.exports).filter((entry) => /^\.\/server\/./.test(entry))
  expect(servers).toEqual(['./server/express', './server/grpc', './server/database'])
})

test('gRPC', () => {
  expect(ENTRIES.filter((entry) => entry.includes('grpc'))).toEqual([])
  expect(SDK.exports).toHaveProperty('./client/grpc')
})

test('Databases', () => {
  const stores = ENTRIES.filter((entry) => entry.startsWith('/stores/'))
  expect(stores).toEqual(['/stores/sqlite', '/stores/postgres', '/stores/redis'])
  expect(Object.keys(SDK.peerDependencies)).toEqual(
    expect.arrayContaining(['better-sqlite3', 'mysql2', 'pg']),
  )
})

test('Clients of A2A 0.3', async () => {
  const params = {
    message: { messageId: '1', role: 'user', kind: 'message', parts: [{ kind: 'text', text: '' }] },
  }
  const handler = createRequestHandler({ card: CARD, execute: () => 'done' })
  const request = { jsonrpc: '2.0', id: 1, method: 'message/send', params }
  expect(await handler.dispatch(request)).toHaveProperty('result.status.state', 'completed')

  const transport = new JsonRpcTransportHandler(officialHandler(executorOf(() => () => undefined)))
  expect(await transport.handle(request, context())).toHaveProperty('error.code', -32601)
  expect(SDK.exports, 'what the option `legacyCompat` turns on').toHaveProperty('./compat/v0_3/server')
})

test('Requests a second over HTTP', () => {
  const { ours = '', theirs = '' } = ROWS.get('Requests a second over HTTP') ?? {}
  const row = read('docs/design/performance.md')
    .split('\n')
    .find((line) => line.startsWith('| SendMessage over HTTP, 16 connections'))
  expect(row).toContain(`| ${ours} /s`)
  expect(row).toContain(`| ${theirs} /s`)
})

test.each([
  ['Client', 'client'],
  ['Server', 'server'],
] as const)('%s, gzipped', async (name, part) => {
  const row = ROWS.get(`${name}, gzipped`)
  expect(row).toEqual({ ours: `${SIZES[part].kB} kB`, theirs: `${OFFICIAL_SIZES[part].kB} kB` })
  expect(Math.round(await kBOf(OFFICIAL_SIZES[part].code))).toBe(OFFICIAL_SIZES[part].kB)
})
