/** A client and an agent in memory: every operation, both versions, both bindings. */
import { describe, expect, it } from 'vitest'
import { A2AClient } from '../../src/client/index.js'
import { fakeAgent } from '../../src/testing/index.js'

const WAYS = [
  ['1.0', 'JSONRPC'],
  ['1.0', 'HTTP+JSON'],
  ['0.3', 'JSONRPC'],
  ['0.3', 'HTTP+JSON'],
] as const

describe.each(WAYS)('A2A %s over %s', (version, binding) => {
  const ways = { protocolVersions: [version], protocolBindings: [binding] }

  it('sends and gets', async () => {
    const agent = fakeAgent((run) => `You said: ${run.text}`)
    const client = new A2AClient({ card: agent.card, fetch: agent.fetch, ...ways })
    const sent = await client.send('hello')
    expect(sent).toMatchObject({ type: 'task', task: { state: 'completed' } })
    if (sent.type !== 'task') throw new Error('no task')
    expect(sent.task.artifacts[0]?.parts).toEqual([{ text: 'You said: hello' }])
    expect(await client.getTask(sent.task.id)).toEqual(sent.task)
  })

  it('streams', async () => {
    const agent = fakeAgent(async function* () {
      await Promise.resolve()
      yield 'a'
      yield 'b'
    })
    const client = new A2AClient({ card: agent.card, fetch: agent.fetch, ...ways })
    const types: string[] = []
    for await (const event of client.stream('hello')) types.push(event.type)
    expect(types).toEqual(['task', 'status', 'artifact', 'artifact', 'status'])
  })

  it('runs', async () => {
    const agent = fakeAgent(async (run) => {
      const answer = await run.requireInput('Which city?')
      return `Weather in ${answer.parts[0]?.text}`
    })
    const client = new A2AClient({ card: agent.card, fetch: agent.fetch, ...ways })
    const result = await client.run('weather', { onInputRequired: () => 'Berlin' })
    expect(result).toMatchObject({ ok: true, type: 'completed', text: 'Weather in Berlin' })
  })
})

describe('a webhook that comes with a message', () => {
  const pushConfig = { url: 'https://hook.example' }

  it.each<[string, (client: A2AClient) => Promise<unknown>]>([
    ['send', (client) => client.send('hello', { pushConfig })],
    ['stream', (client) => client.stream('hello', { pushConfig }).next()],
    [
      'run',
      async (client) => {
        const result = await client.run('hello', { pushConfig })
        expect(result).toMatchObject({ ok: false, type: 'error' })
        throw result.type === 'error' ? result.error : new Error(result.type)
      },
    ],
  ])('is refused before anything is sent where the card declares none: %s', async (_, send) => {
    const { card, fetch } = fakeAgent((run) => `You said: ${run.text}`)
    let requests = 0
    const client = new A2AClient({
      card,
      fetch: (url, init) => {
        requests += 1
        return fetch(url, init)
      },
    })
    await expect(send(client)).rejects.toMatchObject({ code: 'PUSH_NOTIFICATION_NOT_SUPPORTED' })
    expect(requests).toBe(0)
    await client.send('hello', { pushConfig: undefined })
    expect(requests).toBe(1)
  })
})
