/** The application of examples/nextjs, built and served by Next.js. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { A2AClient } from 'a2a-tasks/client'
import { ROOT } from '../../support/repository.js'
import { skipMissing, whenInstalled } from '../installed.js'
import { startServer } from '../server-process.js'

const PACKAGES = ['next', 'react', 'react-dom', '@types/react']
const MODULES = fileURLToPath(new URL('../node_modules/', import.meta.url))
const NEXT = [process.execPath, `${MODULES}next/dist/bin/next`] as const
const ENV = { NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production', AGENT_URL: 'http://localhost/agent' }

/** A copy of the example that has its packages. Turbopack follows links only within its root, so it is in the repository. */
function createApp(): string {
  const folder = mkdtempSync(fileURLToPath(new URL('app-', import.meta.url)))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(`${ROOT}examples/nextjs`, folder, { recursive: true })
  mkdirSync(`${folder}/node_modules`)
  symlinkSync(ROOT, `${folder}/node_modules/a2a-tasks`, 'junction')
  cpSync(`${folder}/next.config.mjs`, `${folder}/example.config.mjs`)
  const config = { turbopack: { root: ROOT }, typescript: { ignoreBuildErrors: true } }
  writeFileSync(
    `${folder}/next.config.mjs`,
    `import config from './example.config.mjs'\nexport default { ...config, ...${JSON.stringify(config)} }\n`,
  )
  writeFileSync(`${folder}/package.json`, '{ "private": true }')
  // Without one, the paths of the repository's would lead to src/.
  writeFileSync(`${folder}/tsconfig.json`, '{}')
  return folder
}

it('has Next.js', (context) => skipMissing(context, ...PACKAGES))

whenInstalled(PACKAGES, 'examples/nextjs', () => {
  it(
    'serves the agent: its card, a message, a stream, and a task for another request',
    { timeout: 300_000 },
    async () => {
      const cwd = createApp()
      const [node, next] = NEXT
      await promisify(execFile)(node, [next, 'build'], { cwd, env: { ...process.env, ...ENV } })
      const port = /http:\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0):(\d+)/
      const { url } = await startServer([...NEXT, 'start', '-p', '0', '-H', '127.0.0.1'], {
        cwd,
        env: ENV,
        port,
      })

      const card = await fetch(`${url}/.well-known/agent-card.json`)
      expect(await card.json()).toMatchObject({ name: 'Echo' })
      const agent = await A2AClient.connect(`${url}/agent`, {
        fetch: (to: string, init?: RequestInit) => fetch(new URL(new URL(to).pathname, url), init),
      })
      const events: string[] = []
      const run = await agent.run('hello', { onUpdate: ({ event }) => void events.push(event.type) })
      if (run.type !== 'completed') throw new Error(run.text)
      expect(run.text).toBe('You said: hello')
      expect(events).toContain('artifact')
      // JSON-RPC goes to /agent itself.
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: run.task.id } })
      const rpc = await fetch(`${url}/agent`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
        body,
      })
      expect(await rpc.json()).toMatchObject({ result: { id: run.task.id } })
    },
  )
})
