import type { JsonObject } from 'a2a-tasks/schemas'
import { expect } from 'vitest'
import { get, post, type Init, type TestAgent } from '../spec/support.js'

export interface Answered {
  readonly status: number
  readonly body: JsonObject
}

/** What the agent answers to a body at a path. */
export async function send(a: TestAgent, path: string, body: unknown, init: Init = {}): Promise<Answered> {
  return answered(await a.handler.fetch(post(path, body, init)))
}

export async function fetched(a: TestAgent, path: string, init: Init = {}): Promise<Answered> {
  return answered(await a.handler.fetch(get(path, init)))
}

async function answered(response: Response): Promise<Answered> {
  expect(response.headers.get('content-type')).toBe('application/json')
  return { status: response.status, body: (await response.json()) as JsonObject }
}

/** The answer to a method of JSON-RPC, whose HTTP status is 200. */
export async function call(
  a: TestAgent,
  method: string,
  params?: unknown,
  init: Init = {},
): Promise<JsonObject> {
  const { status, body } = await send(a, '/', { jsonrpc: '2.0', id: 1, method, params }, init)
  expect(status).toBe(200)
  return body
}

export async function result(
  a: TestAgent,
  method: string,
  params?: unknown,
  init: Init = {},
): Promise<JsonObject> {
  const answer = await call(a, method, params, init)
  expect(answer).toHaveProperty('result')
  return answer['result'] as JsonObject
}
