/** The Worker of examples/workers, bundled and run by workerd, the runtime of Cloudflare. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, it, onTestFinished } from 'vitest'
import { A2AClient } from 'a2a-tasks/client'
import { Consumer } from '../../support/consumer.js'
import { read } from '../../support/repository.js'
import { skipMissing, whenInstalled } from '../installed.js'
import { startServer } from '../server-process.js'

const WORKERD = fileURLToPath(new URL('../node_modules/.bin/workerd', import.meta.url))

const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "agent", worker = .agent), (name = "disk", disk = (path = "storage", writable = true))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "agent")],
);
const agent :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-10-01",
  durableObjectNamespaces = [(className = "Agent", uniqueKey = "agent", enableSql = true)],
  durableObjectStorage = (localDisk = "disk"),
  bindings = [
    (name = "AGENT", durableObjectNamespace = "Agent"),
    (name = "AGENT_URL", text = "https://agent.example"),
  ],
);
`

/** A folder with a Worker that workerd can serve, and the storage of its objects. */
async function createWorker(code: string): Promise<string> {
  const consumer = new Consumer()
  onTestFinished(() => consumer.remove())
  const outfile = join(consumer.folder, 'worker.js')
  await build({
    entryPoints: [consumer.write('worker.ts', code)],
    outfile,
    bundle: true,
    format: 'esm',
    conditions: ['workerd', 'worker'],
    logLevel: 'silent',
  })
  consumer.write('worker.capnp', CONFIG)
  mkdirSync(join(consumer.folder, 'storage'))
  return consumer.folder
}

function serve(cwd: string) {
  // The paths of the configuration are relative to its file, those of disks to the process.
  return startServer([WORKERD, 'serve', 'worker.capnp', '--control-fd=1'], { cwd, port: /"port":(\d+)/ })
}

async function connect(url: string): Promise<A2AClient> {
  return await A2AClient.connect(url, {
    fetch: (to: string, init?: RequestInit) => fetch(new URL(new URL(to).pathname, url), init),
  })
}

it('has workerd', (context) => skipMissing(context, 'workerd'))

whenInstalled(['workerd'], 'examples/workers', () => {
  it('keeps its tasks across requests, and when its object starts again', { timeout: 60_000 }, async () => {
    const folder = await createWorker(read('examples/workers/worker.ts'))
    const first = await serve(folder)
    const before = await connect(first.url)
    const asked = await before.run('Good morning')
    if (asked.type !== 'input-required') throw new Error(asked.text)
    expect((await before.getTask(asked.task.id)).state).toBe('input-required')
    await first.stop()

    const { url } = await serve(folder)
    const after = await connect(url)
    const answered = await after.run({ parts: [{ text: 'Ada' }], taskId: asked.task.id })
    expect(answered).toMatchObject({ type: 'completed', text: 'Hello Ada' })
  })

  it(
    'cannot keep them in sqliteStore: Durable Objects refuse its statements',
    { timeout: 60_000 },
    async () => {
      const folder = await createWorker(`
      import { sqliteStore } from 'a2a-tasks/stores/sqlite'
      export class Agent {
        constructor({ storage: { sql } }) {
          this.database = {
            exec: (text) => sql.exec(text),
            prepare: (text) => ({
              all: (...values) => sql.exec(text, ...values).toArray(),
              run: (...values) => ({ changes: sql.exec(text, ...values).rowsWritten }),
            }),
          }
        }
        async fetch() {
          const attempts = [() => sqliteStore(this.database), () => this.database.exec('BEGIN IMMEDIATE')]
          return Response.json(attempts.map((attempt) => {
            try {
              return String(attempt())
            } catch (error) {
              return error.message
            }
          }))
        }
      }
      export default { fetch: (request, env) => env.AGENT.getByName('agent').fetch(request) }
    `)
      const { url } = await serve(folder)
      expect(await (await fetch(url)).json()).toEqual([
        expect.stringContaining('not authorized'),
        expect.stringContaining('transaction'),
      ])
    },
  )
})
