/**
 * Runs over connections that break in every way, by a seed. To see one of them again: `FAULT_SEED=<seed> npx vitest run
 * --config test/vitest.config.ts --mode all test/client/faults/soak`.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { TaskManager } from 'a2a-tasks'
import { parseAgentCard } from 'a2a-tasks/agent-card'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import type { AgentCard } from 'a2a-tasks/schemas'
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { modernPeer } from '../interop/sdk-modern.js'
import { quiet } from '../interop/support/agent.js'
import { executorOf, KINDS, scriptOf, Tally } from './kinds.js'
import { FAULTS, type Fault } from './proxy.js'
import { soak, type SoakReport } from './support/soak.js'

const RUNS = 100
const { FAULT_SEED } = process.env
const seedsOf = (first: number, count: number): number[] =>
  FAULT_SEED === undefined ? Array.from({ length: count }, (_, index) => first + index) : [Number(FAULT_SEED)]

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function heapMiB(): number {
  collect()
  return process.memoryUsage().heapUsed / 2 ** 20
}

/** After each seed. By the end of the first the code has been loaded and compiled, which takes more than all that follows. */
const heaps: number[] = []
const unhandled: unknown[] = []
const onUnhandled = (reason: unknown): unknown => unhandled.push(reason)
const totals = new Map<Fault, number>()
let runs = 0

beforeEach(() => {
  process.on('unhandledRejection', onUnhandled)
})

afterEach(() => {
  process.off('unhandledRejection', onUnhandled)
  expect(unhandled.splice(0)).toEqual([])
})

afterAll(() => {
  const summary = FAULTS.map((fault) => `${fault} ${totals.get(fault) ?? 0}`).join(', ')
  console.log(
    `${runs} runs, ${[...totals.values()].reduce((sum, count) => sum + count, 0)} faults: ${summary}`,
  )
})

/** Every socket and timer is gone. What a fetch keeps alive goes with the proxies. */
async function settle(report: SoakReport): Promise<void> {
  expect(report.pendingTimers).toBe(0)
  await report.close()
  await expect.poll(socketsOf, { timeout: 60_000, interval: 10 }).toBeLessThanOrEqual(baseline)
}

const socketsOf = (): number =>
  process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')).length

let baseline = 0

function note({ counts }: SoakReport): void {
  runs += RUNS
  for (const [fault, count] of counts) totals.set(fault, (totals.get(fault) ?? 0) + count)
}

afterEach(() => {
  heaps.push(heapMiB())
})

describe('an agent of this library', () => {
  const ways = ['JSONRPC', 'HTTP+JSON'] as const

  test.for(seedsOf(1, 8))('seed %i', { timeout: 300_000 }, async (seed) => {
    baseline = socketsOf()
    const tally = new Tally()
    const errors: unknown[] = []
    const handler = createRequestHandler({
      card: { name: 'Soak', url: 'http://127.0.0.1' },
      execute: executorOf(tally),
      tasks: new TaskManager({ maxTasks: 10_000 }),
      onError: (error) => errors.push(error),
    })
    const server = createServer(toNodeListener(handler.fetch))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(async () => {
      await handler.close({ graceMs: 1 })
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    })
    const protocolBinding = ways[seed % 2] ?? 'JSONRPC'
    const card = (url: string): AgentCard => ({
      ...handler.card,
      supportedInterfaces: [{ url, protocolBinding, protocolVersion: '1.0' }],
    })
    const { port } = server.address() as AddressInfo
    baseline += 1
    const report = await soak({ seed, runs: RUNS, concurrency: 20, port, card, tally, kinds: KINDS })
    note(report)
    expect(report.wrong).toEqual([])
    expect(errors).toEqual([])
    await settle(report)
    await expect.poll(() => connectionsOf(server)).toBe(0)
  })
})

function connectionsOf(server: ReturnType<typeof createServer>): Promise<number> {
  return new Promise((resolve) => server.getConnections((_, count) => resolve(count)))
}

describe('an agent of the official SDK', () => {
  test.for(seedsOf(101, 2))('seed %i', { timeout: 300_000 }, async (seed) => {
    quiet()
    const tally = new Tally()
    const served = await modernPeer('1.0', 'JSONRPC').serve({ agent: scriptOf(tally) })
    baseline = socketsOf()
    const card = (url: string): AgentCard => {
      const parsed = parseAgentCard(served.card)
      const [face] = parsed.supportedInterfaces
      if (face === undefined) throw new Error('The card has no interface')
      return { ...parsed, supportedInterfaces: [{ ...face, url: face.url.replace(served.url, url) }] }
    }
    const port = Number(new URL(served.url).port)
    const kinds = ['instant', 'stream', 'long', 'ask', 'fail']
    // HTTP keeps the order of events. Without ids, a run cannot see that some are missing or come twice.
    const faults = FAULTS.filter((fault) => fault !== 'duplicate' && fault !== 'reorder')
    const report = await soak({ seed, runs: RUNS, concurrency: 20, port, card, tally, kinds, faults })
    note(report)
    expect(report.wrong).toEqual([])
    await settle(report)
  })
})

test('completed runs hold no memory', { timeout: 90_000 }, async () => {
  const [afterFirst = NaN] = heaps
  // Statistics of code take some 5; what is left of connections goes within seconds.
  await expect.poll(() => heapMiB() - afterFirst, { interval: 100, timeout: 60_000 }).toBeLessThan(10)
})
