/**
 * The lanes beside a timeline: which process recorded what, and what the task has led to.
 *
 * @module
 */
import type { Details } from '../api.js'
import type { Entry } from './log.js'

/** A span of a lane, in ms since 1970. */
export interface Span {
  readonly from: number
  readonly to: number
}

export interface Lane {
  readonly name: string
  readonly spans: readonly Span[]
  /** The task of a lane that is a task. */
  readonly taskId?: string
  readonly state?: string
}

/** The processes that have recorded in the history, each from its first entry under a lease to that of the next one. */
export function replicaLanes(entries: readonly Entry[], end: number): readonly Lane[] {
  const named = entries.flatMap((entry) =>
    entry.type === 'journal' && entry.entry.by !== undefined
      ? [{ name: entry.entry.by, from: Date.parse(entry.timestamp) }]
      : [],
  )
  const lanes = new Map<string, Span[]>()
  named.forEach(({ name, from }, index) => {
    const spans = lanes.get(name) ?? []
    spans.push({ from, to: Math.max(from, named[index + 1]?.from ?? end) })
    lanes.set(name, spans)
  })
  return [...lanes].map(([name, spans]) => ({ name, spans }))
}

/** The process that has recorded the last entry of these. */
export function replicaOf(entries: readonly Entry[]): string | undefined {
  const named = entries.findLast((entry) => entry.type === 'journal' && entry.entry.by !== undefined)
  return named?.type === 'journal' ? named.entry.by : undefined
}

/** The messages to other agents, each until its answer. */
export function delegationLanes(entries: readonly Entry[], end: number): readonly Lane[] {
  const lanes = new Map<string, Lane>()
  for (const event of entries) {
    if (event.type !== 'journal') continue
    const { entry, timestamp } = event
    const time = Date.parse(timestamp)
    if (entry.kind === 'delegate') {
      const name = `${entry.name.replace(/#1$/, '')}${entry.agent === undefined ? '' : ` at ${entry.agent}`}`
      lanes.set(entry.name, { name, spans: [{ from: time, to: Math.max(time, end) }] })
    } else if (entry.kind === 'delegated') {
      const lane = lanes.get(entry.name)
      if (lane !== undefined) {
        lanes.set(entry.name, { ...lane, spans: lane.spans.map(({ from }) => ({ from, to: time })) })
      }
    }
  }
  return [...lanes.values()]
}

/** The tasks that this one has led to, each until its end. */
export function childLanes(
  { tasks }: Details['children'],
  terminal: readonly string[],
  end: number,
): readonly Lane[] {
  return tasks.map(({ id, state, createdAt, updatedAt }) => ({
    name: id,
    taskId: id,
    state,
    spans: [
      {
        from: Date.parse(createdAt),
        to: terminal.includes(state) ? Date.parse(updatedAt) : Math.max(end, Date.parse(updatedAt)),
      },
    ],
  }))
}
