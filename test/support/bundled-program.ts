/**
 * A program of the tests as one file, so that its process is there soon after it was started, or killed.
 *
 * @module
 */
import { rmSync } from 'node:fs'
import { build } from 'esbuild'
import { onTestFinished } from 'vitest'
import { ROOT } from './repository.js'

let count = 0

/** Where what is native can be found. The file is removed when the test has finished. */
export async function bundledProgram(entry: string): Promise<string> {
  const outfile = `${ROOT}node_modules/.cache/a2a-tasks-programs/${process.pid}-${(count += 1)}.mjs`
  onTestFinished(() => rmSync(outfile, { force: true }))
  await build({
    entryPoints: [`${ROOT}${entry}`],
    ...{ outfile, bundle: true, platform: 'node', format: 'esm', target: 'node20', logLevel: 'error' },
    external: ['libsql', 'pg-native'],
    banner: {
      js: `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)`,
    },
  })
  return outfile
}
