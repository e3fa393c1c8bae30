/** Requests that are made to be expensive or to mislead. */
import { describe, expect, test } from 'vitest'
import { agent, call, jsonRpc, ORIGIN, post, user } from './spec/support/agent.js'

const rpc = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params })

describe('a request', () => {
  test.each([
    ['parts that are none', { messageId: 'm', role: 'ROLE_USER', parts: Array(300_000).fill({}) }],
    ['references that are empty', { ...user('x'), referenceTaskIds: Array(300_000).fill('') }],
  ])('with many faults is refused for the first: %s', async (_, message) => {
    const { handler } = agent(() => undefined)
    const answer = (await handler.dispatch(rpc('SendMessage', { message }))) as {
      error?: { message: string }
    }
    expect(answer.error?.message).toMatch(/^message\.(parts|referenceTaskIds)\[0\]/)
  })

  test('with a path of many slashes is answered', async () => {
    const { handler } = agent(() => undefined)
    const response = await handler.fetch(post(`${'/'.repeat(100_000)}x`, {}))
    expect(response.status).toBe(404)
  })

  test('cannot claim a length that is not its own', async () => {
    const { handler } = agent(() => undefined, { limits: { maxBodyBytes: 1_000 } })
    for (const length of ['5', 'abc', '-1', '5, 5']) {
      const body = JSON.stringify(rpc('SendMessage', { message: user('x'.repeat(5_000)) }))
      const headers = { 'content-type': 'application/json', 'content-length': length }
      const response = await handler.fetch(new Request(ORIGIN, { method: 'POST', headers, body }))
      expect([length, response.status]).toEqual([length, 413])
    }
  })

  test('with a tenant that is too long once it is encoded is refused for its tenant', async () => {
    const a = agent(() => undefined)
    const { error } = await call(jsonRpc, a, 'GetTask', { id: 'x', tenant: '漢'.repeat(128) })
    expect(error?.message).toMatch(/^tenant must have at most/)
    expect(a.errors).toEqual([])
  })
})
