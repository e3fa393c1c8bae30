/** Telemetry with failing propagators, agents and callers. */
import * as otel from '@opentelemetry/api'
import { describe, expect, it } from 'vitest'
import { TaskManager } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import {
  instrumentClient,
  instrumentFetch,
  instrumentHandler,
  instrumentTasks,
  type OpenTelemetryApi,
} from 'a2a-tasks/telemetry'
import { createRequestHandler } from 'a2a-tasks/server'
import { fakeAgent } from 'a2a-tasks/testing'
import { A2AGateway } from '../../src/gateway/index.js'
import { sdk } from './support/sdk.js'

/** The API, with a propagator that writes these. */
function writing(headers: Readonly<Record<string, unknown>>): OpenTelemetryApi {
  const { trace, metrics, context, propagation } = otel
  const inject = (_: unknown, carrier: object): unknown => Object.assign(carrier, headers)
  return { trace, metrics, context, propagation: { inject, extract: propagation.extract.bind(propagation) } }
}

/** The headers that a call is sent with. */
async function sentWith(
  written: Readonly<Record<string, unknown>>,
  headers: Record<string, string> = {},
): Promise<Headers | undefined> {
  sdk()
  const agent = fakeAgent('Hello')
  const raw = new A2AClient({
    card: agent.card,
    fetch: agent.fetch,
    headers: { authorization: 'Bearer mine' },
  })
  await instrumentClient(raw, { api: writing(written) }).send('Hi', { headers })
  return agent.requests[0]?.headers
}

describe('of what a propagator writes', () => {
  it.each([
    ['a line break', { tracestate: 'a=b\r\nx-evil: 1' }],
    ['what is not Latin', { tracestate: 'ключ=1' }],
    ['a name that is none', { 'bad name': '1' }],
    ['no text', { tracestate: 5, baggage: undefined }],
    ['too much', { tracestate: 'x'.repeat(200_000) }],
    ['too much in all', { baggage: 'x'.repeat(8_192), tracestate: 'x'.repeat(8_192) }],
  ])('%s is not sent, and breaks no call', async (_, written) => {
    const headers = await sentWith({ ...written, traceparent: 'right' })
    expect(headers?.get('traceparent')).toBe('right')
    expect(JSON.stringify([...(headers ?? [])]).length).toBeLessThan(10_000)
    expect(headers?.get('tracestate')).toBeNull()
  })

  it('nothing overwrites headers of the user or the client', async () => {
    const written = {
      Authorization: 'stolen',
      'content-type': 'text/plain',
      baggage: 'theirs',
      traceparent: 'new',
    }
    const headers = await sentWith(written, { Baggage: 'mine' })
    expect(headers?.get('authorization')).toBe('Bearer mine')
    expect(headers?.get('content-type')).toBe('application/json')
    expect(headers?.get('baggage')).toBe('mine')
    expect(headers?.get('traceparent')).toBe('new')
  })
})

describe('attributes', () => {
  const long = 'n'.repeat(1_000)

  it('of calls are no longer than 256 characters, whatever the agent calls itself and its tasks', async () => {
    const { spans, metrics } = sdk()
    const agent = fakeAgent('Hello')
    const card = { ...agent.card, name: long, version: long }
    const client = instrumentClient(new A2AClient({ card, fetch: agent.fetch }))
    await client.run({ parts: [{ text: 'Hi' }], contextId: 'c'.repeat(500) })
    const [span] = spans()
    expect(span?.name).toHaveLength(256)
    expect(span?.attributes).toMatchObject({
      'gen_ai.agent.name': long.slice(0, 256),
      'gen_ai.agent.version': long.slice(0, 256),
      'gen_ai.conversation.id': 'c'.repeat(256),
    })
    const { 'a2a.delegations': counted } = await metrics()
    expect(counted?.points[0]?.attributes['target']).toBe(long.slice(0, 256))
  })

  it('of tasks neither', () => {
    const { span } = sdk()
    const tasks = new TaskManager()
    const stop = instrumentTasks(tasks)
    tasks.createTask({ skill: 'x', contextId: 'c'.repeat(500) })
    stop()
    expect(span('a2a.task.execute').attributes['gen_ai.conversation.id']).toBe('c'.repeat(256))
  })
})

describe('a call with options that cannot be read', () => {
  const options = {
    get headers(): never {
      throw new Error('No headers')
    },
  }

  it('fails as without telemetry, and its span ends', async () => {
    const { spans } = sdk()
    const agent = fakeAgent('Hello')
    const client = instrumentClient(new A2AClient({ card: agent.card, fetch: agent.fetch }))
    await expect(client.send('Hi', options)).rejects.toThrow('No headers')
    await expect(client.stream('Hi', options).next()).rejects.toThrow('No headers')
    expect(spans().map(({ name }) => name)).toEqual(['SendMessage', 'SendStreamingMessage'])
  })

  it('that fails before there is a promise ends its span, too', () => {
    const { span } = sdk()
    const raw = new A2AClient({ card: fakeAgent('Hello').card })
    raw.getTask = () => {
      throw new Error('At once')
    }
    expect(() => instrumentClient(raw).getTask('t')).toThrow('At once')
    expect(span('GetTask').attributes['error.type']).toBe('Error')
  })
})

it('the error for a wrong argument says what to pass', () => {
  const gateway = new A2AGateway({ providers: {} })
  const handler = createRequestHandler({ card: { name: 'A', url: 'http://a.test' }, execute: () => 'Hi' })
  expect(() => instrumentTasks(gateway as never)).toThrow(
    /^"tasks" must be a TaskManager or a DurableTaskManager: pass gateway.tasks/,
  )
  // @ts-expect-error -- nothing
  expect(() => instrumentTasks(undefined)).toThrow(/^"tasks" must be a TaskManager or a DurableTaskManager$/)
  // @ts-expect-error -- a function
  expect(() => instrumentHandler(handler.fetch)).toThrow(/: pass the handler itself, not its fetch$/)
  // @ts-expect-error -- nothing
  expect(() => instrumentHandler(null)).toThrow(/^"handler" must be a handler of createRequestHandler$/)
  // @ts-expect-error -- options in place of a fetch
  expect(() => instrumentFetch({})).toThrow(/^"fetch" must be a function/)
})
