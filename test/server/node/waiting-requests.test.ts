/** How many requests wait for the answers before them, over all connections of a process. */
import { once } from 'node:events'
import { ServerResponse, type IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { inTurn } from '../../../src/server/node/incoming.js'

/** A connection whose first response is not complete. */
function connection(): Socket {
  return Object.assign(new Socket(), { _httpMessage: {} })
}

/** So many requests on one connection, each behind the response before it. */
function pipeline(socket: Socket, count: number): void {
  // As much of a request as is read here.
  const request = { socket } as unknown as IncomingMessage
  for (let at = 0; at < count; at++) {
    inTurn(request, new ServerResponse(request), () => expect.fail('It is not its turn'))
  }
}

it('are at most 20,000: beyond it, their connection is closed', async () => {
  const sockets = Array.from({ length: 20 }, connection)
  for (const socket of sockets) pipeline(socket, 1_000)
  expect(sockets.filter(({ destroyed }) => destroyed)).toEqual([])
  const refused = connection()
  // The others have arrived along with it.
  pipeline(refused, 100)
  expect(refused.destroyed).toBe(true)
  expect(refused.listenerCount('close')).toBe(0)

  sockets[0]?.destroy()
  await once(sockets[0] ?? refused, 'close')
  const other = connection()
  pipeline(other, 1_000)
  expect(other.destroyed).toBe(false)
  for (const socket of [...sockets, other]) socket.destroy()
})
