/** Tests of code that calls agents: what it does with an answer, a question, a refusal, a broken connection. */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { A2AClient, type A2AClientOptions } from 'a2a-tasks/client'
import { textOf } from 'a2a-tasks/server'
import { fakeAgent, ManualClock } from 'a2a-tasks/testing'

/** The code to be tested: what a user reads of the weather. */
async function weather(agent: A2AClient, city: string): Promise<string> {
  const result = await agent.run('Weather', { onInputRequired: () => city, timeoutMs: 60_000 })
  if (result.ok) return result.text
  if (result.type === 'failed') return `The agent says: ${result.text}`
  return result.type === 'timed-out' ? 'It takes too long' : 'Please try again later'
}

/** Pauses between attempts need not be waited for. */
function connect(agent: ReturnType<typeof fakeAgent>, options: A2AClientOptions = {}): Promise<A2AClient> {
  return A2AClient.connect(agent.url, { fetch: agent.fetch, retry: { baseDelayMs: 1 }, ...options })
}

// An answer is a text.
const simple = fakeAgent('It rains')
assert.equal(await weather(await connect(simple), 'Paris'), 'It rains')

// A question is a function, as an agent's own.
const asking = fakeAgent(async (run) => `Sun in ${textOf(await run.requireInput('Which city?'))}`)
assert.equal(await weather(await connect(asking), 'Rome'), 'Sun in Rome')
assert.deepEqual(
  asking.tasks.listTasks()[0]?.messages.map((message) => textOf(message)),
  ['Weather', 'Which city?', 'Rome'],
)

// A list is one step for each message: a refusal first, then an answer.
const moody = fakeAgent([(run) => run.fail('The station is closed'), 'It snows'])
assert.equal(await weather(await connect(moody), 'Oslo'), 'The agent says: The station is closed')
assert.equal(await weather(await connect(moody), 'Oslo'), 'It snows')

// An error is a connection that breaks. The message had not arrived, and is sent again.
const flaky = fakeAgent([new TypeError('fetch failed'), 'Fog'])
assert.equal(await weather(await connect(flaky), 'London'), 'Fog')
assert.equal(flaky.tasks.listTasks().length, 1)

// As the only step it breaks every time.
const gone = fakeAgent(new TypeError('fetch failed'))
assert.equal(await weather(await connect(gone), 'London'), 'Please try again later')

// A minute in no time: client and agent have the same clock.
const clock = new ManualClock()
const slow = fakeAgent((run) => new Promise(() => run.start()), { clock })
const waiting = weather(await connect(slow, { clock }), 'Lima')
await turn()
clock.advance(60_000)
assert.equal(await waiting, 'It takes too long')

// All versions and bindings, and what was asked of the agent.
for (const protocolVersions of [['1.0'], ['0.3']]) {
  for (const protocolBindings of [['JSONRPC'], ['HTTP+JSON']]) {
    const agent = fakeAgent('Wind')
    const client = await connect(agent, { protocolVersions, protocolBindings })
    assert.equal(await weather(client, 'Bonn'), 'Wind')
    const [, { url, headers } = new Request(agent.url)] = agent.requests
    console.log(`A2A ${headers.get('a2a-version')}: ${new URL(url).pathname}`)
  }
}
