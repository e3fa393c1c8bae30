import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const root = fileURLToPath(new URL('..', import.meta.url))

export default defineConfig({
  root,
  resolve: {
    alias: [
      { find: /^a2a-tasks$/, replacement: `${root}src/index.ts` },
      { find: /^a2a-tasks\/(.+)$/, replacement: `${root}src/$1/index.ts` },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    typecheck: { enabled: true, include: ['test/types/**/*.test-d.ts'], tsconfig: 'tsconfig.json' },
    // A test that takes seconds is a soak, and says so.
    testTimeout: 10_000,
  },
})
