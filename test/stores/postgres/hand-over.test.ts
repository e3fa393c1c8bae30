/** A server that ends a connection in the instant in which the pool hands its client over. */
import { EventEmitter } from 'node:events'
import pg from 'pg'
import { expect, it } from 'vitest'
import { postgresStore, type PostgresStore } from 'a2a-tasks/stores/postgres'
import { change, creation } from '../../../src/testing/task-store-suite/samples.js'

/** What a pool needs of a client. Both messages come in one chunk: that it is ready, and that it is ended. */
class EndedClient extends EventEmitter {
  connect(callback: () => void): void {
    setImmediate(() => {
      callback()
      this.emit('error', Object.assign(new Error('terminating connection'), { code: '57P01' }))
      this.emit('end')
    })
  }

  query(_: unknown, __?: unknown, callback?: (error: Error) => void): Promise<never> | undefined {
    const error = new Error('The connection is closed')
    if (callback === undefined) return Promise.reject(error)
    callback(error)
    return undefined
  }

  end(callback: () => void): void {
    callback()
  }
}

const made = creation('a')
const { events, ...transaction } = change(made.task)

it.each<[string, (store: PostgresStore) => Promise<unknown> | undefined]>([
  ['a statement', (store) => store.get('a')],
  ['a transaction', (store) => store.transact?.({ ...transaction, work: () => events })],
  ['the listener', (store) => store.hints?.listen(noop, noop)],
])('%s is refused, and the process lives', async (_, call) => {
  // The types have the client that it has by default.
  const pool = new pg.Pool({ Client: EndedClient as unknown as typeof pg.Client })
  const ended: unknown[] = []
  pool.on('error', (error) => ended.push(error))
  const uncaught: unknown[] = []
  const note = (error: unknown): void => void uncaught.push(error)
  process.on('uncaughtException', note)
  try {
    await expect(call(postgresStore(pool))).rejects.toThrow('The connection is closed')
    await new Promise((resolve) => setImmediate(resolve))
    expect(uncaught).toEqual([])
    expect(pool.totalCount).toBe(0)
  } finally {
    process.off('uncaughtException', note)
  }
})

function noop(): void {
  // Nothing to do.
}
