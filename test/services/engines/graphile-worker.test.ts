/** The recipe for Graphile Worker, on a real PostgreSQL. It needs Node 22.18: `npm run test:node22`. */
import { isNode22, testEngine } from './engine.js'
import { overPostgres } from './postgres.js'
import { needsNode22 } from './needs-node22.js'

if (isNode22)
  testEngine({
    heading: 'Graphile Worker',
    packages: ['graphile-worker'],
    isKilled: false,
    isHalted: false,
    ...overPostgres,
  })
else needsNode22('Graphile Worker')
