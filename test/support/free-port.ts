/**
 * A port for a server that has to be told its port.
 *
 * @module
 */
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that systems give to connections: none of these takes the port before the server listens. */
const [FIRST, LAST] = [10_240, 32_000]

/** A port of the loopback that no server listens to. Random, since other processes look for theirs at the same time. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST))
    const server = createServer()
    const isFree = await once(server.listen(port, '127.0.0.1'), 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    await once(server.close(), 'close')
    return port
  }
}
