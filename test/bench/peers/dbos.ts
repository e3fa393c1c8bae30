/**
 * A workflow of three steps on DBOS, a library that keeps workflows in PostgreSQL. `npm run test:services` installs it.
 */
import { loadService } from '../../services/installed.js'
import { needPackage } from '../missing.js'

/** As much of the package as is used here. */
interface Package {
  readonly DBOS: {
    setConfig(config: object): void
    launch(): Promise<void>
    shutdown(options: { deregister: boolean }): Promise<void>
    registerWorkflow<T>(
      work: (input: string) => Promise<T>,
      options: { name: string },
    ): (input: string) => Promise<T>
    runStep<T>(work: () => Promise<T>, options: { name: string }): Promise<T>
  }
}

/** The names of the steps of either side. */
export const WORKFLOW_STEPS = ['reserve', 'pay', 'confirm'] as const

const DBOS_PACKAGE = '@dbos-inc/dbos-sdk'

export interface Workflows {
  /** Runs the workflow to its end. */
  readonly run: (input: string) => Promise<string>
  readonly close: () => Promise<void>
}

export async function startDbos(systemDatabaseUrl: string, poolSize: number): Promise<Workflows> {
  needPackage(DBOS_PACKAGE)
  const entry = new URL(`../../services/node_modules/${DBOS_PACKAGE}/dist/src/index.js`, import.meta.url)
  const { DBOS } = await loadService<Package>(entry.href)
  DBOS.setConfig({
    ...{ name: 'bench', systemDatabaseUrl, systemDatabasePoolSize: poolSize },
    ...{ runAdminServer: false, logLevel: 'error' },
  })
  const run = DBOS.registerWorkflow(
    async (input) => {
      const outputs: string[] = []
      for (const name of WORKFLOW_STEPS)
        outputs.push(await DBOS.runStep(() => Promise.resolve(`${name} ${input}`), { name }))
      return outputs.join(', ')
    },
    { name: 'booking' },
  )
  await DBOS.launch()
  // DBOS looks at the object that a workflow is called on.
  return { run: (input) => run(input), close: () => DBOS.shutdown({ deregister: true }) }
}
