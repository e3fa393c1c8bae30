/**
 * Tasks in Redis, by the client that the application has anyway.
 *
 * @module
 */
export type { IoRedisClient, NodeRedisClient } from './client.js'
export { redisStore, type RedisStore, type RedisStoreOptions } from './redis-store.js'
