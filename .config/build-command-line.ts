/**
 * Third step of the build: the program `a2a-tasks`, as ES modules for Node.
 *
 * It imports the entries of the package by their names, as programs of users do, and no entry imports it. Each command is a
 * file that is loaded when it is used.
 */
import { build } from 'esbuild'

export async function buildCommandLine(folder: string): Promise<void> {
  await build({
    entryPoints: {
      main: 'src/command-line/main.ts',
      'dev-server': 'src/command-line/dev/server.ts',
    },
    outdir: `${folder}/command-line`,
    external: ['a2a-tasks'],
    packages: 'external',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    legalComments: 'none',
    logLevel: 'warning',
  })
}
