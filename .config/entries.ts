/** The entries of the package, those that most people use first. `a2a-tasks/server/node` is `src/server/node/index.ts`. */
export const ENTRIES = [
  'index',
  'server/index',
  'server/node/index',
  'client/index',
  'durable/index',
  'stores/sqlite/index',
  'stores/postgres/index',
  'stores/redis/index',
  'gateway/index',
  'agent-card/index',
  'telemetry/index',
  'inspector/index',
  'migrate/index',
  'testing/index',
  'schemas/index',
  'wire/index',
]
