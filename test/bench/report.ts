/**
 * A measured row, and its line in the table.
 */
import { median, medianRatio, type Comparison } from './harness.js'

export interface Row {
  readonly work: string
  readonly peer: string
  readonly ours: string
  readonly theirs: string
  readonly value: number
  readonly unit: Unit
  /** Whether a row is good when its value is at least its bounds, or at most. */
  readonly good: 'at least' | 'at most'
  readonly gate?: number
  readonly goal?: number
}

type Unit = '×' | 'exponent' | 'ns' | 'B'

export interface Bounds {
  readonly gate?: number
  readonly goal?: number
}

/** How many times faster than the peer. */
export function fasterThan(work: string, peer: string, times: Comparison, bounds: Bounds): Row {
  return {
    ...{ work, peer, ours: formatNs(median(times.ours)), theirs: formatNs(median(times.peer)) },
    ...{ value: medianRatio(times.peer, times.ours), unit: '×', good: 'at least' },
    ...bounds,
  }
}

/** How many times as long as a floor takes. */
export function timesTheFloor(work: string, floor: string, times: Comparison, bounds: Bounds): Row {
  return {
    ...{ work, peer: floor, ours: formatNs(median(times.ours)), theirs: formatNs(median(times.peer)) },
    ...{ value: medianRatio(times.ours, times.peer), unit: '×', good: 'at most' },
    ...bounds,
  }
}

export function formatNs(ns: number): string {
  if (ns < 1e3) return `${ns.toFixed(ns < 100 ? 1 : 0)} ns`
  if (ns < 1e6) return `${(ns / 1e3).toFixed(2)} µs`
  if (ns < 1e9) return `${(ns / 1e6).toFixed(2)} ms`
  return `${(ns / 1e9).toFixed(2)} s`
}

/** How many a second, when one takes `ns`. */
export function formatRate(ns: number): string {
  return `${count(1e9 / ns)} /s`
}

export function formatBytes(bytes: number): string {
  return `${count(bytes)} B`
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en')
}

function formatValue(value: number, unit: Unit): string {
  switch (unit) {
    case 'exponent':
      return value.toFixed(3)
    case 'ns':
      return formatNs(value)
    case 'B':
      return formatBytes(value)
    case '×':
      return `${value >= 100 ? count(value) : value.toFixed(value < 10 ? 2 : 1)} ×`
  }
}

function formatBound({ value, unit, good }: Row, bound: number | undefined): string {
  if (bound === undefined) return '–'
  const isMet = good === 'at least' ? value >= bound : value <= bound
  const text = unit === 'exponent' ? String(bound) : formatValue(bound, unit).replace(/\.0+(?= )/, '')
  return `${good === 'at least' ? '≥' : '≤'} ${text} ${isMet ? 'met' : 'MISSED'}`
}

/** A table in Markdown, line by line. */
export interface Table {
  /** The first two lines. */
  readonly head: string
  readonly lineOf: (cells: readonly string[]) => string
}

/** Of columns that are so wide at least: rows are shown before the widest one is known. */
export function tableOf(columns: readonly (readonly [heading: string, width: number])[]): Table {
  const lineOf = (cells: readonly string[]): string =>
    `| ${columns.map(([, width], index) => (cells[index] ?? '').padEnd(width)).join(' | ')} |`
  const head = [columns.map(([heading]) => heading), columns.map(([, width]) => '-'.repeat(width))]
  return { head: head.map(lineOf).join('\n'), lineOf }
}

const TABLE = tableOf([
  ...[['work', 60] as const, ['peer', 28] as const, ['ours', 20] as const, ["peer's", 12] as const],
  ...[['measured', 9] as const, ['gate', 16] as const, ['goal', 16] as const],
])

export const HEAD = TABLE.head

export function toLine(row: Row): string {
  return TABLE.lineOf([
    ...[row.work, row.peer, row.ours, row.theirs, formatValue(row.value, row.unit)],
    ...[formatBound(row, row.gate), formatBound(row, row.goal)],
  ])
}
