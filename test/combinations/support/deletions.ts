/** What is left of a task after `deleteTask`, over every manager and store. */
import { A2AError, type TaskState, fork, deadLetters, redrive } from 'a2a-tasks'
import { DurableTaskManager } from 'a2a-tasks/durable'
import {
  createRequestHandler,
  type AnyTasks,
  type Execute,
  type Principal,
  type RequestHandler,
} from 'a2a-tasks/server'
import { expect, onTestFinished } from 'vitest'
import type { Manager, Row } from './rows.js'

/** Two processes over one store. A manager in memory is both. */
async function pair(row: Row): Promise<readonly [Manager, Manager]> {
  if (row.openStore === undefined) {
    const tasks: Manager = await row.open()
    return [tasks, tasks]
  }
  const store = await row.openStore()
  const open = (): DurableTaskManager => {
    const tasks = new DurableTaskManager({ store, pollIntervalMs: 20 })
    onTestFinished(() => tasks.destroy())
    return tasks
  }
  return [open(), open()]
}

function serve(tasks: Manager, execute: Execute): RequestHandler<Principal, AnyTasks> {
  const handler = createRequestHandler<Principal, AnyTasks>({
    card: { name: 'Test', url: 'https://agent.test' },
    authenticate: () => ({ id: 'ada' }),
    principalOf: (id) => ({ id }),
    push: { allow: ['127.0.0.1'] },
    onError: () => undefined,
    execute,
    tasks,
  })
  onTestFinished(() => handler.close({ graceMs: 1 }))
  return handler
}

/** A manager in memory has one handler. */
function serveBoth([here, there]: readonly [Manager, Manager], execute: Execute) {
  const handler = serve(here, execute)
  return [handler, here === there ? handler : serve(there, execute)] as const
}

type Reply = { readonly result?: unknown; readonly error?: { readonly code: number } }

async function call({ fetch }: RequestHandler<Principal, AnyTasks>, method: string, params: object) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
  const response = await fetch(new Request('https://agent.test/', { method: 'POST', headers, body }))
  // A response of JSON-RPC.
  return (await response.json()) as Reply
}

async function send(handler: RequestHandler<Principal, AnyTasks>, messageId: string): Promise<string> {
  const message = { messageId, role: 'ROLE_USER', parts: [{ text: 'go' }] }
  const configuration = { taskPushNotificationConfig: { id: 'hook', url: 'http://127.0.0.1:49999/hook' } }
  const { result, error } = await call(handler, 'SendMessage', { message, configuration })
  if (error !== undefined) throw new Error(JSON.stringify(error))
  // The answer to a message that begins a task.
  return (result as { task: { id: string } }).task.id
}

const codeOf = async (job: () => unknown): Promise<unknown> => {
  try {
    await job()
    return 'done'
  } catch (error) {
    return A2AError.is(error) ? error.code : error
  }
}

const TASK_NOT_FOUND = -32001

async function removesAll(row: Row): Promise<void> {
  const [here, there] = await pair(row)
  const execute: Execute = async (run) => `Paid ${await run.step('pay', () => 7)}`
  const [handler, other] = serveBoth([here, there], execute)
  const id = await send(handler, 'm')
  const hook = { taskId: id, id: 'hook' }
  expect(await call(other, 'GetTaskPushNotificationConfig', hook)).toHaveProperty('result')
  // Both have the task in memory.
  expect(await there.journal(id)).not.toEqual([])
  expect((await here.peekTask(id))?.state).toBe('completed')
  await here.deleteTask(id)
  for (const tasks of [here, there]) {
    expect(await tasks.getTask(id)).toBeNull()
    expect(await tasks.stateOf(id)).toBeNull()
    expect(await tasks.listTasks()).toEqual([])
    expect(await codeOf(() => tasks.events(id))).toBe('TASK_NOT_FOUND')
    expect(await codeOf(() => tasks.journal(id))).toBe('TASK_NOT_FOUND')
    expect(await codeOf(() => fork(tasks, id, {}))).toBe('TASK_NOT_FOUND')
    expect(await codeOf(() => tasks.signal(id, 'x'))).toBe('TASK_NOT_FOUND')
    expect(await codeOf(() => tasks.deleteTask(id))).toBe('TASK_NOT_FOUND')
  }
  for (const each of [handler, other]) {
    for (const [method, params] of Object.entries({
      GetTask: { id },
      GetTaskPushNotificationConfig: hook,
      ListTaskPushNotificationConfigs: { taskId: id },
    }))
      expect(await call(each, method, params)).toMatchObject({ error: { code: TASK_NOT_FOUND } })
  }
}

async function beginsAgain(row: Row): Promise<void> {
  const [here, there] = await pair(row)
  const texts: string[] = []
  const execute: Execute = async (run) => `Call ${await run.step('work', () => texts.push(run.text))}`
  const [handler, other] = serveBoth([here, there], execute)
  const id = await send(handler, 'm')
  expect(await send(other, 'm')).toBe(id)
  await there.deleteTask(id)
  const next = await send(handler, 'm')
  expect(texts).toEqual(['go', 'go'])
  expect(await here.size()).toBe(1)
  expect((await there.peekTask(next))?.artifacts[0]?.parts).toEqual([{ text: 'Call 2' }])
}

async function refusesOthers(row: Row): Promise<void> {
  const [here, there] = await pair(row)
  const { id } = await here.createTask({ skill: 'test' })
  const moves: (TaskState | undefined)[] = [undefined, 'working', 'input-required', 'auth-required']
  for (const state of moves) {
    if (state !== undefined) await here.updateTask(id, { state })
    await expect(Promise.resolve().then(() => there.deleteTask(id))).rejects.toThrow('cancel it first')
    expect(await there.stateOf(id)).toBe(state ?? 'submitted')
  }
  await here.cancelTask(id)
  await there.deleteTask(id)
  expect(await here.getTask(id)).toBeNull()
}

async function deletesOnce(row: Row): Promise<void> {
  const [here, there] = await pair(row)
  for (let round = 0; round < 10; round += 1) {
    const { id } = await here.createTask({ skill: 'test' })
    await here.cancelTask(id)
    const gone: string[] = []
    const listener = (task: { readonly id: string }): unknown => gone.push(task.id)
    const managers = new Set([here, there])
    for (const tasks of managers) tasks.on('task:expired', listener)
    const codes = await Promise.all([here, there, here].map((tasks) => codeOf(() => tasks.deleteTask(id))))
    expect(codes.toSorted()).toEqual(['TASK_NOT_FOUND', 'TASK_NOT_FOUND', 'done'])
    expect(gone).toEqual([id])
    for (const tasks of managers) tasks.off('task:expired', listener)
  }
}

async function endsReaders(row: Row): Promise<void> {
  const [here, there] = await pair(row)
  const { id } = await here.createTask({ skill: 'test' })
  const readers = [here, there].map((tasks) => tasks.subscribe(id))
  for (const reader of readers) expect((await reader.next()).value).toMatchObject({ type: 'snapshot' })
  await here.cancelTask(id)
  await here.deleteTask(id)
  for (const reader of readers) {
    // What was stored before the deletion is read, or the reader learns of the deletion.
    const end = await codeOf(async () => {
      for await (const event of reader) expect(event).toMatchObject({ type: 'status', to: 'canceled' })
    })
    expect(['done', 'TASK_EXPIRED', 'TASK_NOT_FOUND']).toContain(end)
  }
  for (const tasks of [here, there])
    expect(await codeOf(() => tasks.subscribe(id).next())).toBe('TASK_NOT_FOUND')
}

async function removesDeadLetters(row: Row): Promise<void> {
  const [here, there] = await pair(row)
  let isDown = true
  const execute: Execute = async (run) => {
    await run.step('once', () => 1)
    if (isDown) throw new Error('Down')
    return 'Done'
  }
  const handler = serve(here, execute)
  const [first, second] = [await send(handler, 'a'), await send(handler, 'b')]
  expect((await deadLetters(there)).tasks).toHaveLength(2)
  await there.deleteTask(first)
  expect(await codeOf(() => redrive(here, first))).toBe('TASK_NOT_FOUND')
  expect((await deadLetters(here)).tasks.map(({ id }) => id)).toEqual([second])
  isDown = false
  const next = await redrive(here, second)
  // The new task has its own copy of the past.
  await there.deleteTask(second)
  await expect.poll(() => here.stateOf(next.id)).toBe('completed')
  expect((await there.journal(next.id)).map(({ entry }) => entry.kind)).toContain('step')
  expect((await deadLetters(here)).tasks).toEqual([])
}

export const DELETION_RULES: readonly (readonly [rule: string, test: (row: Row) => Promise<void>])[] = [
  ['a deleted task is gone in every process, with its log, history and webhooks', removesAll],
  ['the message of a deleted task begins a new one', beginsAgain],
  ['a task that has not ended is not deleted', refusesOthers],
  ['of several deletions at a time, one succeeds', deletesOnce],
  ['readers of a deleted task end', endsReaders],
  ['a dead letter can be deleted, and what it has begun continues', removesDeadLetters],
]
