/**
 * The work on a task as rows, each with its time: what takes time has one row, from its beginning to its end.
 *
 * @module
 */
import type { JournalEntry, JournalRecorded, StepError } from '../../../core/events.js'
import { added, type Amounts } from '../../../core/spending.js'
import { amountsText, clockTime } from '../format.js'

export interface WorkRow {
  /** The generation of its first entry. */
  readonly generation: number
  readonly kind: JournalEntry['kind']
  readonly name: string
  /** When it began, in ms since 1970. */
  readonly from: number
  /** When it ended; `undefined` while it is open, and for what takes no time. */
  readonly to?: number
  readonly isOpen: boolean
  /** The process that has recorded it, where it is another one than before. */
  readonly by?: string | undefined
  readonly note: string
  readonly value?: unknown
  readonly error?: StepError | undefined
}

/** What begins with the one entry, and ends with the other one of its name. */
const ENDS: Partial<Record<JournalEntry['kind'], readonly JournalEntry['kind'][]>> = {
  question: ['answer', 'withdrawn'],
  sleep: ['wake'],
  wait: ['received'],
  delegate: ['delegated'],
}
const CLOSING = new Set(Object.values(ENDS).flat())

/** The rows of the history, in the order in which their work began. */
export function rowsOf(recorded: readonly JournalRecorded[]): readonly WorkRow[] {
  const rows: WorkRow[] = []
  const open = new Map<string, number>()
  for (const event of recorded) {
    const { entry } = event
    const key = 'name' in entry ? `${entry.kind} ${entry.name}` : ''
    const index = CLOSING.has(entry.kind) ? open.get(key) : undefined
    const begun = index === undefined ? undefined : rows[index]
    if (index !== undefined && begun !== undefined) {
      rows[index] = closed(begun, event)
      open.delete(key)
      continue
    }
    // The next turn has names of its own.
    if (entry.kind === 'turn') open.clear()
    for (const end of ENDS[entry.kind] ?? []) open.set(key.replace(/^\S+/, end), rows.length)
    rows.push(rowOf(event))
  }
  return withTurns(withSpending(rows, recorded)).toSorted(
    (a, b) => a.from - b.from || a.generation - b.generation,
  )
}

/** A step shows what all its attempts have spent. What a step spends that is not over has rows of its own. */
function withSpending(rows: readonly WorkRow[], recorded: readonly JournalRecorded[]): readonly WorkRow[] {
  const open = new Map<string, { readonly amounts: Amounts; readonly generations: readonly number[] }>()
  const ofSteps = new Map<number, Amounts>()
  const shown = new Set<number>()
  for (const { entry, generation } of recorded) {
    if (entry.kind === 'turn') open.clear()
    if (entry.kind === 'spend' && 'step' in entry) {
      const { amounts = {}, generations = [] } = open.get(entry.step) ?? {}
      open.set(entry.step, {
        amounts: added(amounts, entry.units),
        generations: [...generations, generation],
      })
    }
    const spent = entry.kind === 'step' ? open.get(entry.name) : undefined
    if (spent === undefined) continue
    ofSteps.set(generation, spent.amounts)
    for (const each of spent.generations) shown.add(each)
  }
  return rows.flatMap((row) => {
    if (shown.has(row.generation)) return []
    const amounts = ofSteps.get(row.generation)
    return amounts === undefined ? row : { ...row, note: `${row.note} spent ${amountsText(amounts)}`.trim() }
  })
}

/** A turn is recorded with the first entry of its work, which has begun before that. */
function withTurns(rows: readonly WorkRow[]): readonly WorkRow[] {
  let from = Infinity
  return rows
    .toReversed()
    .map((row) => {
      if (row.kind !== 'turn') {
        from = Math.min(from, row.from)
        return row
      }
      const turn = { ...row, from: Math.min(from, row.from) }
      from = Infinity
      return turn
    })
    .toReversed()
}

function rowOf({ entry, generation, timestamp }: JournalRecorded): WorkRow {
  const time = Date.parse(timestamp)
  const row = {
    generation,
    kind: entry.kind,
    name: 'name' in entry ? entry.name.replace(/#1$/, '') : '',
    from: entry.kind === 'step' ? time - (entry.durationMs ?? 0) : time,
    isOpen: ENDS[entry.kind] !== undefined,
    by: entry.by,
    note: noteOf(entry),
    value: valueOf(entry),
    error: errorOf(entry),
  }
  return entry.kind === 'step' ? { ...row, to: time } : row
}

function closed(row: WorkRow, { entry, timestamp }: JournalRecorded): WorkRow {
  return { ...row, to: Date.parse(timestamp), isOpen: false, by: row.by ?? entry.by, value: valueOf(entry) }
}

function errorOf(entry: JournalEntry): StepError | undefined {
  return entry.kind === 'step' || entry.kind === 'attempt' || entry.kind === 'failure'
    ? entry.error
    : undefined
}

function noteOf(entry: JournalEntry): string {
  switch (entry.kind) {
    case 'step': {
      const attempts = entry.attempts > 1 ? `${entry.attempts} attempts` : ''
      return entry.error === undefined ? attempts : `failed: ${entry.error.message} ${attempts}`.trim()
    }
    case 'attempt':
      return `attempt ${entry.number} failed: ${entry.error.message}`
    case 'failure':
      return `failed for good: ${entry.error?.message ?? entry.reason}`
    case 'sleep':
      return `until ${clockTime(entry.dueAt)}`
    case 'delegate':
      return entry.agent === undefined ? '' : `to ${entry.agent}`
    case 'turn':
      return 'begins'
    case 'spend':
      return spentText(entry)
    default:
      return ''
  }
}

function valueOf(entry: JournalEntry): unknown {
  switch (entry.kind) {
    case 'step':
      return entry.output
    case 'signal':
    case 'received':
    case 'value':
      return entry.value
    case 'delegated':
      return entry.result
    default:
      return undefined
  }
}

function spentText(entry: Extract<JournalEntry, { readonly kind: 'spend' }>): string {
  const by = entry.model === undefined ? '' : ` by ${entry.model}`
  const within = 'step' in entry ? ` in ${entry.step}` : ''
  return `${amountsText(entry.units)}${by}${within}`
}
