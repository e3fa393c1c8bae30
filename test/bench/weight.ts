/**
 * Weight of the library: heap and start-up time, each measured in processes of its own. `test/support/sizes.ts` has the sizes.
 */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
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
  const rowOf = (name: string, what: string, goal: number): Row => {
    const ours = heapOf(what, url)
    return {
      ...{ work: `heap per completed task at 100,000, ${name}`, peer: OFFICIAL },
      ...{ ours: formatBytes(ours), theirs: formatBytes(peer) },
      ...{ value: ours / peer, unit: '×', good: 'at most', gate: 0.7, goal },
    }
  }
  return Promise.resolve([rowOf('text as input', 'input', 0.45), rowOf('text as message', 'message', 0.6)])
}

/** CPU time, which other programs on the machine do not change as much as elapsed time. */
function importTime(specifier: string): number {
  const code = `const start = process.cpuUsage(); await import(${JSON.stringify(specifier)}); const { user, system } = process.cpuUsage(start); console.log(user + system)`
  return runNode(['--input-type=module', '--eval', code]) * 1e3
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

export const weightCases: readonly Case[] = [
  { name: 'heap per completed task at 100,000', run: heap },
  coldImport('cold import of the core', 'index.js', 'server', { gate: 0.25, goal: 0.1 }),
  coldImport('cold import of the client', 'client/index.js', 'client', { gate: 1 }),
  coldImport('cold import of the server', 'server/index.js', 'server', {}),
]
