/**
 * Memory of a server with a small heap that holds as much as its default limits allow.
 */
import { fill, House } from '../support/full-house.js'
import type { Build } from './build.js'
import { formatBytes, type Row } from './report.js'
import type { Case } from './workload.js'

const HEAP_MB = 512

async function fullHouse({ url }: Build): Promise<Row[]> {
  const file = (path: string): string => new URL(path, url).href
  const house = await House.open(HEAP_MB, {
    server: file('server/index.js'),
    node: file('server/node/index.js'),
  })
  try {
    await fill(house, 'eve')
    const { heapUsed, rss } = await house.usage()
    const row = (what: string, value: number): Row => ({
      ...{ work: `${what} of a full house, --max-old-space-size=${HEAP_MB}`, peer: '–', theirs: '–' },
      ...{ ours: formatBytes(value), value, unit: 'B', good: 'at most' },
    })
    return [{ ...row('heap', heapUsed), gate: 450_000_000 }, row('memory (rss)', rss)]
  } finally {
    house.close()
  }
}

export const fullHouseCases: readonly Case[] = [{ name: 'server: memory of a full house', run: fullHouse }]
