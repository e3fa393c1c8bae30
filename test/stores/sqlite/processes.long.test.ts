/** Several processes, and processes that are killed, on one file. */
import { build } from 'esbuild'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { databaseFile, type DatabaseFile } from './support/sqlite.js'
import { readLog } from './support/sqlite-log.js'

/** `SQLITE_KILLS=200` for a longer look. */
const KILLS = Number(process.env['SQLITE_KILLS'] ?? 20)

const COMMITS = 50

const programs = databaseFile()
const program = join(programs.path, '..', 'writer.mjs')
let file: DatabaseFile
const children: ChildProcess[] = []

beforeAll(async () => {
  const libsql = pathToFileURL(createRequire(import.meta.url).resolve('libsql')).href
  await build({
    entryPoints: [fileURLToPath(new URL('./support/sqlite-writer.ts', import.meta.url))],
    outfile: program,
    ...{ bundle: true, platform: 'node', format: 'esm', logLevel: 'silent' },
    plugins: [
      {
        name: 'libsql-where-it-is',
        setup: (bundler) =>
          bundler.onResolve({ filter: /^libsql$/ }, () => ({ path: libsql, external: true })),
      },
    ],
  })
})

afterEach(async () => {
  await Promise.all(children.splice(0).map(kill))
  file.remove()
})

afterAll(() => programs.remove())

test('processes that make the tables and write to one task at once lose nothing', async () => {
  file = databaseFile()
  const writers = await Promise.all(['a', 'b', 'c'].map((name) => startWriter('shared', name, COMMITS)))
  const exits = writers.map(({ child }) => once(child, 'close'))
  for (const { go } of writers) go()
  for (const exit of await Promise.all(exits)) expect(exit).toEqual([0, null])

  const log = await readLog(await file.open(), 'shared')
  for (const name of ['a', 'b', 'c']) {
    const commits = log.filter(({ writer, last }) => writer === name && last).map(({ commit }) => commit)
    expect(commits).toEqual(Array.from({ length: COMMITS }, (_, index) => index))
  }
  expect(log.map(({ index }, at) => index === 0 || log[at - 1]?.index === index - 1)).not.toContain(false)
})

test(
  `acknowledged changes of a process are stored after it was killed, ${KILLS} times`,
  { timeout: 60_000 + KILLS * 10_000 },
  async () => {
    file = databaseFile()
    const store = await file.open()
    for (let kills = 0; kills < KILLS; kills += 1) {
      const { child, lines, go } = await startWriter('killed', `life ${kills}`, 0)
      go()
      // The writer may be at any point of its work when the signal comes.
      const enough = 1 + Math.floor(Math.random() * 60)
      let acknowledged = 0
      let received = 0
      for await (const line of lines) {
        acknowledged = Number(line)
        received += 1
        if (received === enough) child.kill('SIGKILL')
      }
      expect(received).toBeGreaterThanOrEqual(enough)

      const log = await readLog(store, 'killed')
      expect(log.length + 1).toBeGreaterThanOrEqual(acknowledged)
      // One commit may have been carried out whose acknowledgement never came.
      expect(log.length + 1 - acknowledged).toBeLessThanOrEqual(3)
      expect(log.at(-1)?.last).toBe(true)
    }
    expect(file.connect().pragma('integrity_check')).toMatchObject([{ integrity_check: 'ok' }])
  },
)

interface Writer {
  readonly child: ChildProcess
  /** What it says after `ready`, to its end. */
  readonly lines: AsyncIterable<string>
  readonly go: () => void
}

/** A writer that waits for `go`. */
async function startWriter(taskId: string, name: string, count: number): Promise<Writer> {
  const child = spawn(process.execPath, [program, file.path, taskId, name, String(count)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  children.push(child)
  const lines = createInterface({ input: child.stdout })
  const iterator = lines[Symbol.asyncIterator]()
  expect(await iterator.next()).toEqual({ done: false, value: 'ready' })
  return { child, lines: { [Symbol.asyncIterator]: () => iterator }, go: () => child.stdin.write('go\n') }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'close')
}
