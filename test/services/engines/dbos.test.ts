/** The recipe for DBOS, on a real PostgreSQL. */
import { loadService } from '../installed.js'
import { testEngine } from './engine.js'
import { emptyDatabase, overPostgres } from './postgres.js'

const PACKAGE = '@dbos-inc/dbos-sdk'

// DBOS queries a client that already executes a query, which pg has deprecated.
process.noDeprecation = true

interface Dbos {
  readonly DBOS: {
    readonly shutdown: (options: { readonly deregister: boolean }) => Promise<void>
    readonly migrate: (url: string) => Promise<void>
  }
}

testEngine({
  heading: 'DBOS',
  packages: [PACKAGE],
  isKilled: true,
  ...overPostgres,
  empty: async (server) => {
    // A process has one DBOS, which knows the workflow of the test before.
    const { DBOS } = await loadService<Dbos>(PACKAGE)
    await DBOS.shutdown({ deregister: true })
    const { DATABASE_URL } = await emptyDatabase(server)
    await DBOS.migrate(DATABASE_URL)
    return { DATABASE_URL }
  },
  turns: 300,
  whenConsuming: () => Promise.resolve(),
})
