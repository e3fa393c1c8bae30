/**
 * Workloads of the benchmarks.
 */
import type { Build } from './build.js'
import type { Variant } from './harness.js'
import type { Row } from './report.js'

export interface Case {
  /** What `npm run bench -- <words>` chooses by. */
  readonly name: string
  /** One that measures for minutes yields each row as soon as it has it. */
  readonly run: (build: Build) => Promise<readonly Row[]> | AsyncIterable<Row>
}

/** What `--against` has two builds do in turn: a variant of each, of nothing but the build. */
export interface Work {
  readonly name: string
  readonly open: (build: Build) => Promise<Variant>
  /** It waits for a disk or a server, so the time that passes counts beside the CPU time. */
  readonly waits?: boolean
  readonly warmUpOps?: number
}

export const SEED = 'TaskManager module'
export const OFFICIAL = 'official SDK'
export const EXPRESS = 'official SDK, Express'
export const RAW = 'raw driver'
export const BARE = 'bare node:http'

/** 200 bytes of JSON. */
export const INPUT = { url: 'https://example.com/papers/42', text: 'x'.repeat(139), lines: 120 }

export const OUTPUT = { summary: 'A summary of a few words, as agents write them', tokens: 512 }

/** A short text that no other task shares, in one piece. */
export function textOf(index: number): string {
  return JSON.parse(`"Summarize chapter ${index} of the report, please"`) as string
}

/** The same order in every run, and no order that a cache could foresee. */
export function shuffled<T>(values: readonly T[]): T[] {
  let state = 1
  const random = (): number => (state = (state * 48_271) % 2_147_483_647)
  return values
    .map((value) => ({ value, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ value }) => value)
}

/** Walks over `values` again and again: what stands in `next()` is the next `length` of them. */
export function slices<T>(values: readonly T[], length: number): () => readonly T[] {
  const parts: T[][] = []
  for (let start = 0; start + length <= values.length; start += length) {
    parts.push(values.slice(start, start + length))
  }
  let turn = 0
  return () => parts[turn++ % parts.length] ?? []
}

/** Producers give way to consumers this often. */
export const YIELD_EVERY = 50

export function yieldToLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** In UTF-16 units. Texts that follow each other are one part, and were many in older builds. */
export function textLength(
  artifact: { parts?: readonly { text?: unknown }[] | undefined } | undefined,
): number {
  let length = 0
  for (const { text } of artifact?.parts ?? []) length += typeof text === 'string' ? text.length : 0
  return length
}

export function expectEqual(actual: number, expected: number, what: string): void {
  if (actual !== expected) throw new Error(`${what}: got ${actual}, expected ${expected}`)
}
