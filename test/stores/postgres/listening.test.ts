/** The store's listening connection: closed while no task is followed. */
import { EventEmitter, once } from 'node:events'
import { expect, it } from 'vitest'
import { postgresStore, type PgClient, type PgPool } from 'a2a-tasks/stores/postgres'
import { sleep } from '../../../src/runtime/timers.js'

/** A client that is released when the server is gone. */
class Client extends EventEmitter implements PgClient {
  isReleased = false

  query(): ReturnType<PgClient['query']> {
    return Promise.resolve({ rows: [], rowCount: 0 })
  }

  release(): void {
    this.isReleased = true
  }
}

it('stops at once while it waits for a connection, and gives back the one that comes later', async () => {
  const first = new Client()
  const late = new Client()
  const server = new EventEmitter()
  const asked = once(server, 'asked')
  const clients = [Promise.resolve(first), once(server, 'back').then(() => late)]
  const pool: PgPool = {
    totalCount: 1,
    connect: (callback) => {
      if (clients.length === 1) server.emit('asked')
      void clients.shift()?.then((client) => callback(undefined, client))
    },
  }
  const hints: unknown[] = []
  const stop = await postgresStore(pool).hints?.listen(
    (hint) => hints.push(hint),
    () => hints.push('gap'),
  )
  first.emit('end')
  await asked
  await stop?.()
  server.emit('back')
  await expect.poll(() => late.isReleased).toBe(true)
  late.emit('notification', { channel: 'a2a_tasks_hints', payload: '[["a",1]]' })
  expect(hints).toEqual([])
})

it('ends a pause as soon as there is no use in it', async () => {
  const over = new AbortController()
  const ended = sleep(2 ** 31 - 1, over.signal)
  over.abort()
  await ended
  await sleep(2 ** 31 - 1, over.signal)
})
