/**
 * An inspector over an agent, and requests as its page sends them.
 *
 * @module
 */
import { TaskManager } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import type { DurableTaskManager } from 'a2a-tasks/durable'
import { createInspector, type InspectorOptions } from 'a2a-tasks/inspector'
import { createRequestHandler, type Execute, type RequestHandler } from 'a2a-tasks/server'
import { openTasks } from 'a2a-tasks/stores/sqlite'
import type { ManualClock } from 'a2a-tasks/testing'
import Database from 'libsql'
import { onTestFinished } from 'vitest'

export const MANAGERS = ['TaskManager', 'DurableTaskManager over SQLite'] as const

/** Shows all tasks to all callers. */
export const READ: Pick<InspectorOptions, 'authorize'> = { authorize: () => ({}) }

export const OPEN: Pick<InspectorOptions, 'authorize' | 'actions'> = { authorize: () => ({}), actions: true }

type AnyManager = TaskManager | DurableTaskManager
export type Agent = RequestHandler<{ id: string }, AnyManager>

/** An agent whose users are named by a header. It echoes, asks when it is told to, and fails when it is told to. */
export async function agentOver(name: (typeof MANAGERS)[number]): Promise<Agent> {
  const tasks = name === 'TaskManager' ? new TaskManager() : await openTasks(new Database(':memory:'))
  const handler = createRequestHandler<{ id: string }, AnyManager>({
    card: { name: 'Echo', url: 'http://agent.test', skills: [] },
    tasks,
    anonymous: 'shared',
    onError: () => undefined,
    retry: { attempts: 1 },
    recordStacks: true,
    async execute(run) {
      if (run.text === 'fail') throw new Error('it failed')
      if (run.text === 'wait') await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
      if (run.text !== 'ask') return `echo: ${run.text}`
      const answer = await run.requireInput('Which one?')
      return `chosen: ${answer.parts.map(({ text = '' }) => text).join('')}`
    },
  })
  onTestFinished(async () => {
    await handler.close({ graceMs: 0 })
    await tasks.destroy()
  })
  return handler
}

/** Sends a message, and gives its task once it has ended or waits. */
export async function talk(agent: Agent, text: string, returnImmediately = false): Promise<string> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] }
  const params = { message, configuration: { returnImmediately } }
  const response = await agent.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
  // The response of an agent of ours.
  return (response as unknown as { result: { task: { id: string } } }).result.task.id
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // Tests know what they ask for.
  readonly body: Record<string, never>
}

/** Requests to an inspector, with the headers of its page unless others are given. */
export class Page {
  readonly #fetch: (request: Request) => Promise<Response>

  constructor(options: InspectorOptions) {
    this.#fetch = createInspector({ hosts: ['host.test'], ...options }).fetch
  }

  async get(path: string, headers: Given = {}): Promise<Answer> {
    return toAnswer(await this.open(path, headers))
  }

  async post(path: string, body: unknown, headers: Given = {}): Promise<Answer> {
    const isRaw = typeof body === 'string' || body instanceof ReadableStream
    const all = present({ ...PAGE, 'content-type': 'application/json', ...headers })
    const init = {
      method: 'POST',
      body: isRaw ? body : JSON.stringify(body),
      headers: all,
      duplex: 'half' as const,
    }
    const request = new Request(`http://host.test/inspect/api/${path}`, init)
    return toAnswer(await this.#fetch(request))
  }

  open(path: string, headers: Given = {}, signal?: AbortSignal): Promise<Response> {
    return this.raw(`http://host.test/inspect/api/${path}`, {
      headers: present({ ...PAGE, ...headers }),
      signal: signal ?? null,
    })
  }

  raw(url: string, init?: RequestInit): Promise<Response> {
    return this.#fetch(new Request(url, init))
  }
}

const PAGE = { 'x-a2a-inspector': '1', 'sec-fetch-site': 'same-origin' }

/** Headers; those that are `undefined` are not sent. */
type Given = Readonly<Record<string, string | undefined>>

function present(headers: Given): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

async function toAnswer(response: Response): Promise<Answer> {
  const { status, headers } = response
  return { status, headers, body: (await response.json()) as Answer['body'] }
}

/** The entries of a stream, until it ends. */
export async function* entriesOf(response: Response): AsyncGenerator<Readonly<Record<string, unknown>>> {
  let rest = ''
  if (response.body === null) return
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      if (block.startsWith('data: ')) yield JSON.parse(block.slice(6)) as Record<string, unknown>
    }
  }
}

/** An agent, and the task of a message to it once it has ended or waits. */
export async function taskOf(
  execute: Execute,
  clock?: ManualClock,
): Promise<{ handler: RequestHandler; tasks: TaskManager; id: string }> {
  const handler = createRequestHandler({
    card: {
      name: 'Desk',
      url: 'http://agent.test',
      skills: [{ id: 'book', name: 'Book', description: 'Books', tags: ['x'] }],
    },
    anonymous: 'shared',
    onError: () => undefined,
    ...(clock !== undefined && { clock, tasks: new TaskManager({ clock }) }),
    execute,
  })
  onTestFinished(() => handler.close({ graceMs: 0 }))
  const client = new A2AClient({
    card: handler.card,
    fetch: (url, init) => handler.fetch(new Request(url, init)),
  })
  const sent = await client.send('go')
  return { handler, tasks: handler.tasks, id: sent.type === 'task' ? sent.task.id : '' }
}
