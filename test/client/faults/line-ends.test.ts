/** Streams whose lines or ends are not those of the protocol, and that clients read all the same. */
import { expect, it } from 'vitest'
import { A2AClient } from '../../../src/client/index.js'

const card = {
  name: 'Sly',
  supportedInterfaces: [{ url: 'https://sly.test', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: true },
}
const done = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } }
const event = `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: { task: done } })}`

it.each([
  ['with lines that end with CR', `${event}\r\r`],
  ['with the end marker of model services', `${event}\n\ndata: [DONE]\n\n`],
])('a stream %s gives its events', async (_name, text) => {
  const headers = { 'content-type': 'text/event-stream' }
  const fetch = (): Promise<Response> => Promise.resolve(new Response(text, { headers }))
  const types: string[] = []
  for await (const { type } of new A2AClient({ card, fetch }).stream('go')) types.push(type)
  expect(types).toEqual(['task'])
})
