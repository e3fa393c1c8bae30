/** A pool of `pg` whose statements are changed before they are sent. */
import type { Pool } from 'pg'
import type { PgClient, PgPool } from 'a2a-tasks/stores/postgres'

/** The statement, which takes 400 ms on the server if it counts tasks. */
export function slowed(text: string): string {
  return text.replace('count(*)::text FROM ', 'count(*)::text FROM (SELECT pg_sleep(0.4)) AS slow, ')
}

/** A pool whose counts take 400 ms on the server. Nothing is prepared. */
export function slowPool(pool: Pool): PgPool {
  const slow = (client: PgClient): PgClient => ({
    query: (query) =>
      client.query(
        typeof query === 'string' ? query : { ...query, name: undefined, text: slowed(query.text) },
      ),
    on: client.on.bind(client),
    off: client.off.bind(client),
    release: (destroy) => client.release(destroy),
  })
  return {
    totalCount: 0,
    options: pool.options,
    connect: (callback) => pool.connect((error, client) => callback(error, client && slow(client))),
  }
}
