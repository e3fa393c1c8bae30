/**
 * The package as a bundler ships it.
 *
 * @module
 */
import { build } from 'esbuild'
import { gzipSync } from 'node:zlib'
import { ROOT } from './repository.js'

export interface Bundle {
  readonly code: string
  /** All files that are in it, paths from the root. */
  readonly files: readonly string[]
  readonly gzipBytes: number
}

/** Bundles `code`, which may import the built package by its name, with all that it needs into one file, and minifies it. */
export async function bundle(code: string): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: code, resolveDir: ROOT, sourcefile: 'entry.js' },
    absWorkingDir: ROOT,
    // Not ours: its `paths` lead from the package's name to src/.
    tsconfigRaw: {},
    bundle: true,
    minify: true,
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'silent',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    format: 'esm',
  })
  const text = outputFiles.map((file) => file.text).join('')
  return {
    code: text,
    files: Object.keys(metafile.inputs).filter((file) => file !== 'entry.js'),
    gzipBytes: gzipSync(text, { level: 9 }).length,
  }
}
