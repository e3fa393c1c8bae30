/** Bodies that take long to parse: what they hold arrives whole, and other work continues. */
import type { RequestHandler } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { agent, ORIGIN, user } from '../spec/support/agent.js'

const HEADERS = { 'content-type': 'application/json', 'a2a-version': '1.0' }
/** Three bytes of UTF-8 each, so that pieces end within a character. */
const TEXT = '…'.repeat(400_000)

function send(handler: RequestHandler, body: NonNullable<RequestInit['body']>): Promise<Response> {
  return handler.fetch(
    new Request(`${ORIGIN}/message:send`, { method: 'POST', headers: HEADERS, body, duplex: 'half' }),
  )
}

describe('a large body', () => {
  test('keeps each character', async () => {
    const { handler } = agent((run) => String(run.text === TEXT))
    const response = await send(handler, JSON.stringify({ message: user(TEXT) }))
    expect(JSON.stringify(await response.json())).toContain('"text":"true"')
  })

  test.each([
    ['a byte that is not UTF-8', Uint8Array.of(0xff)],
    ['the begin of a character', Uint8Array.of(0xe2, 0x80)],
    ['a bracket too many', Uint8Array.of(0x7d)],
  ])('is refused for %s at its end', async (_, end) => {
    const { handler } = agent(() => 'done')
    const body = new Blob([JSON.stringify({ message: user(TEXT) }), end])
    const response = await send(handler, await body.arrayBuffer())
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('The body is not JSON in UTF-8')
  })

  test('gives way to other work between its arrival and its run', async () => {
    const bytes = new TextEncoder().encode(JSON.stringify({ message: user(TEXT) }))
    let turns = 0
    let arrivedAt = 0
    let ranAt = 0
    let next = setImmediate(function count() {
      turns += 1
      next = setImmediate(count)
    })
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(bytes)
        controller.close()
        arrivedAt = turns
      },
    })
    const { handler } = agent(() => {
      ranAt = turns
      return 'done'
    })
    expect((await send(handler, body)).status).toBe(200)
    clearImmediate(next)
    // A piece has a quarter of a megabyte.
    expect(ranAt - arrivedAt).toBeGreaterThanOrEqual(bytes.byteLength / 262_144)
  })
})
