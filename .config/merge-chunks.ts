/**
 * Second step of the build: joins the many small chunks that esbuild makes into a few files.
 *
 * Node needs about half a millisecond per file: a client of 25 files starts 12 ms later than one of eight. esbuild makes
 * one chunk per set of entries that share code. This step makes at most two per folder of `src/`, and three of the core.
 */
import { readdir, readFile, rm } from 'node:fs/promises'
import { basename, join, relative } from 'node:path/posix'
import { rollup, type OutputOptions, type OutputPlugin } from 'rollup'

/** The part of esbuild's metafile that is read here. */
interface Metafile {
  readonly outputs: Readonly<Record<string, Output>>
}

interface Output {
  readonly inputs: Readonly<Record<string, unknown>>
  readonly imports: readonly { readonly path: string; readonly kind: string }[]
  readonly entryPoint?: string
}

/** Folders of `src/` from the lowest layer up. A chunk belongs to the highest folder that it has a file of. */
const LAYERS =
  'runtime core http schemas wire agent-card durable remote client chat server compat stores gateway'.split(
    ' ',
  )

/** Layers that share a file, as far as the client needs them. Bundlers leave out a file as a whole, so they are few. */
const BASE = 'base'
const SHARED_FILES: Readonly<Record<string, string>> = { core: BASE, http: 'wire', 'agent-card': 'wire' }

/** Replaces what esbuild wrote into `folder` by the same code in fewer files, as ES modules and as CommonJS. */
export async function mergeChunks(folder: string, entries: readonly string[]): Promise<void> {
  const metafile = JSON.parse(await readFile(join(folder, 'metafile-esm.json'), 'utf8')) as Metafile
  const groups = groupsOf(metafile, entries)
  const bundle = await rollup({
    input: Object.fromEntries(entries.map((name) => [name, join(folder, `${name}.js`)])),
    external: (id) => !/^[./]/.test(id) || id.endsWith('.cjs'),
    treeshake: { moduleSideEffects: false },
  })
  const options: OutputOptions = {
    dir: folder,
    hoistTransitiveImports: false,
    minifyInternalExports: false,
    manualChunks: (id) => groups.get(relative('.', id)),
  }
  const written = await readdir(folder, { recursive: true })
  const stale = written.filter((file) => /\.c?js$|^metafile/.test(file))
  await Promise.all(stale.map((file) => rm(join(folder, file))))
  await bundle.write({ ...options, format: 'es', ...namesOf('js') })
  await bundle.write({
    ...{ ...options, format: 'cjs', exports: 'named', ...namesOf('cjs') },
    plugins: [withoutDocs],
  })
  await bundle.close()
}

/**
 * Leaves the comments of declarations to the ES modules, which have the same code: they are 140 kB. No text of the package has a
 * line that begins like one.
 */
const withoutDocs: OutputPlugin = {
  name: 'without-docs',
  renderChunk(code) {
    return { code: code.replace(/^[ \t]*\/\*\*(?:[^*]|\*(?!\/))*\*\/\n/gm, ''), map: null }
  },
}

function namesOf(extension: string): Pick<OutputOptions, 'entryFileNames' | 'chunkFileNames'> {
  return { entryFileNames: `[name].${extension}`, chunkFileNames: `shared/[name]-[hash].${extension}` }
}

/** The name of the file that each chunk becomes a part of. What an entry loads on demand has its own file. */
function groupsOf({ outputs }: Metafile, entries: readonly string[]): Map<string, string> {
  const sources = new Set(entries.map((name) => `src/${name}.ts`))
  const neededBy = (source: string): ReadonlySet<string> => {
    const entry = Object.keys(outputs).find((file) => outputs[file]?.entryPoint === source)
    return entry === undefined ? new Set() : reachableFrom(entry, outputs)
  }
  const client = neededBy('src/client/index.ts')
  const delegation = neededBy('src/client/delegation/kept-tasks.ts')
  const core = neededBy('src/index.ts')
  const coreFileOf = (file: string): string => {
    if (delegation.has(file)) return 'core'
    // What the core loads on demand, and other entries at their start.
    return core.has(file) ? 'core-more' : 'core-on-demand'
  }
  const groups = new Map<string, string>()
  for (const [file, { inputs, entryPoint }] of Object.entries(outputs)) {
    if (entryPoint === undefined)
      groups.set(file, fileOf(Object.keys(inputs), client.has(file), coreFileOf(file)))
    else if (!sources.has(entryPoint)) groups.set(file, basename(entryPoint, '.ts'))
  }
  return groups
}

function reachableFrom(file: string, outputs: Metafile['outputs'], seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen
  seen.add(file)
  for (const { path, kind } of outputs[file]?.imports ?? []) {
    if (kind === 'import-statement') reachableFrom(path, outputs, seen)
  }
  return seen
}

function fileOf(inputs: readonly string[], isNeededByClient: boolean, coreFile: string): string {
  const layer = layerOf(inputs)
  if (layer === 'runtime') return BASE
  if (isNeededByClient) return SHARED_FILES[layer] ?? layer
  return layer === 'core' ? coreFile : `${layer}-more`
}

/** Packages that are built in come with the code that uses them; zod has a chunk without any, which schemas use. */
function layerOf(inputs: readonly string[]): string {
  // Views share chunks with the core.
  const folders = inputs.map((input) => /^src\/([^/]+)\//.exec(input)?.[1]?.replace('views', 'core') ?? '')
  const highest = Math.max(...folders.map((folder) => LAYERS.indexOf(folder)))
  if (highest >= 0) return LAYERS[highest] ?? ''
  return inputs.some((input) => input.includes('/zod/')) ? 'schemas' : 'runtime'
}
