/** The user of docs/operate/database.md on a real Redis. */
import { Redis } from 'ioredis'
import { expect, it, onTestFinished } from 'vitest'
import { redisStore } from 'a2a-tasks/stores/redis'
import { startRedis } from '../../support/redis-server.js'
import { read } from '../../support/repository.js'
import { serveOver } from '../serve-over.js'
import { whenRedis } from './clients.js'

whenRedis('the user of docs/operate/database.md', () => {
  it('serves an agent, and has no dangerous command', async () => {
    const [, command = ''] = /^redis-cli ACL (.+)$/m.exec(read('docs/operate/database.md')) ?? []
    const server = await startRedis()
    onTestFinished(() => server.stop())
    const admin = new Redis(server.port)
    await admin.call('ACL', ...command.replaceAll("'", '').split(' '))
    const client = new Redis(server.port, { username: 'agent', password: 'secret' })
    onTestFinished(() => {
      admin.disconnect()
      client.disconnect()
    })
    await expect(client.flushall()).rejects.toThrow('NOPERM')
    await expect(client.get('a')).rejects.toThrow('NOPERM')

    const store = redisStore(client, { feedSize: 10 })
    await store.migrate()
    expect(await serveOver(store)).toEqual({ text: 'Hello Ada', removed: 1 })
  })
})
