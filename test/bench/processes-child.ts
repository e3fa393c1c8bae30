/**
 * A process that brings tasks of an agent to their end, 16 at a time: `processes-child.ts <build> <PostgreSQL|Redis> <url>`. It
 * says when it is ready, and answers each number of milliseconds with the number of tasks that ended in that time.
 */
import type { TaskStore } from 'a2a-tasks/durable'
import type * as Postgres from 'a2a-tasks/stores/postgres'
import type * as RedisStores from 'a2a-tasks/stores/redis'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { openAgent } from './functions-agent.js'
import { REPLY } from './requests.js'

const WIDTH = 16
const WARM_UP = 300

const [url = '', kind = '', database = ''] = process.argv.slice(2)

async function openStore(): Promise<TaskStore> {
  // What was built from these folders of src has their exports.
  if (kind === 'Redis') {
    const { redisStore } = (await import(new URL('stores/redis/index.js', url).href)) as typeof RedisStores
    return redisStore(new Redis(database))
  }
  const { postgresStore } = (await import(new URL('stores/postgres/index.js', url).href)) as typeof Postgres
  return postgresStore(new Pool({ connectionString: database, max: 10 }))
}

const agent = await openAgent({ url, store: await openStore(), execute: () => Promise.resolve(REPLY) })

async function untilFalse(isGoingOn: (done: number) => boolean): Promise<number> {
  let done = 0
  const one = async (): Promise<void> => {
    while (isGoingOn(done)) {
      await agent.send()
      done += 1
    }
  }
  await Promise.all(Array.from({ length: WIDTH }, one))
  return done
}

process.on('message', (ms) => {
  const end = performance.now() + Number(ms)
  void untilFalse(() => performance.now() < end).then((done) => process.send?.(done))
})
await untilFalse((done) => done < WARM_UP)
process.send?.('ready')
