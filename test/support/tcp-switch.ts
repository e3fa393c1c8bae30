/**
 * One port before several servers, as the address is that clients of a server with a standby connect to.
 *
 * @module
 */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

interface TcpSwitch {
  readonly port: number
  /** Ends all connections, and leads new ones to this port. */
  pointTo(port: number): void
  close(): Promise<void>
}

export async function startSwitch(target: number): Promise<TcpSwitch> {
  let to = target
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const upstream = connect(to, '127.0.0.1')
    for (const [each, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(each)
      each.on('error', () => undefined)
      each.on('close', () => {
        sockets.delete(each)
        other.destroy()
      })
      each.pipe(other)
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const endAll = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    // It listens to a port.
    port: (server.address() as AddressInfo).port,
    pointTo: (port) => {
      to = port
      endAll()
    },
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      endAll()
      await closed
    },
  }
}
