/**
 * The Worker for Cloudflare, in workerd with the queues of Miniflare, over a real PostgreSQL. Miniflare needs Node 22:
 * `npm run test:node22`.
 */
import { build } from 'esbuild'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Pool } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { A2AClient } from 'a2a-tasks/client'
import { DurableTaskManager } from 'a2a-tasks/durable'
import { createProducer, createRequestHandler } from 'a2a-tasks/server'
import { postgresStore } from 'a2a-tasks/stores/postgres'
import { Consumer } from '../../support/consumer.js'
import { skipWithoutPostgres, startPostgres } from '../../support/postgres-server.js'
import { loadService, skipMissing } from '../installed.js'
import { isNode22 } from './engine.js'
import { needsNode22 } from './needs-node22.js'
import { codeOf, loadRecipe, type Recipe } from './recipe.js'

const TOKEN = 'secret'
const TASKS = 20
const card = { name: 'Cloud', url: 'https://agent.test' }

/** Asks, does a step that says where it runs, and waits for its cancellation where it is told to. */
const AGENT = `
import { textOf } from 'a2a-tasks/server'

export const card = ${JSON.stringify(card)}

export async function execute(run) {
  if (run.text === 'hold') {
    run.start()
    await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
    return 'canceled'
  }
  const answer = textOf(await run.requireInput('What?'))
  const where = await run.step('where', () => navigator.userAgent)
  return answer + ' on ' + where
}
`

/** `pg` loads modules of Node by \`require\`, which modules of Workers lack. */
const REQUIRE = `import { createRequire } from 'node:module'; const require = createRequire('/worker.js')`

interface Miniflare {
  readonly ready: Promise<URL>
  dispose(): Promise<void>
}
interface MiniflarePackage {
  readonly Miniflare: new (options: object) => Miniflare
}

/** The Worker of the page, as one module. */
async function bundleWorker(): Promise<string> {
  const consumer = new Consumer()
  onTestFinished(() => consumer.remove())
  consumer.install('pg')
  consumer.write('agent.js', AGENT)
  const outfile = join(consumer.folder, 'bundle.js')
  await build({
    entryPoints: [consumer.write('worker.ts', codeOf('Cloudflare', 'worker.ts'))],
    ...{ outfile, bundle: true, platform: 'node', format: 'esm', conditions: ['workerd', 'worker'] },
    ...{ external: ['cloudflare:sockets', 'pg-native'], banner: { js: REQUIRE }, logLevel: 'error' },
  })
  return await readFile(outfile, 'utf8')
}

if (!isNode22) needsNode22('Cloudflare')
else
  test('a Worker does turns', { timeout: 120_000 }, async (context) => {
    skipWithoutPostgres(context)
    skipMissing(context, 'miniflare')
    const server = await startPostgres()
    onTestFinished(() => server.stop())
    const pool = new Pool({ connectionString: server.url })
    onTestFinished(() => pool.end())
    const store = postgresStore(pool)
    await store.migrate()
    const tasks = new DurableTaskManager({ store })
    onTestFinished(() => tasks.destroy())

    const { Miniflare } = await loadService<MiniflarePackage>('miniflare')
    const miniflare = new Miniflare({
      ...{ modules: true, script: await bundleWorker() },
      ...{ compatibilityDate: '2026-07-01', compatibilityFlags: ['nodejs_compat'] },
      // Miniflare wants a password, which this server does not ask for.
      ...{ bindings: { TOKEN }, hyperdrives: { HYPERDRIVE: server.url.replace('@', ':password@') } },
      queueProducers: { TURNS: 'turns' },
      queueConsumers: { turns: { maxBatchSize: 10, maxBatchTimeout: 0 } },
    })
    onTestFinished(() => miniflare.dispose())
    const { dispatch } = await loadRecipe<Pick<Recipe, 'dispatch'>>('Cloudflare', {
      ...{ TURNS_URL: String(await miniflare.ready), TURNS_TOKEN: TOKEN },
    })
    const handler = createRequestHandler({ card, tasks, dispatch })
    onTestFinished(() => handler.close({ graceMs: 0 }))
    const client = new A2AClient({
      card: handler.card,
      fetch: (url, init) => handler.fetch(new Request(url, init)),
    })

    const names = Array.from({ length: TASKS }, (_, index) => `task ${index}`)
    const results = await Promise.all(names.map((name) => client.run(name, { onInputRequired: () => name })))
    expect(results.map(({ text }) => text)).toEqual(names.map((name) => `${name} on Cloudflare-Workers`))
    for (const { task } of results) {
      const steps = (await tasks.journal(task?.id ?? '')).filter(({ entry }) => entry.kind === 'step')
      expect(steps).toHaveLength(1)
    }

    // A cancellation goes through the store. The Worker then lets go of the task.
    const { id } = await createProducer({ card, tasks, dispatch }).send('hold')
    await expect.poll(async () => (await tasks.getTask(id))?.state).toBe('working')
    await tasks.cancelTask(id)
    await expect.poll(async () => (await tasks.backlog()).busy).toBe(0)
  })
