/** The recipe of docs/operate/database.md, which turns an archive into Parquet, and its file read again. */
import { transform } from 'esbuild'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { DurableTaskManager, memoryStore, restoreArchive } from 'a2a-tasks/durable'
import { ManualClock } from 'a2a-tasks/testing'
import { read } from '../../support/repository.js'
import { loadService, skipMissing, whenInstalled } from '../installed.js'

const PACKAGES = ['hyparquet-writer', 'hyparquet']

interface Reader {
  readonly asyncBufferFromFile: (name: string) => Promise<unknown>
  readonly parquetReadObjects: (options: { file: unknown }) => Promise<Record<string, unknown>[]>
}

interface Recipe {
  toParquet(from: string, filename: string): Promise<void>
}

/** Written where its packages are found. */
async function loadRecipe(): Promise<Recipe> {
  const [, code] = /```ts\n(\/\/ to-parquet\.ts\n.*?)```/s.exec(read('docs/operate/database.md')) ?? []
  if (code === undefined) throw new Error('docs/operate/database.md has no recipe')
  const { code: plain } = await transform(code, { loader: 'ts', format: 'esm', target: 'node20' })
  const folder = fileURLToPath(new URL('../node_modules/.cache/a2a-tasks-recipes/', import.meta.url))
  await mkdir(folder, { recursive: true })
  const file = join(folder, `to-parquet-${process.pid}.mjs`)
  await writeFile(file, plain)
  onTestFinished(() => rm(file))
  return (await import(/* @vite-ignore */ pathToFileURL(file).href)) as Recipe
}

it('has hyparquet-writer', (context) => skipMissing(context, ...PACKAGES))

whenInstalled(PACKAGES, 'an archive', () => {
  it('can be read as Parquet, and its lines restored', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parquet-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const clock = new ManualClock()
    const tasks = new DurableTaskManager({ store: memoryStore({ now: () => clock.now() }), clock })
    onTestFinished(() => tasks.destroy())
    for (const [id, owner] of [
      ['x', 'Ada'],
      ['ÿ 🦜', undefined],
    ] as const) {
      await tasks.createTask({ id, skill: 'test', owner })
      await tasks.updateTask(id, { state: 'working' })
      await tasks.updateTask(id, { state: 'completed', output: { text: 'line\nbreak' } })
      clock.advance(1)
    }
    const lines: string[] = []
    await tasks.archive({ olderThanMs: 0, write: (line) => void lines.push(line) })
    const [from, to] = [join(folder, 'tasks.jsonl'), join(folder, 'tasks.parquet')]
    await writeFile(from, lines.join(''))
    await (await loadRecipe()).toParquet(from, to)

    const { asyncBufferFromFile, parquetReadObjects } = await loadService<Reader>('hyparquet')
    const rows = await parquetReadObjects({ file: await asyncBufferFromFile(to) })
    expect(rows).toMatchObject([
      { id: 'x', owner: 'Ada', skill: 'test', state: 'completed' },
      { id: 'ÿ 🦜', owner: '', skill: 'test', state: 'completed' },
    ])
    expect(
      await restoreArchive(
        memoryStore(),
        rows.map(({ line }) => String(line)),
      ),
    ).toBe(2)
  })
})
