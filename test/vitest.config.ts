import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const root = fileURLToPath(new URL('..', import.meta.url))

const LONG = ['test/**/*.long.test.ts', 'test/services/**', 'test/frameworks/**']
const NO_TESTS = ['**/node_modules/**']

/** The tests that try more samples, or take more paths, where everything runs. */
function sampledIn(folder: string): string[] {
  return readdirSync(root + folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : sampledIn(path)
    const isSampled = path.endsWith('.test.ts') && readFileSync(root + path).includes('/support/samples.js')
    return isSampled ? [path] : []
  })
}

/**
 * `npm test` runs the fast share; `npm run test:all`, which is `--mode all`, runs everything at full counts.
 * `npm run test:rest` runs what the first leaves out of the second.
 */
export default defineConfig(({ mode }) => {
  const runsAll = mode === 'all' || mode === 'rest'
  // Each project needs its own: Vitest reads this file again for a project that extends it, without the mode.
  const env = { NODE_ENV: 'test', TEST_ALL: runsAll ? '1' : '' }
  const fast = {
    env,
    include: mode === 'rest' ? sampledIn('test') : ['test/**/*.test.ts'],
    exclude: [...NO_TESTS, ...LONG],
    isolate: false,
  }
  const long = {
    env,
    include: LONG.map((glob) => glob.replace(/\*\*$/, '**/*.test.ts')),
    exclude: NO_TESTS,
    isolate: true,
    // Much of their time, they wait for processes that they have started or killed. They begin when the fast ones have ended.
    maxWorkers: availableParallelism() + 1,
    sequence: { groupOrder: 1 },
  }
  return {
    root,
    resolve: {
      alias: [
        { find: /^a2a-tasks$/, replacement: `${root}src/index.ts` },
        { find: /^a2a-tasks\/(.+)$/, replacement: `${root}src/$1/index.ts` },
      ],
    },
    test: {
      setupFiles: ['test/support/setup.ts'],
      maxWorkers: '100%',
      // Many times what any test needs: a busy machine must not make it fail.
      testTimeout: 90_000,
      hookTimeout: 120_000,
      // Most conditions hold within a few ms.
      expect: { poll: { timeout: 60_000, interval: 5 } },
      reporters: [process.stdout.isTTY ? 'default' : 'minimal'],
      silent: 'passed-only',
      projects: [
        // Loading the sources anew for each file takes longer than all of these tests.
        { extends: true, test: { name: 'fast', ...fast } },
        ...(runsAll ? [{ extends: true as const, test: { name: 'long', ...long } }] : []),
      ],
    },
  }
})
