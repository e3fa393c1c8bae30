/** Requests to an agent of the same process, past Fetch. */
import { A2AClient } from 'a2a-tasks/client'
import { createRequestHandler } from 'a2a-tasks/server'
import { expect, test } from 'vitest'
import { EXCHANGE, type Exchange } from '../../src/http/request.js'

test('hold the limit of a response in bytes, not in characters', async () => {
  const { card } = createRequestHandler({
    card: { name: 'Agent', url: 'https://agent.test' },
    execute: () => 'Done',
  })
  const exchange: Exchange = ({ url }) => {
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, result: '€'.repeat(400) })
    return Promise.resolve({ status: 200, statusText: '', headers: new Headers(), text, url })
  }
  const fetch = Object.assign(() => Promise.reject(new Error('not called')), { [EXCHANGE]: exchange })
  const client = new A2AClient({ card, fetch, limits: { maxResponseBytes: 1_000 } })
  await expect(client.getTask('x')).rejects.toMatchObject({
    code: 'LIMIT_EXCEEDED',
    data: { limit: 'maxResponseBytes', max: 1_000 },
  })
})
