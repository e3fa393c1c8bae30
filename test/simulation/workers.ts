/** Processes that play schedules, of the sources as they are, or with one of them changed. */
import { build, type Plugin } from 'esbuild'
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Report {
  readonly played: number
  readonly failures: readonly { readonly seed: number; readonly faults: readonly string[] }[]
}

/** Changes of the sources that put a fault back. */
export interface Mutation {
  readonly name: string
  /** The first seed of the schedules that show it. Default is `1`. */
  readonly from?: number
  readonly changes: readonly Change[]
}

interface Change {
  /** Below `src/`. */
  readonly file: string
  /** Stands in the file exactly once. */
  readonly text: string
  readonly by: string
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Plays `count` schedules from seed `from` on, in all processors. */
export async function playMany(
  {
    from = 1,
    count,
    stops = false,
  }: { readonly from?: number | undefined; readonly count: number; readonly stops?: boolean },
  changes: readonly Change[] = [],
): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), 'simulation-'))
  try {
    const program = join(folder, 'worker.mjs')
    await bundle(program, changes)
    const processes = Math.min(availableParallelism(), Math.ceil(count / 100))
    const reports = await Promise.all(
      Array.from({ length: processes }, (_, at) => {
        const share = Math.floor((count - at - 1) / processes) + 1
        return run(program, [from + at, share, processes, stops ? 1 : 0])
      }),
    )
    const failures = reports.flatMap((report) => report.failures).sort((a, b) => a.seed - b.seed)
    return { played: reports.reduce((sum, { played }) => sum + played, 0), failures }
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function bundle(outfile: string, changes: readonly Change[]): Promise<void> {
  await build({
    entryPoints: [join(ROOT, 'test/simulation/worker.ts')],
    ...{ outfile, bundle: true, platform: 'node', format: 'esm', target: 'node20', logLevel: 'error' },
    tsconfig: join(ROOT, 'tsconfig.json'),
    banner: {
      js: `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)`,
    },
    plugins: [changed(changes)],
  })
}

/** Loads files as they are after the changes. */
function changed(changes: readonly Change[]): Plugin {
  return {
    name: 'changes',
    setup(bundling) {
      for (const file of new Set(changes.map((change) => change.file))) {
        const path = join(ROOT, 'src', file)
        bundling.onLoad({ filter: new RegExp(`^${path.replace(/[.\\/]/g, '\\$&')}$`) }, async () => {
          const source = await readFile(path, 'utf8')
          const own = changes.filter((change) => change.file === file)
          return { contents: own.reduce(withChange, source), loader: 'ts' }
        })
      }
    },
  }
}

function withChange(source: string, { file, text, by }: Change): string {
  const pieces = source.split(text)
  if (pieces.length !== 2) throw new Error(`src/${file} has the text ${pieces.length - 1} times: ${text}`)
  return pieces.join(by)
}

/** Runs until the program ends, and reads what it reports. */
function run(program: string, args: readonly number[]): Promise<Report> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--max-semi-space-size=32', program, ...args.map(String)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    child.once('error', reject)
    child.once('close', (code) => {
      // The worker wrote it.
      if (code === 0) resolve(JSON.parse(text) as Report)
      else reject(new Error(`The worker ended with the code ${String(code)}`))
    })
  })
}
