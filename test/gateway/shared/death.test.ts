/** Gateways over one store when the process dies that follows the task at its service. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { textOf } from 'a2a-tasks/client'
import { memoryStore, type DurableTaskManagerOptions } from 'a2a-tasks/durable'
import {
  a2a,
  A2AGateway,
  AgentRegistry,
  custom,
  gatewayRequestHandler,
  type AgentProvider,
} from 'a2a-tasks/gateway'
import { createRequestHandler } from 'a2a-tasks/server'
import { fakeAgent, type FakeAgent } from 'a2a-tasks/testing'
import {
  countOf,
  DONE,
  type Host,
  messagesTo,
  resultAt,
  stateOf,
  STORES,
  worker,
  world,
  type World,
} from '../../client/delegation/support/processes.js'

const inMemory = (now: () => number) => Promise.resolve(memoryStore({ now }))

interface Replica extends Host {
  readonly gateway: A2AGateway<Host['tasks']>
  readonly errors: unknown[]
}

interface ReplicaOptions {
  readonly manager?: Partial<DurableTaskManagerOptions>
  readonly provider?: AgentProvider
}

/** A process with a gateway that has the agent as `worker`. */
function replica(at: World, agent: FakeAgent, { manager, provider }: ReplicaOptions = {}): Replica {
  const host = at.host(manager)
  const { clock } = at
  const registry = new AgentRegistry({ clock })
  registry.register({ id: 'worker', provider: 'own', capabilities: ['work'], endpoint: { url: agent.url } })
  const own = provider ?? a2a({ fetch: host.fetch, clock, retry: { baseDelayMs: 1 } })
  const errors: unknown[] = []
  const onError = (error: unknown): unknown => errors.push(error)
  const handleSecret = 'the secret of every process in these tests'
  const providers = { own }
  const gateway = new A2AGateway({ registry, tasks: host.tasks, providers, clock, handleSecret, onError })
  return { ...host, gateway, errors }
}

const asker = (): FakeAgent =>
  fakeAgent(async (run) => `Rain in ${textOf(await run.requireInput('Which city?'))}`)

/** The id of the only task, which `a` has begun to send. */
async function begun(at: World, a: Replica, b: Host): Promise<string> {
  a.gateway.sendTask('worker', 'go').catch(() => undefined)
  await at.until(async () => (await b.tasks.size()) === 1)
  return (await b.tasks.listTasks())[0]?.id ?? ''
}

async function hasArtifact({ tasks }: Host, id: string): Promise<boolean> {
  return ((await tasks.peekTask(id))?.artifacts.length ?? 0) > 0
}

const isCanceledAt = (agent: FakeAgent) => (): boolean =>
  agent.tasks.listTasks({ state: 'canceled' }).length === 1

/** An agent that answers some requests with an error of JSON-RPC. */
function refusing(
  agent: FakeAgent,
  isRefused: (method: string, message: { readonly contextId?: string }) => boolean,
  code: number,
): FakeAgent {
  const fetch: FakeAgent['fetch'] = async (url, init) => {
    const body = typeof init?.body === 'string' ? init.body : '{}'
    const { id, method = '', params } = JSON.parse(body) as Refusable
    if (!isRefused(method, params?.message ?? {})) return await agent.fetch(url, init)
    return Response.json({ jsonrpc: '2.0', id, error: { code, message: 'Refused' } })
  }
  return { ...agent, url: agent.url, fetch }
}

interface Refusable {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly message?: { readonly contextId?: string } }
}

const withoutContexts = (agent: FakeAgent): FakeAgent =>
  refusing(agent, (method, { contextId }) => method.startsWith('Send') && contextId !== undefined, -32602)

const withoutLists = (agent: FakeAgent): FakeAgent =>
  refusing(agent, (method) => method === 'ListTasks', -32603)

describe.each(STORES)('the process of a gateway dies, over %s', (_, open) => {
  test('in the middle of the stream: another one follows the task to its end', async () => {
    const { agent, end, runs } = worker()
    const at = await world([agent], open)
    const [a, b] = [replica(at, agent), replica(at, agent)]
    const id = await begun(at, a, b)
    await at.until(() => hasArtifact(b, id))
    a.die()
    end()
    await at.until(async () => (await stateOf(b, id)) === 'completed')
    expect(await resultAt(b, id)).toEqual(DONE)
    expect(await messagesTo(agent)).toHaveLength(1)
    expect([runs(), b.gateway.loadOf('worker')]).toEqual([1, 0])
  })

  test('and a cancel at the other one reaches the agent', async () => {
    const { agent } = worker()
    const at = await world([agent], open)
    const [a, b] = [replica(at, agent), replica(at, agent)]
    const id = await begun(at, a, b)
    await at.until(() => hasArtifact(b, id))
    a.die()
    const canceled = b.gateway.cancelTask(id)
    await at.until(isCanceledAt(agent))
    expect((await canceled).state).toBe('canceled')
    // What finds the task at its service is kept until it is canceled there.
    await at.until(async () => (await b.tasks.documents.allDocuments('gateway', undefined, 10)).length === 0)
  })

  test('during a question: another one sends the answer, once', async () => {
    const agent = asker()
    const at = await world([agent], open)
    const [a, b] = [replica(at, agent), replica(at, agent)]
    const id = await begun(at, a, b)
    await at.until(async () => (await stateOf(b, id)) === 'input-required')
    a.die()
    let answered: unknown
    // Until its lease has expired, the dead process may count as one that works on the task.
    await at.until(() => {
      b.gateway.sendTask('worker', { taskId: id, parts: [{ text: 'Oslo' }] }).then(
        (task) => (answered = task),
        () => undefined,
      )
      return answered
    })
    expect(answered).toMatchObject({ state: 'completed', artifacts: [{ parts: [{ text: 'Rain in Oslo' }] }] })
    expect(await messagesTo(agent)).toHaveLength(2)
    expect(agent.tasks.size()).toBe(1)
  })
})

describe('the process of a gateway dies', () => {
  test.each(['die-before', 'die-after'] as const)(
    'while it sends the message (%s): another one finds its task or sends it, and it arrives once',
    async (fate) => {
      const { agent, end, runs } = worker()
      const at = await world([agent], inMemory)
      const [a, b] = [replica(at, agent), replica(at, agent)]
      a.on('SendStreamingMessage', fate)
      const id = await begun(at, a, b)
      end()
      await at.until(async () => (await stateOf(b, id)) === 'completed')
      expect(await resultAt(b, id)).toEqual(DONE)
      expect(await messagesTo(agent)).toHaveLength(1)
      expect(runs()).toBe(1)
      expect(b.errors).toEqual([])
    },
  )

  test.each([
    ['die-before', 0],
    ['die-after', 1],
  ] as const)(
    'while it sends the message (%s) to an agent that takes no context ids: the task fails, and nothing is sent twice',
    async (fate, sent) => {
      const { agent, end } = worker()
      const at = await world([withoutContexts(agent)], inMemory)
      const [a, b] = [replica(at, agent), replica(at, agent)]
      a.on('SendStreamingMessage', fate, ({ contextId }) => contextId === undefined)
      const id = await begun(at, a, b)
      end()
      await at.until(async () => (await stateOf(b, id)) === 'failed')
      expect((await b.tasks.peekTask(id))?.message).toMatchObject({
        parts: [{ text: 'The gateway stopped while the agent worked, and cannot follow the task' }],
        metadata: { code: 'PROVIDER_ERROR', retryable: false },
      })
      expect(await messagesTo(agent)).toHaveLength(sent)
      expect(String(b.errors[0])).toContain('it takes no context ids of clients')
    },
  )

  test.each([
    ['die-before', 0],
    ['die-after', 1],
  ] as const)(
    'while it sends the message (%s) to an agent that cannot list its tasks: the task fails, and nothing is sent twice',
    async (fate, sent) => {
      const { agent, end } = worker()
      const at = await world([withoutLists(agent)], inMemory)
      const [a, b] = [replica(at, agent), replica(at, agent)]
      a.on('SendStreamingMessage', fate)
      const id = await begun(at, a, b)
      end()
      await at.until(async () => (await stateOf(b, id)) === 'failed')
      expect(await messagesTo(agent)).toHaveLength(sent)
    },
  )

  test.each(['die-before', 'die-after'] as const)(
    'while it sends an answer (%s): another one finds it or sends it, and it arrives once',
    async (fate) => {
      const agent = asker()
      const at = await world([agent], inMemory)
      const [a, b] = [replica(at, agent), replica(at, agent)]
      const id = await begun(at, a, b)
      await at.until(async () => (await stateOf(b, id)) === 'input-required')
      await at.until(() => a.gateway.agentOf(id) === null)
      a.on('SendStreamingMessage', fate)
      a.gateway.sendTask('worker', { taskId: id, parts: [{ text: 'Oslo' }] }).catch(() => undefined)
      await at.until(async () => (await stateOf(b, id)) === 'completed')
      expect(await resultAt(b, id)).toEqual(['completed', ['Rain in Oslo']])
      expect(await messagesTo(agent)).toHaveLength(2)
    },
  )

  test.each(['die-before', 'die-after'] as const)(
    'while it continues a conversation (%s): another one finds the task in it, or sends the message, once',
    async (fate) => {
      const agent = fakeAgent((run) => `Received ${run.text}`)
      const at = await world([agent], inMemory)
      const [a, b] = [replica(at, agent), replica(at, agent)]
      const one = await begun(at, a, b)
      await at.until(async () => (await stateOf(b, one)) === 'completed')
      const contextId = (await b.tasks.peekTask(one))?.contextId ?? ''
      a.on('SendStreamingMessage', fate)
      a.gateway.sendTask('worker', { contextId, parts: [{ text: 'more' }] }).catch(() => undefined)
      const states = async () => (await b.tasks.listTasks()).map(({ state }) => state)
      await at.until(async () => (await states()).join() === 'completed,completed')
      expect(agent.tasks.listTasks().map((task) => task.contextId)).toHaveLength(2)
      expect(new Set(agent.tasks.listTasks().map((task) => task.contextId)).size).toBe(1)
      expect(await messagesTo(agent)).toHaveLength(2)
    },
  )

  test('and its service keeps no tasks: the task fails', async () => {
    const { agent } = worker()
    const at = await world([agent], inMemory)
    let runs = 0
    const provider = custom(async function* () {
      runs += 1
      yield { state: 'working', ref: { a: 1 } } as const
      await new Promise(() => undefined)
    })
    const [a, b] = [replica(at, agent, { provider }), replica(at, agent, { provider })]
    const id = await begun(at, a, b)
    await at.until(async () => (await stateOf(b, id)) === 'working')
    a.die()
    await at.until(async () => (await stateOf(b, id)) === 'failed')
    expect((await b.tasks.peekTask(id))?.message).toMatchObject({
      parts: [{ text: 'The gateway stopped while the agent worked, and cannot follow the task' }],
    })
    expect(runs).toBe(1)
  })

  test('and its manager recovers nothing: the task fails, and is canceled at the agent', async () => {
    const { agent } = worker()
    const at = await world([agent], inMemory)
    const manager = { recover: 'fail' } as const
    const [a, b] = [replica(at, agent, { manager }), replica(at, agent, { manager })]
    const id = await begun(at, a, b)
    await at.until(() => hasArtifact(b, id))
    a.die()
    await at.until(async () => (await stateOf(b, id)) === 'failed')
    await at.until(isCanceledAt(agent))
  })

  test('and a process without the agent leaves the task to one that has it', async () => {
    const { agent, end } = worker()
    const at = await world([agent], inMemory)
    const [a, b] = [replica(at, agent), replica(at, agent)]
    b.gateway.registry.unregister('worker')
    const id = await begun(at, a, b)
    await at.until(() => hasArtifact(b, id))
    a.die()
    end()
    const before = at.clock.now()
    await at.until(() => at.clock.now() > before + 90_000)
    expect(await stateOf(b, id)).toBe('working')
    const { url } = agent
    b.gateway.registry.register({ id: 'worker', provider: 'own', capabilities: ['work'], endpoint: { url } })
    await at.until(async () => (await stateOf(b, id)) === 'completed')
    expect(await messagesTo(agent)).toHaveLength(1)
  })
})

describe('two gateways over one store', () => {
  test('cancel through either, once', async () => {
    const { agent } = worker()
    const at = await world([agent], inMemory)
    const [a, b] = [replica(at, agent), replica(at, agent)]
    const id = await begun(at, a, b)
    await at.until(() => hasArtifact(b, id))
    void b.gateway.cancelTask(id)
    await at.until(isCanceledAt(agent))
    const before = at.clock.now()
    await at.until(() => at.clock.now() > before + 60_000)
    expect(await countOf(agent, 'CancelTask')).toBe(1)
  })

  test('cancel a task that waits, at the agent', async () => {
    const agent = asker()
    const at = await world([agent], inMemory)
    const [a, b] = [replica(at, agent), replica(at, agent)]
    const id = await begun(at, a, b)
    await at.until(async () => (await stateOf(b, id)) === 'input-required')
    await at.until(() => a.gateway.agentOf(id) === null)
    let canceled: unknown
    void b.gateway.cancelTask(id).then((task) => (canceled = task.state))
    await at.until(() => canceled)
    expect(isCanceledAt(agent)()).toBe(true)
  })

  test('hand over when the first closes, and the agent continues', async () => {
    const { agent, end } = worker()
    const at = await world([agent], inMemory)
    const [a, b] = [replica(at, agent), replica(at, agent)]
    const id = await begun(at, a, b)
    await at.until(() => hasArtifact(b, id))
    let isClosed = false
    void a.gateway.close({ graceMs: 0 }).then(() => (isClosed = true))
    await at.until(() => isClosed)
    expect(agent.tasks.listTasks().map(({ state }) => state)).toEqual(['working'])
    end()
    await at.until(async () => (await stateOf(b, id)) === 'completed')
    expect(await resultAt(b, id)).toEqual(DONE)
    expect(await messagesTo(agent)).toHaveLength(1)
  })

  test('do not answer one question twice', async () => {
    const agent = asker()
    const at = await world([agent], inMemory)
    const [a, b] = [replica(at, agent), replica(at, agent)]
    const id = await begun(at, a, b)
    await at.until(async () => (await stateOf(b, id)) === 'input-required')
    await at.until(() => a.gateway.agentOf(id) === null)
    const answer = { taskId: id, parts: [{ text: 'Oslo' }] }
    const calls = [a, a, b].map(({ gateway }) => gateway.sendTask('worker', answer))
    let results: PromiseSettledResult<unknown>[] | undefined
    void Promise.allSettled(calls).then((settled) => (results = settled))
    await at.until(() => results)
    expect(results?.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected'])
    expect(await messagesTo(agent)).toHaveLength(2)
  })

  test('follow the task of a handle once, whose gateway has another store', async () => {
    const { agent, end } = worker()
    const [before, at] = [await world([agent], inMemory), await world([agent], inMemory)]
    const old = replica(before, agent)
    const id = await begun(before, old, old)
    await before.until(() => hasArtifact(old, id))
    const handle = (await old.gateway.handleOf(id)) ?? ''
    old.die()
    const [a, b] = [replica(at, agent), replica(at, agent)]
    let ids: readonly string[] = []
    const resumed = [a, b].map(({ gateway }) => gateway.resume(handle))
    void Promise.all(resumed).then((tasks) => (ids = tasks.map((task) => task.id)))
    await at.until(() => ids.length > 0)
    expect(ids).toEqual([id, id])
    expect((await Promise.all([a, b].map(({ gateway }) => gateway.readAgentOf(id)))).join()).toBe(
      'worker,worker',
    )
    end()
    await at.until(async () => (await stateOf(b, id)) === 'completed')
    expect(await resultAt(b, id)).toEqual(DONE)
    expect(await b.tasks.size()).toBe(1)
    expect(await messagesTo(agent)).toHaveLength(1)
  })
})

describe('a process with a handler of a gateway dies', () => {
  interface Served extends Replica {
    readonly call: (method: string, params: object) => Promise<unknown>
  }

  function served(at: World, agent: FakeAgent): Served {
    const made = replica(at, agent)
    const handler = createRequestHandler({
      card: { name: 'Gateway', url: 'https://gateway.test' },
      tasks: made.tasks,
      execute: gatewayRequestHandler(made.gateway),
      clock: at.clock,
      onError: () => undefined,
    })
    const call = async (method: string, params: object): Promise<unknown> => {
      const response = await handler.fetch(
        new Request('https://gateway.test/', {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
        }),
      )
      return await response.json()
    }
    return { ...made, call }
  }

  const message = (text: string, taskId?: string): object => ({
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...(taskId && { taskId }) },
  })

  async function sent(at: World, a: Served, b: Host): Promise<string> {
    a.call('SendMessage', message('some work')).catch(() => undefined)
    await at.until(async () => (await b.tasks.size()) === 1)
    return (await b.tasks.listTasks())[0]?.id ?? ''
  }

  test('another one follows the task to its end', async () => {
    const { agent, end, runs } = worker()
    const at = await world([agent], inMemory)
    const [a, b] = [served(at, agent), served(at, agent)]
    const id = await sent(at, a, b)
    await at.until(() => hasArtifact(b, id))
    a.die()
    end()
    await at.until(async () => (await stateOf(b, id)) === 'completed')
    expect(await resultAt(b, id)).toEqual(DONE)
    expect(await messagesTo(agent)).toHaveLength(1)
    expect(runs()).toBe(1)
  })

  test('while it sends the message: another one follows the task of the agent', async () => {
    const { agent, end, runs } = worker()
    const at = await world([agent], inMemory)
    const [a, b] = [served(at, agent), served(at, agent)]
    a.on('SendStreamingMessage', 'die-after')
    const id = await sent(at, a, b)
    end()
    await at.until(async () => (await stateOf(b, id)) === 'completed')
    expect(await resultAt(b, id)).toEqual(DONE)
    expect(await messagesTo(agent)).toHaveLength(1)
    expect(runs()).toBe(1)
  })

  test('a cancel at another one reaches the agent', async () => {
    const { agent } = worker()
    const at = await world([agent], inMemory)
    const [a, b] = [served(at, agent), served(at, agent)]
    const id = await sent(at, a, b)
    await at.until(() => hasArtifact(b, id))
    a.die()
    void b.call('CancelTask', { id })
    await at.until(isCanceledAt(agent))
    expect(await stateOf(b, id)).toBe('canceled')
  })

  test('a question is answered at another one', async () => {
    const agent = asker()
    const at = await world([agent], inMemory)
    const [a, b] = [served(at, agent), served(at, agent)]
    const id = await sent(at, a, b)
    await at.until(async () => (await stateOf(b, id)) === 'input-required')
    a.die()
    void b.call('SendMessage', message('Oslo', id))
    await at.until(async () => (await stateOf(b, id)) === 'completed')
    expect(await resultAt(b, id)).toEqual(['completed', ['Rain in Oslo']])
    expect(await messagesTo(agent)).toHaveLength(2)
  })
})
