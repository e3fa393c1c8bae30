/** Processes that share a store and delegate to agents, and that can die at any request. */
import { setImmediate as turn } from 'node:timers/promises'
import type { A2AClientOptions } from 'a2a-tasks/client'
import { A2AClient } from 'a2a-tasks/client'
import {
  DurableTaskManager,
  memoryStore,
  type DurableTaskManagerOptions,
  type TaskStore,
} from 'a2a-tasks/durable'
import { fakeAgent, ManualClock, type FakeAgent } from 'a2a-tasks/testing'
import { onTestFinished } from 'vitest'
// The client loads it when it first needs it, which no fake clock waits for.
import '../../../../src/client/delegation/kept-tasks.js'
import { openForTest } from '../../../stores/sqlite/support/sqlite.js'

type Open = (now: () => number) => Promise<TaskStore>

/** Stores, by their names. */
export const STORES: readonly [name: string, open: Open][] = [
  ['memoryStore', (now) => Promise.resolve(memoryStore({ now }))],
  ['SQLite', (now) => openForTest({ now })],
]

/** What happens to a request of a process: it dies before the agent receives it, or before it receives the response. */
export type Fate = 'die-before' | 'die-after' | undefined

type IsMeant = (message: { readonly contextId?: string }) => boolean

interface Body {
  readonly method?: string
  readonly params?: { readonly message?: { readonly contextId?: string } }
}

export interface Host {
  readonly tasks: DurableTaskManager
  /** Reaches the agents. */
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>
  /** From now on the process stores, sends and receives nothing. */
  readonly die: () => void
  /** Decides the fate of requests by the method of JSON-RPC, and by their messages. */
  readonly on: (method: string, fate: Fate, isMeant?: IsMeant) => void
}

export interface Process extends Host {
  readonly client: A2AClient
}

export interface World {
  readonly clock: ManualClock
  /** A process without a client. */
  readonly host: (manager?: Partial<DurableTaskManagerOptions>) => Host
  readonly process: (
    options?: Partial<A2AClientOptions>,
    manager?: Partial<DurableTaskManagerOptions>,
  ) => Process
  /** Lets time pass until the condition holds. */
  readonly until: (condition: () => unknown) => Promise<void>
}

const never = new Promise<never>(() => undefined)

export async function world(agents: readonly FakeAgent[], open: Open): Promise<World> {
  const clock = new ManualClock()
  const store = await open(() => clock.now())
  /** Requests that agents have not answered. */
  let requests = 0
  const until = async (condition: () => unknown): Promise<void> => {
    for (let step = 0; step < 20_000; step += 1) {
      if (await condition()) return
      clock.advance(250)
      // Agents answer in real time.
      do for (let turns = 0; turns < 10; turns += 1) await turn()
      while (requests > 0)
    }
    throw new Error('The condition never holds')
  }
  const host = (manager: Partial<DurableTaskManagerOptions> = {}): Host => {
    let isDead = false
    const fates = new Map<string, { readonly fate: Fate; readonly isMeant: IsMeant }>()
    const mortal = new Proxy(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        return (...args: unknown[]): unknown => (isDead ? never : Reflect.apply(member, target, args))
      },
    })
    const fetch = async (url: string, init?: RequestInit): Promise<Response> => {
      const body = typeof init?.body === 'string' ? (JSON.parse(init.body) as Body) : {}
      const given = fates.get(body.method ?? 'card')
      const fate = given?.isMeant(body.params?.message ?? {}) === true ? given.fate : undefined
      if (fate === 'die-before') isDead = true
      if (isDead) return await never
      const agent = agents.find((each) => url.startsWith(each.url))
      if (agent === undefined) throw new TypeError('fetch failed')
      requests += 1
      const response = await agent.fetch(url, init).finally(() => (requests -= 1))
      if (fate === 'die-after') isDead = true
      return isDead ? await never : response
    }
    const tasks = new DurableTaskManager({
      store: mortal,
      clock,
      recover: 'resume',
      onError: () => undefined,
      ...manager,
    })
    const on: Host['on'] = (method, fate, isMeant = () => true) => void fates.set(method, { fate, isMeant })
    onTestFinished(() => void tasks.destroy().catch(() => undefined))
    return { tasks, fetch, die: () => (isDead = true), on }
  }
  const process = (
    options: Partial<A2AClientOptions> = {},
    manager: Partial<DurableTaskManagerOptions> = {},
  ): Process => {
    const begun = host(manager)
    const { tasks: taskManager, fetch } = begun
    const client = new A2AClient({ taskManager, fetch, clock, retry: { baseDelayMs: 1 }, ...options })
    return { ...begun, client }
  }
  return { clock, host, process, until }
}

/** The ids of all messages that an agent received, as often as it received them. */
export async function messagesTo({ requests }: FakeAgent): Promise<string[]> {
  const bodies = await Promise.all(requests.map((request) => request.clone().text()))
  return bodies.flatMap((body) => {
    const { method = '', params } = (body === '' ? {} : JSON.parse(body)) as {
      method?: string
      params?: { message?: { messageId: string } }
    }
    return /^Send/.test(method) && params?.message ? [params.message.messageId] : []
  })
}

/** How often an agent received a request with this method. */
export async function countOf({ requests }: FakeAgent, method: string): Promise<number> {
  const bodies = await Promise.all(requests.map((request) => request.clone().text()))
  return bodies.filter((body) => body.includes(`"method":"${method}"`)).length
}

/** An agent that works until it is told to end, and counts its runs. */
export function worker(): { agent: FakeAgent; end: () => void; runs: () => number } {
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => (end = resolve))
  let runs = 0
  const agent = fakeAgent(async function* (run) {
    runs += 1
    yield 'first '
    await Promise.race([ended, new Promise((resolve) => run.signal.addEventListener('abort', resolve))])
    yield 'second'
  })
  return { agent, end, runs: () => runs }
}

export async function stateOf({ tasks }: Host, id: string): Promise<string | undefined> {
  return (await tasks.peekTask(id))?.state
}

export async function resultAt({ tasks }: Host, id: string): Promise<unknown> {
  const task = await tasks.peekTask(id)
  return [
    task?.state,
    task?.artifacts.map((artifact) => (artifact.parts ?? []).map((part) => part.text).join('')),
  ]
}

/** What `resultAt` returns for a task that a worker has done. */
export const DONE = ['completed', ['first second']]
