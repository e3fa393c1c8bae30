/**
 * The layout of a state diagram: columns by the distance from the first state, with the states that end a task last.
 *
 * @module
 */
import type { Lifecycle } from '../../../core/lifecycle.js'

export interface Node {
  readonly state: string
  readonly x: number
  readonly y: number
}

export interface Edge {
  readonly from: Node
  readonly to: Node
}

export interface Layout {
  readonly nodes: readonly Node[]
  readonly edges: readonly Edge[]
  readonly width: number
  readonly height: number
}

export const NODE_WIDTH = 98
export const NODE_HEIGHT = 30
const COLUMN = 126
const ROW = 42
const MARGIN = 8

export function layoutOf({ initial, states, transitions, terminal }: Lifecycle<string>): Layout {
  const depths = new Map([[initial, 0]])
  for (const [state, depth] of depths) {
    for (const next of transitions[state] ?? []) if (!depths.has(next)) depths.set(next, depth + 1)
  }
  const live = states.filter((state) => !terminal.includes(state))
  const last = Math.max(0, ...live.map((state) => depths.get(state) ?? 0)) + 1
  const columns: string[][] = Array.from({ length: last + 1 }, () => [])
  for (const state of states) columns[terminal.includes(state) ? last : (depths.get(state) ?? 0)]?.push(state)
  const rows = Math.max(...columns.map(({ length }) => length))
  const height = rows * ROW + MARGIN * 2
  const nodes = columns.flatMap((column, x) =>
    rowsOf(column.length, x < last ? rows - 1 : rows).map((row, index) => ({
      state: column[index] ?? '',
      x: MARGIN + x * COLUMN,
      y: (height - ROW) / 2 + row * ROW + (ROW - NODE_HEIGHT) / 2,
    })),
  )
  const nodeOf = (state: string): Node | undefined => nodes.find((node) => node.state === state)
  const edges = states.flatMap((state) =>
    (transitions[state] ?? []).flatMap((next) => {
      const [from, to] = [nodeOf(state), nodeOf(next)]
      return from === undefined || to === undefined ? [] : [{ from, to }]
    }),
  )
  return { nodes, edges, width: MARGIN * 2 + last * COLUMN + NODE_WIDTH, height }
}

/**
 * The rows of a column, from its middle. Columns before the last have one place less, each between two rows of the last one,
 * so that edges to the last column pass their nodes.
 */
function rowsOf(count: number, places: number): readonly number[] {
  const free = Math.max(count, places) - 1
  const gap = count > 1 ? Math.floor(free / (count - 1)) : 0
  const first = Math.floor((free - gap * (count - 1)) / 2)
  return Array.from({ length: count }, (_, index) => first + index * gap - free / 2)
}

/** The curve of an edge: forward from side to side, backward below, and beside the nodes within a column. */
export function pathOf({ from, to }: Edge): string {
  const [y1, y2] = [from.y + NODE_HEIGHT / 2, to.y + NODE_HEIGHT / 2]
  if (to.x > from.x) {
    const [x1, x2] = [from.x + NODE_WIDTH, from.x + COLUMN]
    const bend = (x2 - x1) / 2
    return `M${x1} ${y1 - 3} C${x1 + bend} ${y1 - 3} ${x2 - bend} ${y2} ${x2} ${y2} H${to.x}`
  }
  if (to.x < from.x) {
    const [x1, x2] = [from.x, to.x + NODE_WIDTH]
    const bend = (x1 - x2) / 2
    return `M${x1} ${y1 + 5} C${x1 - bend} ${y1 + 5} ${x2 + bend} ${y2 + 7} ${x2} ${y2 + 7}`
  }
  const side = to.y > from.y ? from.x + NODE_WIDTH * 0.6 : from.x + NODE_WIDTH * 0.4
  const [start, end] = to.y > from.y ? [from.y + NODE_HEIGHT, to.y] : [from.y, to.y + NODE_HEIGHT]
  return `M${side} ${start} L${side} ${end}`
}
