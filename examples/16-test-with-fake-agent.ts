/** Tests code that calls agents, with answers, questions, failures and broken connections. */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { A2AClient, textOf, type A2AClientOptions } from 'a2a-tasks/client'
import { fakeAgent, ManualClock } from 'a2a-tasks/testing'

/** The code under test: it returns the text that the user reads. */
async function weather(agent: A2AClient, city: string): Promise<string> {
  const result = await agent.run('Weather', { onInputRequired: () => city, timeoutMs: 60_000 })
  if (result.ok) return result.text
  if (result.type === 'failed') return `The agent says: ${result.text}`
  return result.type === 'timed-out' ? 'It takes too long' : 'Please try again later'
}

/** Connects with short pauses between attempts. */
function connect(agent: ReturnType<typeof fakeAgent>, options: A2AClientOptions = {}): Promise<A2AClient> {
  return A2AClient.connect(agent.url, { fetch: agent.fetch, retry: { baseDelayMs: 1 }, ...options })
}

// A text is the answer of the agent.
const simple = fakeAgent('It rains')
assert.equal(await weather(await connect(simple), 'Paris'), 'It rains')

// A function can ask a question, as in an agent.
const asking = fakeAgent(async (run) => `Sun in ${textOf(await run.requireInput('Which city?'))}`)
assert.equal(await weather(await connect(asking), 'Rome'), 'Sun in Rome')
assert.deepEqual(
  asking.tasks.listTasks()[0]?.messages.map((message) => textOf(message)),
  ['Weather', 'Which city?', 'Rome'],
)

// A list has one step for each message: a failure first, then an answer.
const moody = fakeAgent([(run) => run.fail('The station is closed'), 'It snows'])
assert.equal(await weather(await connect(moody), 'Oslo'), 'The agent says: The station is closed')
assert.equal(await weather(await connect(moody), 'Oslo'), 'It snows')

// An error is a broken connection: the message did not arrive, so the client sends it again.
const flaky = fakeAgent([new TypeError('fetch failed'), 'Fog'])
assert.equal(await weather(await connect(flaky), 'London'), 'Fog')
assert.equal(flaky.tasks.listTasks().length, 1)

// As the only step, the error breaks every connection.
const gone = fakeAgent(new TypeError('fetch failed'))
assert.equal(await weather(await connect(gone), 'London'), 'Please try again later')

// The client and the agent share a clock, so the timeout needs no waiting.
const clock = new ManualClock()
const slow = fakeAgent((run) => new Promise(() => run.start()), { clock })
const waiting = weather(await connect(slow, { clock }), 'Lima')
await turn()
clock.advance(60_000)
assert.equal(await waiting, 'It takes too long')

// Every version and binding, with the requests that the agent received.
for (const protocolVersions of [['1.0'], ['0.3']]) {
  for (const protocolBindings of [['JSONRPC'], ['HTTP+JSON']]) {
    const agent = fakeAgent('Wind')
    const client = await connect(agent, { protocolVersions, protocolBindings })
    assert.equal(await weather(client, 'Bonn'), 'Wind')
    const [, { url, headers } = new Request(agent.url)] = agent.requests
    console.log(`A2A ${headers.get('a2a-version')}: ${new URL(url).pathname}`)
  }
}
