/**
 * The bands of a timeline: the states of a task with their times and widths.
 *
 * @module
 */
import type { Entry, Snapshot } from './log.js'

export interface Band {
  readonly state: string
  readonly from: number
  readonly to: number
  /** The share of the width, which short bands have more of than of the time. */
  readonly share: number
}

const LEAST_SHARE = 0.04

/** The states of a task with their times, until `end`. */
export function bandsOf({ history }: Snapshot, end: number): Band[] {
  const bands = history.map(({ state, timestamp }, index) => {
    const from = Date.parse(timestamp)
    const next = history[index + 1]
    return { state, from, to: next === undefined ? Math.max(from, end) : Date.parse(next.timestamp) }
  })
  const total = bands.reduce((sum, { from, to }) => sum + to - from, 0) || 1
  const shares = bands.map(({ from, to }) => Math.max(LEAST_SHARE, (to - from) / total))
  const sum = shares.reduce((all, share) => all + share, 0)
  return bands.map((band, index) => ({ ...band, share: (shares[index] ?? 0) / sum }))
}

/** The places of entries on the bands, from 0 to 1. Each is in the band of its state, also where bands have no length. */
export function placesOf(bands: readonly Band[], entries: readonly Entry[]): readonly number[] {
  const starts = bands.map((_, index) => bands.slice(0, index).reduce((sum, { share }) => sum + share, 0))
  let index = bands.length - 1
  return entries
    .toReversed()
    .map((entry) => {
      const { from, to, share } = bands[index] ?? { from: 0, to: 0, share: 0 }
      const part =
        to === from ? 0.5 : Math.min(1, Math.max(0, (Date.parse(entry.timestamp) - from) / (to - from)))
      const place = (starts[index] ?? 0) + share * part
      if (entry.type === 'status' && entry.from !== entry.to) index = Math.max(0, index - 1)
      return place
    })
    .toReversed()
}

/** The place of a time on the bands, from 0 to 1. */
export function placeOf(bands: readonly Band[], time: number): number {
  let left = 0
  for (const { from, to, share } of bands) {
    if (time < to || to === from) {
      const part = to === from ? 1 : Math.max(0, (time - from) / (to - from))
      if (time <= to) return Math.min(1, left + share * part)
    }
    left += share
  }
  return 1
}
