/** A NATS server with JetStream, whose data is in a folder. */
import { startServer, type DebianServer } from '../../support/debian-server.js'

export const NATS = 'nats-server'

export function startNats(): Promise<DebianServer> {
  return startServer('nats', (port, folder) => ({
    program: NATS,
    args: ['--addr', '127.0.0.1', '--port', String(port), '--jetstream', '--store_dir', folder],
  }))
}
