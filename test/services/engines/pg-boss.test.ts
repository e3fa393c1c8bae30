/** The recipe for pg-boss, on a real PostgreSQL. It needs Node 22.12: `npm run test:node22`. */
import { isNode22, testEngine } from './engine.js'
import { overPostgres } from './postgres.js'
import { needsNode22 } from './needs-node22.js'

if (isNode22) testEngine({ heading: 'pg-boss', packages: ['pg-boss'], isKilled: true, ...overPostgres })
else needsNode22('pg-boss')
