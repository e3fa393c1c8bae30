/**
 * The work on a task as a waterfall: steps with their results and attempts, waits, questions and delegations, from the history in
 * its log.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import type { JournalRecorded, StepError } from '../../../core/events.js'
import { clockTime, duration, pretty } from '../format.js'
import type { Entry } from './log.js'
import { taskHref } from '../route.js'
import { rowsOf, type WorkRow } from './work-rows.js'

interface StepsProps {
  readonly taskId: string
  readonly entries: readonly Entry[]
  /** The time up to which work is shown. */
  readonly end: number
  /** Whether work may be under way. */
  readonly isOpen: boolean
}

export function Steps({ taskId, entries, end, isOpen }: StepsProps): VNode | null {
  const recorded = entries.filter((entry): entry is JournalRecorded => entry.type === 'journal')
  if (!recorded.some(({ entry }) => entry.kind !== 'turn' && entry.kind !== 'end')) return null
  const rows = rowsOf(recorded)
  const from = Math.min(...rows.map((row) => row.from))
  const last = Math.max(...rows.map((row) => row.to ?? row.from))
  const to = isOpen && rows.some((row) => row.isOpen) ? Math.max(end, last) : last
  return html`<section class="block" aria-label="Work">
    <h2>Work <span class="quiet">${duration(to - from)}</span></h2>
    <ol class="steps">
      ${rows.map((row) => html`<${Row} key=${row.generation} taskId=${taskId} row=${row} from=${from} to=${to} />`)}
    </ol>
  </section>`
}

interface RowProps {
  readonly taskId: string
  readonly row: WorkRow
  /** The times at the two ends of the waterfall. */
  readonly from: number
  readonly to: number
}

function Row({ taskId, row, from, to }: RowProps): VNode {
  const { generation, kind, name, note, by, value, error } = row
  return html`<li class=${`step k-${kind} ${error === undefined ? '' : 'failed'}`}>
    <a class="gen" href=${taskHref(taskId, generation)} title="The task as it was then">#${generation}</a>
    <span class="kind">${kind}</span>
    <span class="step-what">
      ${name !== '' && html`<span class="step-name">${name}</span>`} <span class="step-note">${note}</span>
      ${by !== undefined && html` <span class="tag">on ${by}</span>`}
    </span>
    <${Bar} row=${row} from=${from} to=${to} />
    ${error !== undefined && html`<${ErrorView} error=${error} />`}
    ${
      value !== undefined &&
      html`<details>
        <summary>Value</summary>
        <pre class="json" tabindex="0">${pretty(value)}</pre>
      </details>`
    }
  </li>`
}

function Bar({ row, from, to }: Omit<RowProps, 'taskId'>): VNode {
  const began = new Date(row.from).toISOString()
  const end = row.to ?? (row.isOpen ? to : row.from)
  const total = Math.max(1, to - from)
  const left = ((row.from - from) / total) * 100
  const width = ((end - row.from) / total) * 100
  const took = row.isOpen || row.to !== undefined ? duration(end - row.from) : ''
  const text = `${clockTime(began)}${took === '' ? '' : `, ${took}${row.isOpen ? ' so far' : ''}`}`
  return html`<span class="fall" title=${text}>
      <span class=${row.isOpen ? 'open' : ''} style=${{ left: `${left}%`, width: `${width}%` }}></span>
    </span>
    <time class="took" datetime=${began} title=${text}
      >${took === '' ? `+${duration(row.from - from)}` : took}</time
    >`
}

/** A message of so many characters is read at a glance. */
const SHORT = 120

/** Its stack is there only for people who may see it. */
function ErrorView({ error }: { error: StepError }): VNode | null {
  const { name, message, stack, ...others } = error
  const hasMore = stack !== undefined || Object.keys(others).length > 0 || message.length > SHORT
  // Otherwise the row has said it.
  if (!hasMore) return null
  return html`<details>
    <summary>${stack === undefined ? 'Error' : 'Error with its stack'}</summary>
    <pre class="json" tabindex="0">${stack ?? `${name}: ${message}`}</pre>
    ${Object.keys(others).length > 0 && html`<pre class="json" tabindex="0">${pretty(others)}</pre>`}
  </details>`
}
