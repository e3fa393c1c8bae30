/** A server of Restate, from npm, whose data is in a folder. */
import { fileURLToPath } from 'node:url'
import { freePort } from '../../support/free-port.js'
import { startServer, type DebianServer } from '../../support/debian-server.js'

const PROGRAM = fileURLToPath(new URL('../node_modules/.bin/restate-server', import.meta.url))

export interface RestateServer extends DebianServer {
  readonly adminUrl: string
}

export async function startRestate(): Promise<RestateServer> {
  const [admin, fabric] = [await freePort(), await freePort()]
  const server = await startServer('http', (port, folder) => ({
    program: PROGRAM,
    args: ['--node-name', 'turns'],
    env: {
      RESTATE_BASE_DIR: folder,
      RESTATE_LISTEN_MODE: 'tcp',
      RESTATE_BIND_ADDRESS: `127.0.0.1:${fabric}`,
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${fabric}`,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${port}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_DEFAULT_NUM_PARTITIONS: '2',
      RESTATE_DISABLE_TELEMETRY: 'true',
    },
  }))
  return { ...server, adminUrl: `http://127.0.0.1:${admin}` }
}
