/** The checks of src/conformance against the server of this library, on each runtime. */
import { execFile } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Consumer } from '../../support/consumer.js'
import { ROOT } from '../../support/repository.js'
import { skipMissing } from '../installed.js'

const run = promisify(execFile)
const BINARIES = fileURLToPath(new URL('../node_modules/.bin/', import.meta.url))

const consumer = new Consumer()
const folder = join(consumer.folder, 'test/conformance')

/** The agents of test/conformance, in a project that depends on the built package. */
beforeAll(async () => {
  cpSync(join(ROOT, 'test/conformance'), folder, { recursive: true })
  await build({
    ...{ entryPoints: [join(ROOT, 'src/conformance/suite.ts')], outfile: join(folder, 'suite.mjs') },
    ...{ bundle: true, platform: 'node', format: 'esm', logLevel: 'silent' },
  })
  await build({
    ...{ entryPoints: [join(folder, 'agents/worker.mjs')], outfile: join(folder, 'agents/worker.js') },
    ...{ bundle: true, format: 'esm', logLevel: 'silent' },
  })
})
afterAll(() => {
  consumer.remove()
})

interface Runtime {
  readonly name: string
  readonly packages: readonly string[]
  /** Serves the agents, and prints where. */
  readonly command: readonly string[]
}

const RUNTIMES: readonly Runtime[] = [
  { name: 'Node', packages: [], command: [process.execPath, 'agents/node.mjs'] },
  { name: 'Bun', packages: ['bun'], command: [`${BINARIES}bun`, 'run', 'agents/fetch.mjs'] },
  {
    name: 'Deno, without permissions',
    packages: ['deno'],
    command: `${BINARIES}deno serve --no-prompt --host 127.0.0.1 --port 0 agents/fetch.mjs`.split(' '),
  },
  {
    name: 'workerd, in a Durable Object',
    packages: ['workerd'],
    command: [`${BINARIES}workerd`, 'serve', 'agents/worker.capnp', '--control-fd=1'],
  },
]

for (const { name, packages, command } of RUNTIMES) {
  it(`an agent on ${name} passes every check and exchange`, { timeout: 240_000 }, async (context) => {
    skipMissing(context, ...packages)
    const { stdout } = await run(process.execPath, ['start.mjs', ...command], { cwd: folder })
    expect(stdout).toMatch(/\b(\d+) of \1 exchanges are as they should be/)
  })
}
