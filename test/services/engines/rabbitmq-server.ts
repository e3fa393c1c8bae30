/** A RabbitMQ server, and the registry of names that Erlang needs, each on a port of its own. */
import { freePort } from '../../support/free-port.js'
import { startServer, type DebianServer } from '../../support/debian-server.js'

export const RABBITMQ = 'rabbitmq-server'
/** The script in the PATH changes the user, and forgets the environment. */
const SCRIPT = '/usr/lib/rabbitmq/bin/rabbitmq-server'

export async function startRabbit(): Promise<DebianServer> {
  const [names, distribution] = [await freePort(), await freePort()]
  return await startServer('amqp', (port, folder) => ({
    program: 'sh',
    // Both end with the group of processes.
    args: ['-c', `epmd -address 127.0.0.1 -port ${names} & exec ${SCRIPT}`],
    env: {
      HOME: folder,
      ERL_EPMD_PORT: String(names),
      RABBITMQ_NODENAME: `turns${port}@localhost`,
      RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
      RABBITMQ_NODE_PORT: String(port),
      RABBITMQ_DIST_PORT: String(distribution),
      RABBITMQ_MNESIA_BASE: folder,
      RABBITMQ_LOG_BASE: folder,
      RABBITMQ_ENABLED_PLUGINS_FILE: `${folder}/plugins`,
    },
  }))
}
