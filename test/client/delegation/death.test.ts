/** Delegation over a shared store when the process that follows the agent's task dies. */
import { describe, expect, test } from 'vitest'
import { textOf } from 'a2a-tasks/client'
import { memoryStore } from 'a2a-tasks/durable'
import { fakeAgent } from 'a2a-tasks/testing'
import {
  countOf,
  DONE,
  messagesTo,
  type Process,
  resultAt,
  stateOf,
  STORES,
  worker,
  world,
  type World,
} from './support/processes.js'

/** A task that process `a` has begun to send. */
async function begun(at: World, a: Process, url: string): Promise<string> {
  const { id } = await a.tasks.createTask({ skill: 'work', input: 'go' })
  void a.client.sendTask(url, id).catch(() => undefined)
  return id
}

describe.each(STORES)('a process dies, over %s', (_, open) => {
  test('before it sends the message: another one sends it', async () => {
    const { agent, end, runs } = worker()
    const at = await world([agent], open)
    const [a, b] = [at.process(), at.process()]
    a.on('SendStreamingMessage', 'die-before')
    const id = await begun(at, a, agent.url)
    end()
    await at.until(async () => (await stateOf(b, id)) === 'completed')
    expect(await resultAt(b, id)).toEqual(DONE)
    expect(await messagesTo(agent)).toHaveLength(1)
    expect(runs()).toBe(1)
  })

  test('before it receives the response: another one finds the task and follows it', async () => {
    const { agent, end, runs } = worker()
    const at = await world([agent], open)
    const [a, b] = [at.process(), at.process()]
    a.on('SendStreamingMessage', 'die-after')
    const id = await begun(at, a, agent.url)
    await at.until(async () => (await stateOf(b, id)) === 'working')
    end()
    await at.until(async () => (await stateOf(b, id)) === 'completed')
    expect(await resultAt(b, id)).toEqual(DONE)
    expect(await messagesTo(agent)).toHaveLength(1)
    expect(runs()).toBe(1)
  })

  test('in the middle of the stream: another one follows the task to its end', async () => {
    const { agent, end, runs } = worker()
    const at = await world([agent], open)
    const [a, b] = [at.process(), at.process()]
    const id = await begun(at, a, agent.url)
    await at.until(async () => ((await b.tasks.peekTask(id))?.artifacts.length ?? 0) > 0)
    a.die()
    end()
    await at.until(async () => (await stateOf(b, id)) === 'completed')
    expect(await resultAt(b, id)).toEqual(DONE)
    expect(await messagesTo(agent)).toHaveLength(1)
    expect(runs()).toBe(1)
  })

  test('while the user cancels: another one cancels the task of the agent', async () => {
    const { agent } = worker()
    const at = await world([agent], open)
    const [a, b] = [at.process(), at.process()]
    a.on('CancelTask', 'die-before')
    const id = await begun(at, a, agent.url)
    await at.until(() => agent.tasks.listTasks({ state: 'working' }).length === 1)
    await b.tasks.cancelTask(id)
    await at.until(() => agent.tasks.listTasks({ state: 'canceled' }).length === 1)
    expect(await stateOf(b, id)).toBe('canceled')
  })

  test('during a question: another one sends the answer', async () => {
    const agent = fakeAgent(async (run) => `Rain in ${textOf(await run.requireInput('Which city?'))}`)
    const at = await world([agent], open)
    const [a, b] = [at.process(), at.process()]
    const id = await begun(at, a, agent.url)
    await at.until(async () => (await stateOf(b, id)) === 'input-required')
    a.die()
    await b.tasks.addMessage(id, { role: 'user', parts: [{ text: 'Oslo' }] })
    let result: unknown
    // Until its lease has expired, the dead process counts as one that works on the task.
    await at.until(() => {
      void b.client.sendTask(agent.url, id).then(
        (ended) => (result = ended),
        () => undefined,
      )
      return result
    })
    expect(result).toMatchObject({ type: 'completed', text: 'Rain in Oslo' })
    expect(await stateOf(b, id)).toBe('completed')
    expect(agent.tasks.size()).toBe(1)
    expect(await messagesTo(agent)).toHaveLength(2)
  })
})

describe('a process dies', () => {
  const open = (now: () => number) => Promise.resolve(memoryStore({ now }))

  test.each(['die-before', 'die-after'] as const)(
    'with an answer of the user (%s): the answer reaches the agent once',
    async (fate) => {
      const agent = fakeAgent(async (run) => `Rain in ${textOf(await run.requireInput('Which city?'))}`)
      const at = await world([agent], open)
      const [a, b] = [at.process(), at.process()]
      const { id } = await a.tasks.createTask({ skill: 'weather' })
      void a.client.sendTask(agent.url, id)
      await at.until(async () => (await stateOf(b, id)) === 'input-required')
      await a.tasks.addMessage(id, { role: 'user', parts: [{ text: 'Oslo' }] })
      a.on('SendStreamingMessage', fate)
      let isSent = false
      await at.until(() => {
        a.client.sendTask(agent.url, id).catch(() => (isSent ||= false))
        return (isSent = true)
      })
      await at.until(async () => (await stateOf(b, id)) === 'completed')
      expect(agent.tasks.listTasks().map(({ artifacts }) => artifacts[0]?.parts)).toEqual([
        [{ text: 'Rain in Oslo' }],
      ])
      expect(await messagesTo(agent)).toHaveLength(2)
    },
  )

  test('and the agent with its name is followed by a process that knows the name', async () => {
    const { agent, end } = worker()
    const at = await world([agent], open)
    const named = { agents: { analyst: agent.url } }
    const [a, stranger] = [at.process(named), at.process()]
    const { id } = await a.tasks.createTask({ skill: 'work' })
    void a.client.sendTask('analyst', id)
    await at.until(async () => (await stateOf(stranger, id)) === 'working')
    a.die()
    end()
    const before = at.clock.now()
    await at.until(() => at.clock.now() > before + 60_000)
    expect(await stateOf(stranger, id)).toBe('working')
    const b = at.process(named)
    await at.until(async () => (await stateOf(b, id)) === 'completed')
    expect(await messagesTo(agent)).toHaveLength(1)
  })

  test('before it can cancel at an agent that knows nothing of the task: nothing is sent', async () => {
    const { agent, runs } = worker()
    const at = await world([agent], open)
    const [a, b] = [at.process(), at.process()]
    a.on('SendStreamingMessage', 'die-before')
    const id = await begun(at, a, agent.url)
    await at.until(async () => (await b.tasks.documents.allDocuments('delegation', undefined, 10)).length > 0)
    await b.tasks.cancelTask(id)
    const before = at.clock.now()
    await at.until(() => at.clock.now() > before + 120_000)
    expect(runs()).toBe(0)
    expect(await messagesTo(agent)).toEqual([])
  })

  test.each([
    [401, 'https://agent.test/ requires valid credentials (HTTP 401)'],
    [410, 'A2A: https://agent.test/ answered HTTP 410: Gone for good'],
  ])(
    'and the agent refuses the next one with %d: the task fails at once, with the reason',
    async (status, reason) => {
      const { agent } = worker()
      let refuses = false
      const fetch: typeof agent.fetch = (url, init) => {
        if (!refuses || url.includes('.well-known')) return agent.fetch(url, init)
        return Promise.resolve(Response.json({ message: 'Gone for good' }, { status }))
      }
      const at = await world([{ ...agent, fetch }], open)
      const [a, b] = [at.process(), at.process()]
      const id = await begun(at, a, agent.url)
      await at.until(async () => ((await b.tasks.peekTask(id))?.artifacts.length ?? 0) > 0)
      a.die()
      refuses = true
      const since = at.clock.now()
      await at.until(async () => (await stateOf(b, id)) === 'failed')
      expect(await b.tasks.peekTask(id)).toMatchObject({ message: reason })
      // After the lease of the process has expired.
      expect(at.clock.now() - since).toBeLessThan(60_000)
    },
  )

  test('and its manager that recovers nothing fails the task', async () => {
    const { agent } = worker()
    const at = await world([agent], open)
    const fails = { recover: 'fail' } as const
    const [a, b] = [at.process({}, fails), at.process({}, fails)]
    const id = await begun(at, a, agent.url)
    await at.until(async () => (await stateOf(b, id)) === 'working')
    a.die()
    await at.until(async () => (await stateOf(b, id)) === 'failed')
    // The task of the agent is not left at work.
    await at.until(() => agent.tasks.listTasks({ state: 'canceled' }).length === 1)
  })
})

describe('two processes', () => {
  const open = (now: () => number) => Promise.resolve(memoryStore({ now }))

  test('do not delegate one task twice', async () => {
    const { agent, end } = worker()
    const at = await world([agent], open)
    const [a, b] = [at.process(), at.process()]
    const { id } = await a.tasks.createTask({ skill: 'work' })
    const first = a.client.sendTask(agent.url, id)
    await at.until(async () => (await stateOf(b, id)) === 'working')
    await expect(b.client.sendTask(agent.url, id)).rejects.toMatchObject({ code: 'UNSUPPORTED_OPERATION' })
    end()
    expect(await first).toMatchObject({ type: 'completed' })
    expect(await countOf(agent, 'SendStreamingMessage')).toBe(1)
  })

  test('cancel through either', async () => {
    const { agent } = worker()
    const at = await world([agent], open)
    const [a, b] = [at.process(), at.process()]
    const { id } = await a.tasks.createTask({ skill: 'work' })
    let result: unknown
    void a.client.sendTask(agent.url, id).then((ended) => (result = ended))
    await at.until(async () => (await stateOf(b, id)) === 'working')
    await b.tasks.cancelTask(id)
    await at.until(() => result)
    expect(result).toMatchObject({ type: 'canceled' })
    expect(agent.tasks.listTasks().map(({ state }) => state)).toEqual(['canceled'])
    expect(await a.tasks.documents.allDocuments('delegation', undefined, 10)).toEqual([])
  })

  test('hand over when the first closes its manager, and the agent continues', async () => {
    const { agent, end } = worker()
    const at = await world([agent], open)
    const [a, b] = [at.process(), at.process()]
    const { id } = await a.tasks.createTask({ skill: 'work' })
    let result: unknown
    void a.client.sendTask(agent.url, id).then((ended) => (result = ended))
    await at.until(async () => (await stateOf(b, id)) === 'working')
    void a.tasks.destroy()
    await at.until(() => result)
    expect(result).toMatchObject({ type: 'aborted' })
    expect(agent.tasks.listTasks().map(({ state }) => state)).toEqual(['working'])
    end()
    await at.until(async () => (await stateOf(b, id)) === 'completed')
    expect(await messagesTo(agent)).toHaveLength(1)
  })
})
