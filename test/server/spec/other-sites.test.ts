/** Requests that browsers send for pages of other sites, along with the user's cookies. */
import { once } from 'node:events'
import { createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { toNodeListener } from 'a2a-tasks/server/node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { agent, user } from './support/agent.js'

/** Cancels a task by a request of `https://agent.test` with these headers and no body. */
async function canceling(
  headers: Record<string, string>,
  path = (id: string): string => `/tasks/${id}:cancel`,
): Promise<{ status: number; state: string | undefined; text: string }> {
  const a = agent(async (run) => {
    await run.requireInput('Which?')
  })
  const params = { message: user('go') }
  await a.handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
  const [task] = a.tasks.listTasks()
  const url = `https://agent.test${path(task?.id ?? '')}`
  const response = await a.handler.fetch(new Request(url, { method: 'POST', headers }))
  const state = a.tasks.getTask(task?.id ?? '')?.state
  return { status: response.status, state, text: await response.text() }
}

describe.each([
  ['1.0', (id: string) => `/tasks/${id}:cancel`],
  ['0.3', (id: string) => `/v1/tasks/${id}:cancel`],
])('a POST without a body, of %s', (_, path) => {
  test.each<[string, Record<string, string>]>([
    ['a page of another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.test' }],
    ['a page of another host of the site', { 'sec-fetch-site': 'same-site', origin: 'https://x.agent.test' }],
    ['a page whose browser hides its origin', { 'sec-fetch-site': 'cross-site' }],
    ['a form of another site', { origin: 'https://evil.test', 'content-type': 'text/plain' }],
    ['a page of another site, in an old browser', { origin: 'https://evil.test' }],
    ['a page of another port, in an old browser', { origin: 'https://agent.test:8443' }],
    ['a sandboxed frame, in an old browser', { origin: 'null' }],
    ['an unknown site', { 'sec-fetch-site': 'unheard-of' }],
  ])('is refused from %s', async (_name, headers) => {
    const { status, state, text } = await canceling(headers, path)
    expect(state).toBe('input-required')
    expect(status).toBe(400)
    expect(text).toContain('A request from another site needs the Content-Type')
  })

  test.each<[string, Record<string, string>]>([
    ['an official client, which sends no such header', {}],
    ['a client that has a type and no body', { 'content-type': 'application/json' }],
    ['a page of the agent', { 'sec-fetch-site': 'same-origin', origin: 'https://agent.test' }],
    [
      'a page behind a proxy with another name',
      { 'sec-fetch-site': 'same-origin', origin: 'https://a.test' },
    ],
    ['the user', { 'sec-fetch-site': 'none' }],
    ['a page of the agent, in an old browser', { origin: 'https://agent.test' }],
    [
      'another site that CORS let through, as a type of JSON needs it',
      { 'sec-fetch-site': 'cross-site', origin: 'https://app.test', 'content-type': 'application/json' },
    ],
  ])('is answered to %s', async (_name, headers) => {
    expect(await canceling(headers, path)).toMatchObject({ status: 200, state: 'canceled' })
  })
})

test.each([
  [{ 'sec-fetch-site': 'cross-site' }, 400, 'input-required'],
  [{ origin: 'https://evil.test' }, 400, 'input-required'],
  [{ 'sec-fetch-site': 'same-origin' }, 200, 'canceled'],
  [{}, 200, 'canceled'],
])("a POST without a body to Node's server, with the headers %j, gets %i", async (headers, status, state) => {
  const a = agent((run) => void run.requireInput('Which?'))
  const { id } = a.tasks.createTask({ skill: 'test' })
  a.tasks.updateTask(id, { state: 'working' })
  a.tasks.updateTask(id, { state: 'input-required' })
  const server = createServer(toNodeListener(a.handler.fetch)).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  // `listen` was given a port.
  const { port } = server.address() as AddressInfo
  const canceling = request({
    port,
    path: `/tasks/${id}:cancel`,
    method: 'POST',
    headers,
    agent: false,
  }).end()
  const [response] = (await once(canceling, 'response')) as [IncomingMessage]
  response.resume()
  expect(response.statusCode).toBe(status)
  expect(a.tasks.getTask(id)?.state).toBe(state)
})
