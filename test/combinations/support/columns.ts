/** The parts that take a manager, each with one behaviour: the columns of the table in docs/reference/combinations.md. */
import { defineLifecycle, VALID_TRANSITIONS, type TaskState } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import type { DurableTaskManager } from 'a2a-tasks/durable'
import { A2AGateway, AgentRegistry, custom, gatewayRequestHandler } from 'a2a-tasks/gateway'
import { createInspector } from 'a2a-tasks/inspector'
import { createInboundHandler, createTaskManagerHandler, LocalTaskManager } from 'a2a-tasks/compat'
import {
  createProducer,
  createRequestHandler,
  createSchedules,
  createWorker,
  type PriorityOf,
  textOf,
  type AnyTasks,
  type Execute,
  type Principal,
  type RequestHandler,
  type RequestHandlerOptions,
  type Schedules,
} from 'a2a-tasks/server'
import { instrumentTasks } from 'a2a-tasks/telemetry'
import { fakeAgent } from 'a2a-tasks/testing'
import { expect, onTestFinished } from 'vitest'
import { endless, gate } from './executors.js'
import { deletion, feed, fork, redrive, signal } from './histories.js'
import { PEERS, type Peer } from './peers.js'
import type { Manager, Row } from './rows.js'
import { delegate, history, migrated, ownerLimits, repeated, steps } from './runs.js'
import { receiver } from '../../server/push/support/push.js'
import { curl, send, taskOf } from '../../compat/kaos/support/kaos.js'
import { world } from '../../compat/corvid/support/inbound.js'
import { sdk } from '../../telemetry/support/sdk.js'

export type Cell = 'yes' | 'refused'

export interface Column {
  /** As in the first column of the page. */
  readonly name: string
  readonly cell: (row: Row) => Cell
  /** What works in every row whose cell is `yes`, or what is refused in the others. */
  readonly test: (row: Row) => Promise<void>
}

const everywhere = (): Cell => 'yes'
const nowhere = (): Cell => 'refused'
const overStores = ({ name }: Row): Cell => (name === 'TaskManager' ? 'refused' : 'yes')

const card = { name: 'Test', url: 'https://agent.test' }

function serve(
  tasks: AnyTasks,
  execute: Execute,
  options: Partial<RequestHandlerOptions<Principal, AnyTasks>> = {},
): RequestHandler<Principal, AnyTasks> {
  const handler = createRequestHandler<Principal, AnyTasks>({ card, tasks, execute, ...options })
  onTestFinished(() => handler.close({ graceMs: 1 }))
  return handler
}

/** Echoes; asks; or works until it is stopped, which `began` tells with the id of the task. */
async function speak(row: Row, peer: Peer): Promise<void> {
  const began = gate<string>()
  const { fetch } = serve(
    await row.open(),
    async (run) => {
      if (run.text === 'ask') return `You said: ${(await run.requireInput('What?')).parts[0]?.text ?? ''}`
      if (run.text !== 'wait') return `Echo: ${run.text}`
      run.start()
      began.open(run.task.id)
      return await endless(run)
    },
    { dialects: [peer.dialect] },
  )
  const { states, choosesIds } = peer
  const idOf = (own: string): string => (choosesIds ? own : '')
  const sent = await peer.send(fetch, 'hello', idOf('a'))
  expect(sent.state).toBe(states.done)
  expect(await peer.get(fetch, sent.id)).toEqual(sent)
  if (peer.stream !== undefined) expect(await peer.stream(fetch, 'hello')).toContain(`"${states.done}"`)
  if (peer.answers) {
    const asked = await peer.send(fetch, 'ask', idOf('b'))
    expect(asked.state).toBe(states.asked)
    expect(await peer.send(fetch, 'this', asked.id)).toEqual({ id: asked.id, state: states.done })
  }
  if (peer.cancel !== undefined) {
    const working = peer.send(fetch, 'wait', idOf('c'))
    const own = await began.opened
    expect((await peer.cancel(fetch, choosesIds ? 'c' : own)).state).toBe(states.canceled)
    expect((await working).state).toBe(states.canceled)
  }
}

const HANDLERS = PEERS.map((peer): Column => ({
  name: `\`createRequestHandler\`, ${peer.version}`,
  cell: everywhere,
  test: (row) => speak(row, peer),
}))

/** A state of one's own, which clients see as `working`. */
/** Tables that no part can serve: one of other work, and that of LiteLLM-RS, in its names and in those of A2A. */
const TABLES: Record<string, string[]>[] = [
  { todo: ['doing'], doing: ['done'], done: [] },
  {
    pending: ['running'],
    running: ['input-required', 'completed', 'failed', 'cancelled'],
    'input-required': ['running'],
    ...{ completed: [], failed: [], cancelled: [] },
  },
  {
    submitted: ['working'],
    working: ['input-required', 'completed', 'failed', 'canceled'],
    'input-required': ['working'],
    ...{ completed: [], failed: [], canceled: [] },
  },
]

const REVIEWED = defineLifecycle({
  ...VALID_TRANSITIONS,
  working: [...VALID_TRANSITIONS.working, 'review'],
  review: ['working', 'completed', 'failed', 'canceled'],
})

async function localTaskManager(row: Row): Promise<void> {
  const tasks: Manager = await row.open()
  const began = gate<string>()
  const manager = new LocalTaskManager(
    async (text, context) => {
      if (text !== 'wait') return `Echo: ${text}`
      began.open(context.taskId)
      return await endless(context)
    },
    { tasks },
  )
  onTestFinished(() => manager.shutdown())
  const task = await manager.sendMessage('hello', { sessionId: 's', owner: 'ann' })
  expect(task).toMatchObject({ state: 'completed', contextId: 's', owner: 'ann', message: 'Done' })
  expect(task.messages.map(({ parts }) => parts[0]?.text)).toEqual(['hello', 'Echo: hello'])
  expect(await tasks.getTask(task.id)).toEqual(task)
  const working = manager.sendMessage('wait')
  const id = await began.opened
  expect(await manager.waitForCompletion(id, { timeoutMs: 0 })).toMatchObject({ state: 'working' })
  expect(await manager.cancelTask(id)).toBe(true)
  expect(await working).toMatchObject({ state: 'canceled', message: 'Canceled by request' })
  expect([await manager.cancelTask(id), await manager.cancelTask('none')]).toEqual([false, false])
}

async function localHandler(row: Row): Promise<void> {
  const taskManager = new LocalTaskManager((text) => `Echo: ${text}`, { tasks: await row.open() })
  const handler = createTaskManagerHandler({ card, taskManager })
  onTestFinished(() => handler.close({ graceMs: 1 }))
  const { id } = taskOf(await curl(handler, send('hello')))
  const got = await curl(handler, { jsonrpc: '2.0', id: 2, method: 'GetTask', params: { id } })
  expect(taskOf(got)).toMatchObject({ id, status: { state: 'completed' } })
}

async function sessions(row: Row): Promise<void> {
  const options = { tasks: await row.open() }
  expect(() => createInboundHandler(world().deps, options as object)).toThrow(TypeError)
  expect(() => createInboundHandler(world().deps, options as object)).toThrow('Use createRequestHandler(')
}

async function webhooks(row: Row): Promise<void> {
  const hook = await receiver()
  const handler = serve(await row.open(), (run) => `Echo: ${run.text}`, { push: { allow: ['127.0.0.1'] } })
  const client = new A2AClient({
    card: handler.card,
    fetch: (url, init) => handler.fetch(new Request(url, init)),
  })
  const result = await client.run('hello', { pushConfig: { url: hook.url } })
  expect(result.type).toBe('completed')
  const isEnd = ({ body }: (typeof hook.received)[number]): boolean =>
    JSON.stringify(body).includes('TASK_STATE_COMPLETED')
  await expect.poll(() => hook.received.some(isEnd)).toBe(true)
}

async function telemetry(row: Row): Promise<void> {
  const { spans } = sdk()
  const tasks = await row.open()
  onTestFinished(instrumentTasks(tasks))
  const handler = serve(tasks, (run) => `Echo: ${run.text}`)
  const client = new A2AClient({
    card: handler.card,
    fetch: (url, init) => handler.fetch(new Request(url, init)),
  })
  await client.run('hello')
  await expect.poll(() => spans().map(({ name }) => name)).toEqual(['a2a.task.submit', 'a2a.task.execute'])
  expect(spans().at(-1)?.attributes['a2a.task.state']).toBe('TASK_STATE_COMPLETED')
}

/** The list, the counts, a log, and a change that the page makes, with a change that it follows. */
async function inspect(row: Row): Promise<void> {
  const tasks = await row.open()
  const handler = serve(tasks, async (run) => `You said: ${textOf(await run.requireInput('What?'))}`)
  const { fetch } = createInspector({
    tasks,
    handler,
    authorize: () => ({}),
    actions: true,
    pollIntervalMs: 50,
  })
  const page = { 'x-a2a-inspector': '1', 'content-type': 'application/json' }
  const get = async (path: string): Promise<unknown> =>
    (await fetch(new Request(`https://localhost/api/${path}`, { headers: page }))).json()
  const say = async (message: object): Promise<{ taskId: string }> => {
    const init = { method: 'POST', headers: page, body: JSON.stringify(message) }
    const response = await fetch(new Request('https://localhost/api/messages', init))
    return (await response.json()) as { taskId: string }
  }
  const { taskId } = await say({ text: 'ask' })
  await expect.poll(() => tasks.stateOf(taskId)).toBe('input-required')
  expect(await get('tasks?state=input-required')).toMatchObject({ tasks: [{ id: taskId }] })
  expect(await get('counts')).toMatchObject({ 'input-required': 1 })
  await say({ text: 'this', taskId })
  await expect.poll(() => tasks.stateOf(taskId)).toBe('completed')
  const { events } = (await get(`tasks/${taskId}/events`)) as { events: { type: string }[] }
  expect(events[0]?.type).toBe('created')
  expect(await get(`tasks/${taskId}/wire?version=1.0`)).toMatchObject({ task: { id: taskId } })
}

async function customLifecycle(row: Row): Promise<void> {
  const tasks = await row.open<TaskState | 'review'>(REVIEWED)
  const isReviewed = gate()
  const reviewed = gate()
  for (const peer of PEERS) {
    const { fetch } = serve(
      tasks,
      async (run) => {
        run.start()
        await tasks.updateTask(run.task.id, { state: 'review' })
        if (peer.version === '1.0') {
          isReviewed.open()
          await reviewed.opened
        }
        return `Echo: ${run.text}`
      },
      { dialects: [peer.dialect], anonymous: 'shared' },
    )
    const sent = peer.send(fetch, 'hello', peer.choosesIds ? peer.version : '')
    if (peer.version === '1.0') {
      await isReviewed.opened
      const [task] = await tasks.listTasks({ state: 'review' })
      expect((await peer.get(fetch, task?.id ?? '')).state).toBe('TASK_STATE_WORKING')
      reviewed.open()
    }
    expect((await sent).state).toBe(peer.states.done)
  }
  const own = defineLifecycle({ submitted: ['working'], working: ['completed'], completed: [] })
  const lacking = await row.open(own)
  const text = 'The lifecycle of "tasks" lacks the step from "submitted" to "failed"'
  expect(() => serve(lacking, () => 'x')).toThrow(new RegExp(text))
  expect(() => new LocalTaskManager(() => 'x', { tasks: lacking })).toThrow(TypeError)
  expect(() => fakeAgent('x', { tasks: lacking })).toThrow(TypeError)
  // Callers in JavaScript pass any manager.
  const inGateway = { tasks: lacking, providers: {} } as object as ConstructorParameters<typeof A2AGateway>[0]
  expect(() => new A2AGateway(inGateway)).toThrow(new RegExp(`${text}.* A gateway needs`))
  expect(() => new A2AClient({ taskManager: lacking } as object)).toThrow(/"taskManager" lacks .* A client/)
  for (const table of TABLES) {
    const tasks = await row.open(defineLifecycle<Record<string, string[]>>(table))
    for (const make of [
      () => serve(tasks, () => 'x'),
      () => new A2AGateway({ ...inGateway, tasks } as object as typeof inGateway),
      () => new A2AClient({ taskManager: tasks } as object),
    ])
      expect(make).toThrow(/^The lifecycle of "\w+" (begins|lacks|ends|waits|goes)/)
  }
}

async function fake(row: Row): Promise<void> {
  const tasks = await row.open()
  const agent = fakeAgent<AnyTasks>(['one', 'two'], { tasks })
  onTestFinished(() => agent.close())
  const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
  const results = [await client.run('a'), await client.run('b')]
  expect(results.map((result) => result.type === 'completed' && result.text)).toEqual(['one', 'two'])
  expect(await agent.tasks.countTasks({ state: 'completed' })).toBe(2)
}

async function delegation(row: Row): Promise<void> {
  const tasks: Manager = await row.open()
  const agent = fakeAgent((run) => `Analysed ${run.text}`)
  const make = (taskManager: object): A2AClient =>
    // A caller in JavaScript passes any manager.
    new A2AClient({ taskManager, fetch: agent.fetch, agents: { analyst: agent.url } } as object)
  const task = await tasks.createTask({ skill: 'analysis', input: 'sales' })
  await make(tasks).sendTask('analyst', task.id)
  expect(await tasks.getTask(task.id)).toMatchObject({
    state: 'completed',
    artifacts: [{ parts: [{ text: 'Analysed sales' }] }],
  })
}

/** A gateway with agents that answer, ask, and work until they are stopped. */
function gatewayOver(tasks: Manager): A2AGateway<Manager> {
  const registry = new AgentRegistry()
  const providers = {
    poet: custom(({ text }) => `O ${text}!`),
    clerk: custom(({ text, ref }) =>
      ref === undefined ? { state: 'input-required', message: 'Which?', ref: { a: 1 } } : `Filed ${text}`,
    ),
    mule: custom({
      run: () => ({ state: 'working', ref: { job: 1 } }),
      getTask: () => ({ state: 'working' }),
      cancelTask: () => ({ state: 'canceled' }),
    }),
  }
  const endpoint = { url: 'https://service.test' }
  for (const id of Object.keys(providers))
    registry.register({ id, provider: id, capabilities: [id], endpoint })
  const made = new A2AGateway({ registry, tasks, providers })
  onTestFinished(() => made.close({ graceMs: 1 }))
  return made
}

async function gateway(row: Row): Promise<void> {
  const tasks: Manager = await row.open()
  const made = gatewayOver(tasks)
  const { id } = await made.sendTask('poet', 'sea')
  const done = { state: 'completed', artifacts: [{ parts: [{ text: 'O sea!' }] }] }
  expect(await tasks.getTask(id)).toMatchObject(done)
  const states: string[] = []
  for await (const event of made.streamTask('poet', 'sky')) if (event.type === 'status') states.push(event.to)
  expect(states).toEqual(['working', 'completed'])
  const asked = await made.sendTask('clerk', 'forms')
  expect(asked.state).toBe('input-required')
  await expect(made.sendTask('poet', { parts: [{ text: 'x' }], taskId: asked.id })).rejects.toThrow('agentId')
  const answer = { parts: [{ text: 'the blue one' }], taskId: asked.id }
  expect(await made.sendTask('clerk', answer)).toMatchObject({
    id: asked.id,
    artifacts: [{ parts: [{ text: 'Filed the blue one' }] }],
  })
  const working = await made.sendTask('mule', 'carry', { returnImmediately: true })
  expect(await made.readAgentOf(working.id)).toBe('mule')
  expect(await made.handleOf(working.id)).toMatch(/^a2ah1/)
  expect(await made.cancelTask(working.id)).toMatchObject({ state: 'canceled' })
  await expect.poll(() => made.loadOf('mule')).toBe(0)
}

async function gatewayHandler(row: Row): Promise<void> {
  const tasks: Manager = await row.open()
  const made = gatewayOver(tasks)
  const execute = gatewayRequestHandler(made)
  for (const peer of PEERS) {
    const { fetch } = serve(tasks, execute, { dialects: [peer.dialect] })
    const idOf = (own: string): string => (peer.choosesIds ? `${peer.version}-${own}` : '')
    expect((await peer.send(fetch, 'poet', idOf('a'))).state).toBe(peer.states.done)
    if (!peer.answers) continue
    const asked = await peer.send(fetch, 'clerk', idOf('b'))
    expect(asked.state).toBe(peer.states.asked)
    expect(await peer.send(fetch, 'this', asked.id)).toEqual({ id: asked.id, state: peer.states.done })
  }
  const handler = serve(tasks, gatewayRequestHandler(made, { announceHandles: true }))
  const client = new A2AClient({
    card: handler.card,
    fetch: (url, init) => handler.fetch(new Request(url, init)),
  })
  const begun = await client.send('mule', { returnImmediately: true })
  if (begun.type !== 'task') throw new Error('There is no task')
  const { id } = begun.task
  const handleOf = async (): Promise<unknown> => (await client.getTask(id)).message?.metadata?.['taskHandle']
  await expect.poll(handleOf).toMatch(/^a2ah1/)
  expect(await client.cancelTask(id)).toMatchObject({ state: 'canceled' })
  await expect.poll(() => made.loadOf('mule')).toBe(0)
}

async function workers(row: Row): Promise<void> {
  // A manager of the row, of either kind.
  const tasks = (await row.open()) as DurableTaskManager
  const begun: string[] = []
  const execute: Execute = async (run) => {
    begun.push(run.text)
    return `Echo: ${textOf(await run.requireInput('What?'))}`
  }
  if (!('lease' in tasks)) {
    expect(() => createRequestHandler({ card, tasks, dispatch: 'store' })).toThrow(/DurableTaskManager/)
    expect(() => createWorker({ card, tasks, execute })).toThrow(/DurableTaskManager/)
    return
  }
  const priorityOf: PriorityOf = ({ messages: [first] }) =>
    first !== undefined && textOf(first) === 'soon' ? 600_000 : 0
  const handler = createRequestHandler({ card, tasks, dispatch: 'store', priorityOf })
  const worker = createWorker({ card, tasks, execute, priorityOf, concurrency: 1 })
  onTestFinished(async () => {
    await Promise.all([handler, worker].map((each) => each.close({ graceMs: 1 })))
  })
  const client = new A2AClient({
    card: handler.card,
    fetch: (url, init) => handler.fetch(new Request(url, init)),
  })
  for (const text of ['later', 'soon']) await client.send(text, { returnImmediately: true })
  await expect.poll(() => tasks.backlog()).toMatchObject({ waiting: 2, busy: 0 })
  worker.start()
  await expect.poll(() => begun).toEqual(['soon', 'later'])
  const result = await client.run('go', { onInputRequired: () => 'hello' })
  expect(result).toMatchObject({ type: 'completed', text: 'Echo: hello' })
}

async function producer(row: Row): Promise<void> {
  // A manager of the row, of either kind.
  const tasks = (await row.open()) as DurableTaskManager
  if (!('lease' in tasks)) {
    expect(() => createProducer({ card, tasks })).toThrow(/DurableTaskManager/)
    return
  }
  const worker = createWorker({
    ...{ card, tasks, pollMs: 20 },
    execute: async (run) => `${textOf(await run.requireInput('What?'))} ${await run.waitFor<string>('when')}`,
  })
  worker.start()
  onTestFinished(() => worker.close({ graceMs: 1 }))
  const { send, signal } = createProducer({ card, tasks })
  const { id } = await send('go', { messageId: 'a', notBefore: Date.now() + 30 })
  expect(await send('go', { messageId: 'a' })).toMatchObject({ id })
  await tasks.waitFor(id, { until: 'interrupted' })
  await send('hello', { taskId: id })
  await signal(id, 'when', 'now')
  const { state, artifacts } = await tasks.waitFor(id)
  expect([state, textOf({ parts: artifacts[0]?.parts ?? [] })]).toEqual(['completed', 'hello now'])
}

async function schedules(row: Row): Promise<void> {
  // A manager of the row, of either kind.
  const tasks = (await row.open()) as DurableTaskManager
  const begin = (): Schedules =>
    createSchedules({ card, tasks, schedules: { tick: { everyMs: 1_000, message: 'tick' } } })
  if (!('lease' in tasks)) {
    expect(begin).toThrow(/DurableTaskManager/)
    return
  }
  const worker = createWorker({ card, tasks, pollMs: 20, execute: (run) => `Echo: ${run.text}` })
  worker.start()
  const two = [begin(), begin()]
  onTestFinished(async () => {
    await Promise.all([...two.map((each) => each.close()), worker.close({ graceMs: 1 })])
  })
  for (const each of two) each.start()
  const ended = async (): Promise<number> => await tasks.countTasks({ state: 'completed' })
  await expect.poll(ended, { timeout: 10_000 }).toBeGreaterThan(0)
  await two[0]?.pause('tick')
  expect(await two[1]?.list()).toEqual([{ name: 'tick', isPaused: true, missed: 'last' }])
  const at = (await tasks.listTasks({ state: 'completed' })).map(({ messages }) => messages[0]?.messageId)
  expect(new Set(at).size).toBe(at.length)
}

export const COLUMNS: readonly Column[] = [
  ...HANDLERS,
  { name: '`LocalTaskManager`', cell: everywhere, test: localTaskManager },
  { name: '`createTaskManagerHandler`', cell: everywhere, test: localHandler },
  { name: '`createInboundHandler`', cell: nowhere, test: sessions },
  { name: 'webhooks', cell: everywhere, test: webhooks },
  { name: '`instrumentTasks`', cell: everywhere, test: telemetry },
  { name: '`createInspector`', cell: everywhere, test: inspect },
  { name: 'a lifecycle of your own', cell: everywhere, test: customLifecycle },
  { name: '`fakeAgent`', cell: everywhere, test: fake },
  { name: '`A2AClient.sendTask`', cell: everywhere, test: delegation },
  { name: '`A2AGateway`', cell: everywhere, test: gateway },
  { name: '`gatewayRequestHandler`', cell: everywhere, test: gatewayHandler },
  { name: '`feed`', cell: everywhere, test: feed },
  { name: '`fork`', cell: everywhere, test: fork },
  { name: '`redrive`, `deadLetters`', cell: everywhere, test: redrive },
  { name: '`deleteTask`', cell: everywhere, test: deletion },
  { name: '`signal`, `run.waitFor`', cell: everywhere, test: signal },
  { name: '`run.step`, `run.sleep`', cell: everywhere, test: steps },
  { name: '`run.delegate`', cell: everywhere, test: delegate },
  { name: '`run.conversation`', cell: everywhere, test: history },
  { name: 'a message that is sent twice', cell: everywhere, test: repeated },
  { name: 'limits of one user', cell: everywhere, test: ownerLimits },
  { name: '`fromAgentExecutor`', cell: everywhere, test: migrated },
  { name: '`dispatch`, `createWorker`', cell: overStores, test: workers },
  { name: '`createProducer`', cell: overStores, test: producer },
  { name: '`createSchedules`', cell: overStores, test: schedules },
]
