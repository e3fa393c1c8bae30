import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const root = fileURLToPath(new URL('..', import.meta.url))

/** `npm test` runs the fast share; `npm run test:all`, which is `--mode all`, runs everything at full counts. */
export default defineConfig(({ mode }) => {
  const runsAll = mode === 'all'
  return {
    root,
    resolve: {
      alias: [
        { find: /^a2a-tasks$/, replacement: `${root}src/index.ts` },
        { find: /^a2a-tasks\/(.+)$/, replacement: `${root}src/$1/index.ts` },
      ],
    },
    test: {
      include: ['test/**/*.test.ts'],
      exclude: ['**/node_modules/**', ...(runsAll ? [] : ['test/**/*.long.test.ts', 'test/services/**'])],
      // `check:types` reports the same errors.
      typecheck: { enabled: runsAll, include: ['test/types/**/*.test-d.ts'], tsconfig: 'tsconfig.json' },
      env: { NODE_ENV: 'test', TEST_ALL: runsAll ? '1' : '' },
      setupFiles: ['test/support/setup.ts'],
      // Loading the sources anew for each file takes longer than all tests.
      isolate: runsAll,
      maxWorkers: '100%',
      // Many times what any test needs: a busy machine must not make it fail.
      testTimeout: 90_000,
      hookTimeout: 120_000,
      expect: { poll: { timeout: 60_000 } },
      reporters: [process.stdout.isTTY ? 'default' : 'minimal'],
      silent: 'passed-only',
    },
  }
})
