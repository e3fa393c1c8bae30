/** Tasks of clients that name no version, at another process than the one that made them. */
import type { DurableTaskManagerOptions, TaskStore } from 'a2a-tasks/durable'
import type { JsonObject } from 'a2a-tasks/schemas'
import type { Execute, Principal } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { faultyStore, gate } from '../../support/faulty-store.js'
import { cluster, replicas, settle, type Replica } from './support/replicas.js'
import { get as getRequest } from '../spec/support/agent.js'

const TYPED = { role: 'user', parts: [{ type: 'text', text: 'hi' }] }
const SENDS = {
  '0.1': ['tasks/send', { id: 'chosen', message: TYPED }],
  kaos: ['SendMessage', { message: TYPED }],
  '0.3': [
    'message/send',
    { message: { ...TYPED, parts: [{ kind: 'text', text: 'hi' }], kind: 'message', messageId: 'm' } },
  ],
} as const
type Version = keyof typeof SENDS

interface Asking {
  readonly version?: string
  readonly principal?: Principal
}

async function ask(at: Replica, method: string, params: object, context: Asking = {}): Promise<JsonObject> {
  const answer = (await at.handler.dispatch({ jsonrpc: '2.0', id: 1, method, params }, context)) as JsonObject
  if (answer['result'] === undefined) throw new Error(JSON.stringify(answer['error']))
  return answer['result'] as JsonObject
}

async function made(at: Replica, version: Version, context?: Asking): Promise<string> {
  const [method, params] = SENDS[version]
  const { id } = (await ask(at, method, params, context)) as { id?: string }
  return id ?? ''
}

/** By the look of a task. */
function versionOf({ output, kind }: JsonObject): string {
  if (output !== undefined) return 'kaos'
  return kind === undefined ? '0.1' : '0.3'
}

const done = (options: { manager?: Partial<DurableTaskManagerOptions> } = {}) =>
  replicas((run) => run.complete(), options)
const documentCalls = ({ store }: Replica): string[] =>
  store.calls.filter((name) => /document/i.test(name) && name !== 'allDocuments')

describe('a task that was made in a dialect', () => {
  test.each<Version>(['0.1', 'kaos'])('of %s is shown in it by every process', async (version) => {
    const { a, b } = done()
    const id = await made(a, version)
    for (const at of [a, b, b]) expect(versionOf(await ask(at, 'tasks/get', { id }))).toBe(version)
    expect(versionOf(await ask(b, 'tasks/get', { id }, { version: '0.3' }))).toBe('0.3')
  })

  test('is found at paths that several versions have', async () => {
    const { a, b } = done()
    const id = await made(a, 'kaos')
    const shown = async (at: Replica): Promise<unknown> =>
      (await at.handler.fetch(getRequest(`/a2a/tasks/${id}`))).json()
    expect(await shown(b)).toEqual(await shown(a))
  })

  test('is shown in the preferred dialect to another owner, who learns nothing', async () => {
    const authenticate = (): Principal => ({ id: 'unknown' })
    const { a, b } = replicas((run) => run.complete(), { authenticate })
    const mine = { principal: { id: 'me' } }
    const id = await made(a, 'kaos', mine)
    expect(versionOf(await ask(b, 'tasks/get', { id }, mine))).toBe('kaos')
    const asked = (taskId: string): Promise<string> =>
      ask(b, 'tasks/get', { id: taskId }, { principal: { id: 'other' } }).then(
        () => 'found',
        (error: unknown) => String(error).replaceAll(taskId, ''),
      )
    expect(await asked(id)).toBe(await asked('none'))
  })

  test('that names it is not remembered', async () => {
    const { a, b } = done()
    await made(a, '0.1', { version: '0.1' })
    expect(documentCalls(a)).toEqual([])
    expect(versionOf(await ask(b, 'tasks/get', { id: 'chosen' }))).toBe('0.3')
  })

  test('of the preferred version costs no more than it did', async () => {
    const { a } = replicas((run) => run.complete(), { defaultDialect: '0.3' })
    await made(a, '0.3')
    expect(documentCalls(a)).toEqual([])
  })
})

describe('which dialect it was', () => {
  test('is read once', async () => {
    const { a, b } = done()
    const id = await made(a, 'kaos')
    const other = await made(a, '0.1')
    for (let count = 0; count < 5; count += 1) {
      expect(versionOf(await ask(b, 'tasks/get', { id }))).toBe('kaos')
      expect(versionOf(await ask(b, 'tasks/get', { id: other }))).toBe('0.1')
      expect(versionOf(await ask(a, 'tasks/get', { id }))).toBe('kaos')
    }
    expect(documentCalls(b)).toEqual(['documents', 'documents'])
    expect(documentCalls(a)).toEqual(['putDocument', 'putDocument'])
  })

  test('is not taken for nothing while it is on its way', async () => {
    const written = gate()
    const slow = (store: TaskStore): TaskStore =>
      faultyStore(store, { before: (step) => (step === 'putDocument' ? written.opened : undefined) })
    const complete: Execute = (run) => run.complete()
    const { all } = cluster([complete, complete], { authenticate: () => ({ id: 'unknown' }) }, slow)
    const [a, b] = all as [Replica, Replica]
    const mine = { principal: { id: 'me' } }
    const making = made(a, '0.1', mine)
    await settle()
    await ask(b, 'tasks/get', { id: 'chosen' }, { principal: { id: 'other' } }).catch(() => undefined)
    expect(versionOf(await ask(b, 'tasks/get', { id: 'chosen' }, mine))).toBe('0.3')
    written.open()
    await making
    expect(versionOf(await ask(b, 'tasks/get', { id: 'chosen' }, mine))).toBe('0.1')
  })

  test('is not asked again of a task that has none, once it is a minute old', async () => {
    const { a, b, clock } = done()
    const id = await made(a, '0.1', { version: '0.1' })
    const asked = async (): Promise<number> => {
      await ask(b, 'tasks/get', { id })
      return documentCalls(b).length
    }
    expect([await asked(), await asked()]).toEqual([1, 2])
    clock.advance(60_001)
    expect([await asked(), await asked(), await asked()]).toEqual([3, 3, 3])
  })

  test('is that of the task that has the id now', async () => {
    const { a, b, clock } = done({ manager: { retention: { default: { maxAgeMs: 1_000 } } } })
    await made(a, '0.1')
    expect(versionOf(await ask(b, 'tasks/get', { id: 'chosen' }))).toBe('0.1')
    clock.advance(5_000)
    await a.tasks.prune()
    await b.tasks.createTask({ id: 'chosen', skill: 'test' })
    for (const at of [a, b]) expect(versionOf(await ask(at, 'tasks/get', { id: 'chosen' }))).toBe('0.3')
  })

  test.each(['', 'x'.repeat(2_000), '\ud800', 'none'])(
    'is not asked of an id that there is not: %j',
    async (id) => {
      const { b } = done()
      await expect(ask(b, 'tasks/get', { id })).rejects.toThrow(/-32602|-32001/)
      expect(documentCalls(b)).toEqual([])
      expect(b.errors).toEqual([])
    },
  )

  test('is reported to onError where it cannot be stored, and the message is answered', async () => {
    const { a, b } = done({ manager: { storeRetryMs: 1 } })
    a.store.fail('putDocument')
    const id = await made(a, 'kaos')
    expect(a.errors).toMatchObject([{ error: { code: 'STORE_FAILED' }, context: { taskId: id } }])
    expect(versionOf(await ask(b, 'tasks/get', { id }))).toBe('0.3')
  })
})
