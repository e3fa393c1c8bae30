/**
 * The address of a database whose server changes: as a virtual address, or a proxy, that leads to the primary.
 *
 * @module
 */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface Endpoint {
  readonly port: number
  /** Connections that are open break, and new ones lead to this port. */
  moveTo(port: number): void
  stop(): Promise<void>
}

/** An address on a free port of the loopback that leads to this port. */
export async function startEndpoint(to: number): Promise<Endpoint> {
  let target = to
  const sockets = new Set<Socket>()
  const breakAll = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    // A server of TCP that listens has one.
    port: (server.address() as AddressInfo).port,
    moveTo(port) {
      target = port
      breakAll()
    },
    async stop() {
      const closed = once(server.close(), 'close')
      breakAll()
      await closed
    },
  }
}
