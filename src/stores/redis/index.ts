/**
 * Task store in Redis, over the application's own client.
 *
 * @module
 */
export type {
  IoRedisClient,
  IoRedisCluster,
  NodeRedisClient,
  NodeRedisCluster,
  NodeRedisSentinel,
  RedisClient,
} from './client.js'
export { redisStore, type RedisStore, type RedisStoreOptions } from './redis-store.js'
