/**
 * The package as a bundler ships it.
 *
 * @module
 */
import { relative } from 'node:path'
import { build } from 'esbuild'
import { gzipSync } from 'node:zlib'
import { ROOT } from './repository.js'

export interface Bundle {
  /** What is loaded at the start. */
  readonly code: string
  /** What is loaded on demand. */
  readonly codeOnDemand: string
  /** All files that are in it, paths from the root. */
  readonly files: readonly string[]
  /** Of what is loaded at the start, file by file. */
  readonly gzipBytes: number
}

/**
 * Bundles `code`, which may import the built package by its name, with all that it needs, and minifies it: into one file, or with
 * `splitting` into those that are loaded at the start and those that are loaded on demand.
 */
export async function bundle(code: string, { splitting = false } = {}): Promise<Bundle> {
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
    splitting,
    outdir: 'bundle',
    logLevel: 'silent',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    format: 'esm',
  })
  const { outputs } = metafile
  const start = Object.keys(outputs).find((file) => outputs[file]?.entryPoint === 'entry.js') ?? ''
  const loaded = new Set([start])
  // The set grows while it is walked.
  for (const file of loaded) {
    for (const { path, kind } of outputs[file]?.imports ?? [])
      if (kind === 'import-statement') loaded.add(path)
  }
  const texts = { start: [] as string[], onDemand: [] as string[] }
  for (const { path, text } of outputFiles) {
    texts[loaded.has(relative(ROOT, path)) ? 'start' : 'onDemand'].push(text)
  }
  return {
    code: texts.start.join(''),
    codeOnDemand: texts.onDemand.join(''),
    files: Object.keys(metafile.inputs).filter((file) => file !== 'entry.js'),
    gzipBytes: texts.start.reduce((sum, text) => sum + gzipSync(text, { level: 9 }).length, 0),
  }
}
