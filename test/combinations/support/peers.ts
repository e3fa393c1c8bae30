/** Clients of each dialect, as far as the dialect goes. */
import { randomUUID } from 'node:crypto'
import { corvid, kaos, litellm, v0_1 } from 'a2a-tasks/compat'
import { v0_3, v1, type Dialect } from 'a2a-tasks/wire'

export type Fetch = (request: Request) => Promise<Response>

export interface Seen {
  readonly id: string
  readonly state: string
}

export interface Peer {
  readonly version: string
  readonly dialect: Dialect
  /** The names of states. */
  readonly states: { readonly done: string; readonly asked: string; readonly canceled: string }
  /** Sends a message, to a task if one is named. */
  readonly send: (fetch: Fetch, text: string, taskId: string) => Promise<Seen>
  readonly get: (fetch: Fetch, id: string) => Promise<Seen>
  readonly cancel?: (fetch: Fetch, id: string) => Promise<Seen>
  /** What a stream of a new task contains. */
  readonly stream?: (fetch: Fetch, text: string) => Promise<string>
  /** Whether clients choose the ids of tasks. */
  readonly choosesIds?: boolean
  /** Whether a task can ask, and a message answers it. */
  readonly answers?: boolean
}

const ORIGIN = 'https://agent.test'

async function request(fetch: Fetch, path: string, body?: object, version?: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', ...(version && { 'a2a-version': version }) }
  const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
  return await fetch(new Request(`${ORIGIN}${path}`, init))
}

function rpcOf(version?: string): (fetch: Fetch, method: string, params: object) => Promise<Seen> {
  return async (fetch, method, params) => {
    const body = { jsonrpc: '2.0', id: randomUUID(), method, params }
    const answer = (await (await request(fetch, '/', body, version)).json()) as Answer
    const task = answer.result?.task ?? answer.result
    if (task === undefined) throw new Error(JSON.stringify(answer))
    return { id: task.id, state: task.status?.state ?? task.state ?? '' }
  }
}

/** The parts that all answers have in common. */
interface Answer {
  readonly result?: Shown & { readonly task?: Shown }
}

interface Shown {
  readonly id: string
  readonly state?: string
  readonly status?: { readonly state: string }
}

async function streamOf(fetch: Fetch, method: string, params: object, version?: string): Promise<string> {
  const body = { jsonrpc: '2.0', id: randomUUID(), method, params }
  return await (await request(fetch, '/', body, version)).text()
}

const CORE = { done: 'completed', asked: 'input-required', canceled: 'canceled' }

function ofV1(): Peer {
  const call = rpcOf('1.0')
  const message = (text: string, taskId?: string): object => ({
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...(taskId && { taskId }) },
  })
  return {
    version: '1.0',
    dialect: v1(),
    states: {
      done: 'TASK_STATE_COMPLETED',
      asked: 'TASK_STATE_INPUT_REQUIRED',
      canceled: 'TASK_STATE_CANCELED',
    },
    send: (fetch, text, taskId) => call(fetch, 'SendMessage', message(text, taskId)),
    get: (fetch, id) => call(fetch, 'GetTask', { id }),
    cancel: (fetch, id) => call(fetch, 'CancelTask', { id }),
    stream: (fetch, text) => streamOf(fetch, 'SendStreamingMessage', message(text), '1.0'),
    answers: true,
  }
}

function ofV03(): Peer {
  const call = rpcOf('0.3')
  const message = (text: string, taskId?: string): object => ({
    message: {
      ...{ kind: 'message', messageId: randomUUID(), role: 'user', parts: [{ kind: 'text', text }] },
      ...(taskId && { taskId }),
    },
  })
  return {
    version: '0.3',
    dialect: v0_3(),
    states: CORE,
    send: (fetch, text, taskId) => call(fetch, 'message/send', message(text, taskId)),
    get: (fetch, id) => call(fetch, 'tasks/get', { id }),
    cancel: (fetch, id) => call(fetch, 'tasks/cancel', { id }),
    stream: (fetch, text) => streamOf(fetch, 'message/stream', message(text), '0.3'),
    answers: true,
  }
}

function ofV01(): Peer {
  const call = rpcOf()
  const params = (text: string, id: string): object => ({
    id,
    message: { role: 'user', parts: [{ type: 'text', text }] },
  })
  return {
    version: '0.1',
    dialect: v0_1(),
    states: CORE,
    send: (fetch, text, id) => call(fetch, 'tasks/send', params(text, id)),
    get: (fetch, id) => call(fetch, 'tasks/get', { id }),
    cancel: (fetch, id) => call(fetch, 'tasks/cancel', { id }),
    stream: (fetch, text) => streamOf(fetch, 'tasks/sendSubscribe', params(text, randomUUID())),
    choosesIds: true,
    answers: true,
  }
}

function ofKaos(): Peer {
  const call = rpcOf()
  const params = (text: string, taskId: string): object => ({
    message: { role: 'user', parts: [{ type: 'text', text }], ...(taskId && { taskId }) },
  })
  return {
    version: 'kaos',
    dialect: kaos(),
    states: CORE,
    send: (fetch, text, taskId) => call(fetch, 'SendMessage', params(text, taskId)),
    get: (fetch, id) => call(fetch, 'GetTask', { id }),
    cancel: (fetch, id) => call(fetch, 'CancelTask', { id }),
    answers: true,
  }
}

function ofCorvid(): Peer {
  const call = async (fetch: Fetch, path: string, body?: object): Promise<Seen> =>
    // Both routes answer with the task.
    (await (await request(fetch, path, body)).json()) as Seen
  const get = (fetch: Fetch, id: string): Promise<Seen> => call(fetch, `/a2a/tasks/${id}`)
  return {
    version: 'corvid',
    dialect: corvid(),
    states: CORE,
    async send(fetch, text) {
      const { id } = await call(fetch, '/a2a/tasks/send', { params: { message: text } })
      // Its clients poll.
      for (;;) {
        const task = await get(fetch, id)
        if (task.state === 'completed' || task.state === 'failed') return task
      }
    },
    get,
  }
}

function ofLitellm(): Peer {
  const call = rpcOf()
  const task = (text: string, id: string): object => ({ id, input: { instruction: text } })
  return {
    version: 'litellm',
    dialect: litellm(),
    states: { done: 'completed', asked: 'input_required', canceled: 'cancelled' },
    send: (fetch, text, id) => call(fetch, 'task_send', task(text, id)),
    get: (fetch, id) => call(fetch, 'task_get', { task_id: id }),
    cancel: async (fetch, id) => {
      await request(fetch, '/', { jsonrpc: '2.0', id: 1, method: 'task_cancel', params: { task_id: id } })
      return await call(fetch, 'task_get', { task_id: id })
    },
    stream: (fetch, text) => streamOf(fetch, 'task_send_subscribe', task(text, randomUUID())),
    choosesIds: true,
    answers: true,
  }
}

export const PEERS: readonly Peer[] = [ofV1(), ofV03(), ofV01(), ofKaos(), ofCorvid(), ofLitellm()]
