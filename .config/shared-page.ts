/**
 * The page of the inspector as one file of the package, which the ES modules and the CommonJS modules both import.
 *
 * It has 80 kB. A CommonJS module is the only form that Node 20 loads from both.
 */
import { build, type Plugin } from 'esbuild'

/** Leaves the import of the page out of the bundles. */
export const sharedPage: Plugin = {
  name: 'shared-page',
  setup({ onResolve }) {
    onResolve({ filter: /\/page-asset\.js$/ }, () => ({ path: './page-asset.cjs', external: true }))
  },
}

export async function buildSharedPage(folder: string): Promise<void> {
  await build({
    entryPoints: ['src/inspector/page-asset.ts'],
    outfile: `${folder}/inspector/page-asset.cjs`,
    format: 'cjs',
    platform: 'node',
    minify: true,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
  })
}
