import { defineConfig } from 'tsup'

export default defineConfig({
  // Import specifier = folder: a2a-tasks/server/node is src/server/node/index.ts.
  entry: Object.fromEntries(
    ['', 'schemas/', 'wire/', 'agent-card/', 'server/', 'server/node/', 'testing/'].map((folder) => [
      `${folder}index`,
      `src/${folder}index.ts`,
    ]),
  ),
  format: ['esm', 'cjs'],
  platform: 'neutral',
  target: 'es2022',
  splitting: true,
  treeshake: true,
  sourcemap: true,
  clean: true,
  // uuid is published as ESM only, which `require` cannot load before Node 20.19.
  // eventemitter3 is CommonJS: importing it starts Node's other loader, 7 of 17 ms. It stays a dependency for its types.
  noExternal: ['uuid', 'eventemitter3'],
  // tsup sets `baseUrl`, which TypeScript 6 has deprecated.
  dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
})
