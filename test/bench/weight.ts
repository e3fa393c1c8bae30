/**
 * What the library weighs: on the heap, at start-up, on the wire. The first two in processes of their own.
 */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build as bundle } from 'esbuild'
import type { Build } from './build.js'
import { median } from './harness.js'
import { formatBytes, timesTheFloor, type Row } from './report.js'
import { OFFICIAL, type Case } from './workload.js'

const CHILD = fileURLToPath(new URL('heap-child.ts', import.meta.url))
const IMPORT_ROUNDS = 15

function runNode(args: readonly string[]): number {
  // From here, tsx and the SDK resolve.
  const cwd = fileURLToPath(new URL('.', import.meta.url))
  return Number(execFileSync(process.execPath, args, { cwd, encoding: 'utf8' }))
}

function heapOf(what: string, url: string): number {
  return median([1, 2, 3].map(() => runNode(['--expose-gc', '--import', 'tsx', CHILD, what, url])))
}

function heap({ url }: Build): Promise<Row[]> {
  const peer = heapOf('official', url)
  const rowOf = (name: string, what: string): Row => {
    const ours = heapOf(what, url)
    return {
      ...{ work: `heap per completed task at 100,000, ${name}`, peer: OFFICIAL },
      ...{ ours: formatBytes(ours), theirs: formatBytes(peer) },
      ...{ value: ours / peer, unit: '×', good: 'at most', gate: 0.7, goal: 0.4 },
    }
  }
  return Promise.resolve([rowOf('text as input', 'input'), rowOf('text as message', 'message')])
}

function importTime(specifier: string): number {
  const code = `const start = performance.now(); await import(${JSON.stringify(specifier)}); console.log(performance.now() - start)`
  return runNode(['--input-type=module', '--eval', code]) * 1e6
}

function coldImport({ url }: Build): Promise<Row[]> {
  const times = { ours: [] as number[], peer: [] as number[] }
  for (let round = 0; round < IMPORT_ROUNDS; round++) {
    const order = [
      () => times.ours.push(importTime(url)),
      () => times.peer.push(importTime('@a2a-js/sdk/server')),
    ]
    for (const take of round % 2 === 0 ? order : order.reverse()) take()
  }
  return Promise.resolve([
    timesTheFloor('cold import of the core', `${OFFICIAL}, /server`, times, { gate: 0.25, goal: 0.1 }),
  ])
}

async function size({ entry }: Build): Promise<Row[]> {
  const { outputFiles } = await bundle({
    stdin: { contents: `export { TaskManager } from ${JSON.stringify(entry)}`, resolveDir: '.' },
    ...{ bundle: true, minify: true, format: 'esm', platform: 'neutral', target: 'es2022' },
    ...{ mainFields: ['module', 'main'], write: false },
  })
  const [file] = outputFiles
  const minified = file?.contents ?? new Uint8Array()
  const gzipped = gzipSync(minified, { level: 9 }).length
  return [
    {
      ...{ work: 'core with eventemitter3 and uuid, min+gzip', peer: '–', theirs: '–' },
      ours: `${formatBytes(minified.length)} min`,
      ...{ value: gzipped, unit: 'B', good: 'at most', gate: 9_000, goal: 7_000 },
    },
  ]
}

export const weightCases: readonly Case[] = [
  { name: 'heap per completed task at 100,000', run: heap },
  { name: 'cold import of the core', run: coldImport },
  { name: 'size of the core', run: size },
]
