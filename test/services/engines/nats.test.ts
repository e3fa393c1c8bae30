/** The recipe for NATS JetStream, on a real server. */
import { loadService } from '../installed.js'
import { testEngine } from './engine.js'
import { NATS, startNats } from './nats-server.js'
import { hasProgram, skipWithout } from '../../support/debian-server.js'

interface Nats {
  readonly connect: (options: { servers: string }) => Promise<{ close: () => Promise<void> }>
  readonly jetstreamManager: (connection: unknown) => Promise<{
    readonly streams: { delete: (name: string) => Promise<boolean> }
  }>
}

testEngine({
  heading: 'NATS JetStream',
  isKilled: true,
  packages: ['@nats-io/jetstream', '@nats-io/transport-node'],
  hasServer: () => hasProgram(NATS),
  skip: skipWithout(NATS),
  start: startNats,
  empty: async ({ url }) => {
    const { connect } = await loadService<Nats>('@nats-io/transport-node')
    const { jetstreamManager } = await loadService<Nats>('@nats-io/jetstream')
    const connection = await connect({ servers: url })
    const { streams } = await jetstreamManager(connection)
    // There is none before the first test.
    await streams.delete('turns').catch(() => undefined)
    await connection.close()
    return { NATS_URL: url }
  },
})
