import type BetterSqlite from 'better-sqlite3'
import type { Cluster, Redis } from 'ioredis'
import type Libsql from 'libsql'
import type { createClient, createClientPool, createCluster, createSentinel } from 'redis'
import { expectTypeOf, test } from 'vitest'
import type {
  IoRedisClient,
  IoRedisCluster,
  NodeRedisClient,
  NodeRedisCluster,
  NodeRedisSentinel,
  RedisClient,
  redisStore,
} from '../../src/stores/redis/index.js'
import type { openTasks, SqliteDatabase } from '../../src/stores/sqlite/index.js'

test('the store accepts databases of the SQLite drivers', () => {
  expectTypeOf<Libsql.Database>().not.toBeAny()
  expectTypeOf<Libsql.Database>().toExtend<SqliteDatabase>()
  expectTypeOf<BetterSqlite.Database>().not.toBeAny()
  expectTypeOf<BetterSqlite.Database>().toExtend<SqliteDatabase>()
  expectTypeOf<typeof openTasks>().parameter(0).toEqualTypeOf<string | SqliteDatabase>()
})

test('the store accepts clients of the Redis drivers', () => {
  expectTypeOf<Redis>().not.toBeAny()
  expectTypeOf<Redis>().toExtend<IoRedisClient>()
  expectTypeOf<ReturnType<typeof createClient>>().not.toBeAny()
  expectTypeOf<ReturnType<typeof createClient>>().toExtend<NodeRedisClient>()
  expectTypeOf<Cluster>().toExtend<IoRedisCluster>()
  expectTypeOf<ReturnType<typeof createCluster>>().toExtend<NodeRedisCluster>()
  expectTypeOf<ReturnType<typeof createSentinel>>().toExtend<NodeRedisSentinel>()
  expectTypeOf<typeof redisStore>().parameter(0).toEqualTypeOf<RedisClient>()
})

test('the store refuses a pool, which has no subscriptions', () => {
  expectTypeOf<ReturnType<typeof createClientPool>>().not.toExtend<NodeRedisClient>()
})
