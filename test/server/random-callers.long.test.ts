/** Agents with a small heap, and callers that name a new context, task, page or user in each request. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { ROOT } from '../support/repository.js'

const HEAP_MB = 64
/** The library and what it keeps take 14 to 18 MB, so a request may leave some 250 bytes at most. */
const MAX_HEAP_USED = 25_000_000

/**
 * Calls an agent in the same process. `options` of the handler, `manager` of a durable one, `request` and `count` are code.
 * Prints the statuses that were answered, how an honest caller fares afterwards, and the heap.
 */
const programOf = ({ options = '', manager = '', request, count }: Attack): string => `
import { randomUUID } from 'node:crypto'
import Database from 'libsql'
import { createRequestHandler } from 'a2a-tasks/server'
import { openTasks } from 'a2a-tasks/stores/sqlite'
const tasks = ${manager === '' ? 'undefined' : `await openTasks(new Database(':memory:'), ${manager})`}
const { fetch } = createRequestHandler({
  card: { name: 'A', url: 'http://a.test' }, tasks, onError() {}, execute: (run) => 'You said ' + run.text, ${options}
})
const url = 'http://a.test'
const post = (path, body, user = '') => new Request(url + path, {
  method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', 'a2a-version': '1.0', authorization: user },
})
const get = (path, user = '') => new Request(url + path, { headers: { 'a2a-version': '1.0', authorization: user } })
const send = (fields = {}, user) => post('/message:send', { message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'Hi' }], ...fields } }, user)
const requestOf = ${request}
const statuses = {}
const attack = async () => {
  for (let at = 0; at < ${count / 50}; at++) {
    const response = await fetch(requestOf(randomUUID()))
    await response.text()
    statuses[response.status] = (statuses[response.status] ?? 0) + 1
  }
}
await Promise.all(Array.from({ length: 50 }, attack))
const { task } = await (await fetch(send({}, 'honest'))).json()
const read = await fetch(get('/tasks/' + task.id, 'honest'))
gc()
console.log(JSON.stringify({ statuses, state: task.status.state, read: read.status, heap: process.memoryUsage().heapUsed }))
process.exit()
`

interface Attack {
  readonly options?: string
  readonly manager?: string
  readonly request: string
  readonly count: number
}

const USERS = 'authenticate: ({ headers }) => ({ id: headers.get("authorization") || "ann" }),'
const LIMITS = `${USERS} rateLimit: { requests: 1_000, perMs: 60_000 }, limits: { maxTasksPerOwner: 10, maxRunsPerOwner: 10, maxStreamsPerOwner: 2 },`

async function heapAfter(attack: Attack) {
  const flags = [`--max-old-space-size=${HEAP_MB}`, '--expose-gc', '--input-type=module']
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, [...flags, '--eval', programOf(attack)], { cwd: ROOT })
  // The program prints it.
  return JSON.parse(stdout) as { statuses: Record<string, number>; state: string; read: number; heap: number }
}

const CONTEXTS = '(id) => send({ contextId: id })'
const IDS = `(id) => [
  get('/tasks/' + id), post('/tasks/' + id + ':cancel', {}), post('/tasks/' + id + ':subscribe', {}), send({ taskId: id }),
][parseInt(id[0], 16) % 4]`
const OWNERS = '(id) => send({ contextId: id }, id)'

describe(`with a heap of ${HEAP_MB} MB, an agent outlives`, () => {
  test.each<[string, Attack & { readonly status: number }]>([
    ['40,000 contexts of callers without a principal', { request: CONTEXTS, count: 40_000, status: 200 }],
    ['40,000 contexts of one user', { options: USERS, request: CONTEXTS, count: 40_000, status: 200 }],
    ['40,000 users', { options: LIMITS, request: OWNERS, count: 40_000, status: 200 }],
    [
      '10,000 users of a store',
      {
        options: LIMITS,
        manager: '{ retention: { default: { maxCount: 100 } }, sweepIntervalMs: 200 }',
        request: OWNERS,
        count: 10_000,
        status: 200,
      },
    ],
    [
      '10,000 ids of tasks',
      {
        request: IDS,
        count: 10_000,
        status: 404,
      },
    ],
    [
      '10,000 ids of tasks of a store',
      {
        manager: '{}',
        request: IDS,
        count: 10_000,
        status: 404,
      },
    ],
    [
      '10,000 page tokens',
      { options: USERS, request: `(id) => get('/tasks?pageToken=' + id, id)`, count: 10_000, status: 400 },
    ],
    [
      '10,000 contexts of lists',
      { request: `(id) => get('/tasks?contextId=' + id)`, count: 10_000, status: 200 },
    ],
  ])('%s', { timeout: 300_000 }, async (_, { status, ...attack }) => {
    const { heap, ...rest } = await heapAfter(attack)
    expect(rest).toEqual({ statuses: { [status]: attack.count }, state: 'TASK_STATE_COMPLETED', read: 200 })
    expect(heap).toBeLessThan(MAX_HEAP_USED)
  })
})
