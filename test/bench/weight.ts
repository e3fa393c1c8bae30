/**
 * Weight of the library: heap, start-up time, bytes on the wire. The first two in their own processes.
 */
import { execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle } from '../support/bundle.js'
import type { Build } from './build.js'
import { median } from './harness.js'
import { formatBytes, timesTheFloor, type Bounds, type Row } from './report.js'
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

function coldImport(work: string, path: string, peer: string, bounds: Bounds): Case {
  return {
    name: work,
    run({ url }) {
      const times = { ours: [] as number[], peer: [] as number[] }
      for (let round = 0; round < IMPORT_ROUNDS; round++) {
        const order = [
          () => times.ours.push(importTime(new URL(path, url).href)),
          () => times.peer.push(importTime(`@a2a-js/sdk/${peer}`)),
        ]
        for (const take of round % 2 === 0 ? order : order.reverse()) take()
      }
      return Promise.resolve([timesTheFloor(work, `${OFFICIAL}, /${peer}`, times, bounds)])
    },
  }
}

interface Size {
  readonly minified: number
  readonly gzipped: number
}

/** Of what a program loads at the start. */
async function sizeOf(source: string): Promise<Size> {
  const { code, gzipBytes } = await bundle(source, { splitting: true })
  return { minified: Buffer.byteLength(code), gzipped: gzipBytes }
}

async function size({ entry }: Build): Promise<Row[]> {
  const { minified, gzipped } = await sizeOf(`export { TaskManager } from ${JSON.stringify(entry)}`)
  return [
    {
      ...{ work: 'core with eventemitter3 and uuid, min+gzip', peer: '–', theirs: '–' },
      ours: `${formatBytes(minified)} min`,
      ...{ value: gzipped, unit: 'B', good: 'at most', gate: 9_000, goal: 7_000 },
    },
  ]
}

async function clientSize({ entry }: Build): Promise<Row[]> {
  const client = join(dirname(entry), 'client/index.js')
  const rowOf = async (work: string, ours: string, theirs: string, bounds: Bounds): Promise<Row> => {
    const own = (await sizeOf(`export ${ours} from ${JSON.stringify(client)}`)).gzipped
    const peers = (await sizeOf(`export ${theirs} from '@a2a-js/sdk/client'`)).gzipped
    return {
      ...{ work: `${work}, min+gzip`, peer: `${OFFICIAL}, /client` },
      ...{ ours: formatBytes(own), theirs: formatBytes(peers) },
      ...{ value: own / peers, unit: '×', good: 'at most' },
      ...bounds,
    }
  }
  return [
    await rowOf('the client with all that it needs', '{ A2AClient }', '{ ClientFactory }', { gate: 1.4 }),
    await rowOf('all of /client', '*', '*', {}),
  ]
}

export const weightCases: readonly Case[] = [
  { name: 'heap per completed task at 100,000', run: heap },
  coldImport('cold import of the core', 'index.js', 'server', { gate: 0.25, goal: 0.1 }),
  coldImport('cold import of the client', 'client/index.js', 'client', { gate: 1 }),
  { name: 'size of the core', run: size },
  { name: 'size of the client', run: clientSize },
]
