/** The recipe for RabbitMQ, on a real server. */
import { loadService } from '../installed.js'
import { testEngine } from './engine.js'
import { RABBITMQ, startRabbit } from './rabbitmq-server.js'
import { hasProgram, skipWithout } from '../../support/debian-server.js'

interface Amqp {
  readonly connect: (url: string) => Promise<{
    readonly createChannel: () => Promise<{ deleteQueue: (name: string) => Promise<unknown> }>
    readonly close: () => Promise<void>
  }>
}

testEngine({
  heading: 'RabbitMQ',
  isKilled: true,
  packages: ['amqplib'],
  hasServer: () => hasProgram(RABBITMQ),
  skip: skipWithout(RABBITMQ),
  start: startRabbit,
  empty: async ({ url }) => {
    const { connect } = await loadService<Amqp>('amqplib')
    const connection = await connect(url)
    const channel = await connection.createChannel()
    await channel.deleteQueue('turns')
    await connection.close()
    return { AMQP_URL: url }
  },
})
