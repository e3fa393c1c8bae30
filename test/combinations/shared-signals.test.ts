/**
 * One signal for many calls, as a server passes that of a request or of its shutdown: each function that takes a signal
 * keeps at most one listener on it, and none after its call. The set-up of the tests fails on `MaxListenersExceededWarning`.
 */
import { TaskManager, feed } from 'a2a-tasks'
import { A2AClient, fetchAgentCard, invokeRemoteAgent, RemoteAgent } from 'a2a-tasks/client'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { a2a, A2AGateway, AgentRegistry } from 'a2a-tasks/gateway'
import { createRequestHandler } from 'a2a-tasks/server'
import { fakeAgent } from 'a2a-tasks/testing'
import { getEventListeners } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'

const CALLS = 50

type AnyManager = TaskManager | DurableTaskManager

/** What began with the signal, and ends after it has aborted. */
type Call = (signal: AbortSignal) => Promise<unknown>

/** An agent that works until its task is canceled. */
function working() {
  const agent = fakeAgent(async (run) => {
    run.start()
    await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
  })
  onTestFinished(() => agent.close())
  return agent
}

/** Reads to the end. */
async function read(entries: AsyncIterable<unknown>): Promise<void> {
  const iterator = entries[Symbol.asyncIterator]()
  while ((await iterator.next()).done !== true);
}

function ofClient(begin: (client: A2AClient, signal: AbortSignal) => Promise<unknown>): () => Call {
  return () => {
    const agent = working()
    const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
    return (signal) => begin(client, signal)
  }
}

async function ofManager(
  tasks: AnyManager,
  begin: (tasks: AnyManager, id: string, signal: AbortSignal) => unknown,
): Promise<Call> {
  onTestFinished(async () => {
    await tasks.destroy()
  })
  const { id } = await tasks.createTask({ skill: 'any' })
  return (signal) => Promise.resolve(begin(tasks, id, signal))
}

const FUNCTIONS: Record<string, () => Call | Promise<Call>> = {
  'A2AClient.run': ofClient((client, signal) => client.run('go', { signal })),
  'A2AClient.send': ofClient((client, signal) => client.send('go', { signal })),
  'A2AClient.stream': ofClient((client, signal) => read(client.stream('go', { signal }))),
  'A2AClient.connect': () => {
    const { url, fetch } = working()
    return (signal) => A2AClient.connect(url, { fetch, signal })
  },
  fetchAgentCard: () => {
    const { url, fetch } = working()
    return (signal) => fetchAgentCard(url, { fetch, signal, cache: false })
  },
  invokeRemoteAgent: () => {
    const { url, fetch } = working()
    return (signal) => invokeRemoteAgent(url, 'go', { fetch, signal, protocol: 'auto' })
  },
  'RemoteAgent.processMessage': () => {
    const { url, fetch } = working()
    const agent = new RemoteAgent({ name: 'a', cardUrl: url, fetch })
    return (signal) => agent.processMessage([{ role: 'user', content: 'go' }], { signal })
  },
  'A2AClient.run with a taskManager': () => {
    const agent = working()
    const client = new A2AClient({ card: agent.card, fetch: agent.fetch, taskManager: new TaskManager() })
    return (signal) => client.run('go', { signal })
  },
  'A2AGateway.sendTask': () => {
    const { url, fetch } = working()
    const registry = new AgentRegistry()
    registry.register({ id: 'a', provider: 'remote', capabilities: ['any'], endpoint: { url } })
    const gateway = new A2AGateway({ registry, providers: { remote: a2a({ fetch }) } })
    onTestFinished(() => gateway.close())
    return (signal) => gateway.sendTask('a', { parts: [{ text: 'go' }] }, { signal })
  },
  'RequestHandler.dispatch': () => {
    const handler = createRequestHandler({
      card: { name: 'A', url: 'https://agent.test' },
      anonymous: 'shared',
      execute: async (run) => {
        run.start()
        await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
      },
    })
    onTestFinished(() => handler.close({ graceMs: 0 }))
    return async (signal) => {
      const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'go' }] }
      const body = { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } }
      const answer = await handler.dispatch(body, { signal })
      if (Symbol.asyncIterator in answer) await read(answer)
    }
  },
}

const MANAGERS = {
  TaskManager: () => new TaskManager({ feedSize: 100 }),
  DurableTaskManager: () => new DurableTaskManager({ store: memoryStore({ feedSize: 100 }) }),
}

for (const [name, open] of Object.entries(MANAGERS)) {
  const over = (begin: Parameters<typeof ofManager>[1]): Promise<Call> => ofManager(open(), begin)
  FUNCTIONS[`${name}.waitFor`] = () => over((tasks, id, signal) => tasks.waitFor(id, { signal }))
  FUNCTIONS[`${name}.subscribe`] = () => over((tasks, id, signal) => read(tasks.subscribe(id, { signal })))
  FUNCTIONS[`${name}.feed`] = () => over((tasks, _, signal) => read(feed(tasks, { signal })))
}

describe.each(Object.entries(FUNCTIONS))('%s', (_, make) => {
  test(`keeps one listener for ${CALLS} calls with one signal`, async () => {
    const call = await make()
    const controller = new AbortController()
    const { signal } = controller
    const counts: number[] = []
    const add = signal.addEventListener.bind(signal)
    signal.addEventListener = (...given: Parameters<typeof add>) => {
      add(...given)
      counts.push(getEventListeners(signal, 'abort').length)
    }
    const calls = Array.from({ length: CALLS }, () => call(signal).catch(() => undefined))
    await expect.poll(() => counts.length).toBeGreaterThan(0)
    controller.abort()
    await Promise.all(calls)
    expect(Math.max(...counts)).toBe(1)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})
