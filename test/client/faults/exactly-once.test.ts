/** Runs of a client over a network that loses, delays, repeats and cuts: the agent has each message once. */
import { A2AClient } from 'a2a-tasks/client'
import type { Execute } from 'a2a-tasks/server'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { samples } from '../../support/samples.js'
import { MANAGERS, type Agents, type OpenAgents } from '../../server/schedule/support.js'
import { Random } from './random.js'

const FAULTS = ['lost', 'late', 'unanswered', 'cut', 'twice'] as const

/** A network to two replicas. */
class Network {
  readonly #agents: Agents
  readonly #random: Random
  readonly #deliveries: Promise<unknown>[] = []
  #faults: number

  constructor(agents: Agents, random: Random, faults: number) {
    this.#agents = agents
    this.#random = random
    this.#faults = faults
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const fault = this.#faults > 0 ? this.#random.pick(FAULTS) : undefined
    if (fault === undefined) return await this.#deliver(request)
    this.#faults -= 1
    const copy = request.clone()
    if (fault === 'late') this.#send(copy, this.#random.between(1, 500))
    if (fault === 'twice') this.#send(copy, this.#random.between(0, 3))
    if (fault === 'lost' || fault === 'late') throw new TypeError('fetch failed')
    const response = await this.#deliver(request)
    if (fault === 'twice') return response
    if (fault === 'cut') return cut(response, this.#random.between(0, 600))
    await response.body?.cancel()
    throw new TypeError('fetch failed')
  }

  /** Resolves when everything has arrived that is on its way. */
  async settle(): Promise<void> {
    await Promise.all(this.#deliveries)
  }

  #send(request: Request, turns: number): void {
    const deliver = async (): Promise<void> => {
      for (let left = turns; left > 0; left -= 1) await turn()
      const response = await this.#deliver(request)
      await response.body?.cancel()
    }
    this.#deliveries.push(deliver())
  }

  #deliver(request: Request): Promise<Response> {
    const { a, b } = this.#agents
    return this.#random.pick([a, b]).handler.fetch(request)
  }
}

/** The response, whose connection is lost after so many bytes. */
function cut(response: Response, bytes: number): Response {
  let left = bytes
  const cutting = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left))
      left -= chunk.length
      if (left < 0) controller.error(new TypeError('terminated'))
    },
  })
  return new Response(response.body?.pipeThrough(cutting) ?? null, response)
}

function clientOf(network: Network, random: Random): A2AClient {
  return new A2AClient({
    card: {
      name: 'Test',
      url: 'https://agent.test',
      version: '1',
      description: '',
      capabilities: { streaming: random.chance(0.7) },
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [],
      supportedInterfaces: [
        {
          url: 'https://agent.test',
          protocolBinding: random.pick(['JSONRPC', 'HTTP+JSON']),
          protocolVersion: '1.0',
        },
      ],
    },
    fetch: network.fetch,
    headers: { authorization: 'ada' },
    retry: { attempts: 8, baseDelayMs: 1, maxDelayMs: 4 },
    random: () => random.next(),
  })
}

/** Works in the way that the message names, and counts the messages that it reads. */
function worker(counts: Map<string, number>): Execute {
  const read = (messageId: string): unknown => counts.set(messageId, (counts.get(messageId) ?? 0) + 1)
  return async (run) => {
    read(run.message.messageId)
    if (run.text === 'reply') {
      await run.reply('Hello')
      return
    }
    run.start()
    const answers: string[] = []
    for (const question of run.text === 'ask' ? ['One?', 'Two?'] : []) {
      const { messageId, parts } = await run.requireInput(question)
      read(messageId)
      answers.push(parts[0]?.text ?? '')
    }
    await turn()
    return run.text === 'ask' ? answers.join() : 'done'
  }
}

const EXPECTED: Readonly<Record<string, object>> = {
  work: { type: 'completed', text: 'done' },
  ask: { type: 'completed', text: 'first,second' },
  reply: { type: 'message', text: 'Hello' },
}

async function play(open: OpenAgents, seed: number, ways: readonly string[]) {
  const random = new Random(seed)
  const counts = new Map<string, number>()
  const agents = await open(worker(counts))
  const network = new Network(agents, random, random.between(1, 6))
  const way = random.pick(ways)
  const answers = ['first', 'second']
  const result = await clientOf(network, random).run(
    { messageId: 'go', parts: [{ text: way }] },
    {
      pollIntervalMs: 1,
      onInputRequired: () => ({ messageId: answers[0] ?? '', parts: [{ text: answers.shift() ?? '' }] }),
    },
  )
  await network.settle()
  expect(result).toMatchObject(EXPECTED[way] ?? {})
  expect(agents.errors).toEqual([])
  const expected = way === 'ask' ? ['go', 'first', 'second'] : ['go']
  const tasks = await agents.tasks.listTasks()
  const fromUser = tasks.map(({ messages }) => messages.filter(({ role }) => role === 'user'))
  expect(fromUser.map((messages) => messages.map(({ messageId }) => messageId))).toEqual(
    way === 'reply' ? [] : [expected],
  )
  return { counts, once: new Map(expected.map((id) => [id, 1])) }
}

const seeds = Array.from({ length: samples(100) }, (_, index) => index + 1)
const [[, inMemory], [, inStore]] = MANAGERS

test.each(seeds)('an agent works on each message once (%i)', async (seed) => {
  const { counts, once } = await play(inMemory, seed, ['work', 'ask', 'reply'])
  expect(counts).toEqual(once)
})

// Two replicas may begin to work on a message at the same moment. One of them stores nothing of it.
test.each(seeds)('two replicas have each message once (%i)', async (seed) => {
  await play(inStore, seed, ['work', 'ask'])
})
