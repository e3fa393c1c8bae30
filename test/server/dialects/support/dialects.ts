import type { JsonObject } from 'a2a-tasks/schemas'
import { expect } from 'vitest'
import { get, post, SseReader, type Init, type Reachable, type SseEvent } from '../../spec/support/agent.js'

export interface Answered {
  readonly status: number
  readonly body: JsonObject
}

/** What the agent answers to a body at a path. */
export async function send(a: Reachable, path: string, body: unknown, init: Init = {}): Promise<Answered> {
  return answered(await a.handler.fetch(post(path, body, init)))
}

export async function fetched(a: Reachable, path: string, init: Init = {}): Promise<Answered> {
  return answered(await a.handler.fetch(get(path, init)))
}

async function answered(response: Response): Promise<Answered> {
  expect(response.headers.get('content-type')).toBe('application/json')
  return { status: response.status, body: (await response.json()) as JsonObject }
}

/** The answer to a method of JSON-RPC, whose HTTP status is 200. */
export async function call(
  a: Reachable,
  method: string,
  params?: unknown,
  init: Init = {},
): Promise<JsonObject> {
  const { status, body } = await send(a, '/', { jsonrpc: '2.0', id: 1, method, params }, init)
  expect(status).toBe(200)
  return body
}

export async function result(
  a: Reachable,
  method: string,
  params?: unknown,
  init: Init = {},
): Promise<JsonObject> {
  const answer = await call(a, method, params, init)
  expect(answer).toHaveProperty('result')
  return answer['result'] as JsonObject
}

/** What is wrong, as the dialect says it. */
export async function failure(
  a: Reachable,
  method: string,
  params?: unknown,
  init: Init = {},
): Promise<JsonObject> {
  const answer = await call(a, method, params, init)
  expect(answer).toHaveProperty('error')
  return answer['error'] as JsonObject
}

export interface Streamed {
  readonly id?: string
  readonly event?: string
  readonly body: JsonObject
}

export interface Listener {
  /** What comes next; `undefined` at the end. */
  readonly next: () => Promise<Streamed | undefined>
  /** The results of all that is still to come. */
  readonly results: () => Promise<JsonObject[]>
  readonly leave: () => Promise<void>
}

/** A stream that a method of JSON-RPC is answered with. */
export async function listen(
  a: Reachable,
  method: string,
  params: unknown,
  init: Init = {},
): Promise<Listener> {
  const response = await a.handler.fetch(post('/', { jsonrpc: '2.0', id: 1, method, params }, init))
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  const reader = new SseReader(response)
  const next = async (): Promise<Streamed | undefined> => {
    let event: SseEvent | undefined
    do event = await reader.next()
    while (event !== undefined && 'comment' in event)
    return event && { ...event, body: JSON.parse(event.data) as JsonObject }
  }
  return {
    next,
    async results() {
      const results: JsonObject[] = []
      for (let item = await next(); item !== undefined; item = await next()) {
        expect(item.body).toEqual({ jsonrpc: '2.0', id: 1, result: expect.any(Object) as unknown })
        results.push(item.body['result'] as JsonObject)
      }
      return results
    },
    leave: () => reader.leave(),
  }
}
