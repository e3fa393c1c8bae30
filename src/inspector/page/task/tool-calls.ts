/**
 * The calls of tools that an agent has shown, as a list, from the status messages in the log.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { questionsIn } from '../../../wire/question/questions.js'
import { toolCallsIn, type ToolCall } from '../../../wire/tool-calls.js'
import { duration, pretty } from '../format.js'
import { taskHref } from '../route.js'
import type { Entry } from './log.js'

interface ToolCallsProps {
  readonly taskId: string
  readonly entries: readonly Entry[]
}

export function ToolCalls({ taskId, entries }: ToolCallsProps): VNode | null {
  const rows = callRowsOf(entries)
  if (rows.length === 0) return null
  return html`<section class="block" aria-label="Tool calls">
    <h2>Tool calls <span class="quiet">${rows.length.toLocaleString('en')}</span></h2>
    <ol class="steps">
      ${rows.map((row) => html`<${Row} key=${row.generation} taskId=${taskId} row=${row} />`)}
    </ol>
  </section>`
}

/** A call, as far as the log knows it. */
interface CallRow {
  call: ToolCall
  /** The event with which it began. */
  readonly generation: number
  /** When it began, or the user had decided about it, in ms since 1970. */
  from: number
  /** When it ended. */
  to?: number
  /** Whether the user was asked about it. */
  approval?: 'asked' | 'approved' | 'rejected'
}

/** The calls that these entries tell, in the order in which they began. Their ids are unique in a turn only. */
function callRowsOf(entries: readonly Entry[]): readonly CallRow[] {
  const rows: CallRow[] = []
  for (const entry of entries) {
    if (entry.type !== 'status') continue
    noteApproval(rows, entry)
    for (const call of toolCallsIn(messageOf(entry))) noteCall(rows, call, entry)
  }
  return rows
}

type StatusEntry = Extract<Entry, { readonly type: 'status' }>

function messageOf({ message }: StatusEntry): Exclude<StatusEntry['message'], string | null> {
  return typeof message === 'object' && message !== null ? message : undefined
}

function noteCall(rows: CallRow[], call: ToolCall, { generation, timestamp }: StatusEntry): void {
  const time = Date.parse(timestamp)
  let row = rows.findLast((each) => each.call.id === call.id)
  // A message is told again with other changes of the task.
  if (row?.call.state === call.state && call.state !== 'progress') return
  if (row === undefined || row.to !== undefined) {
    row = { call, generation, from: time }
    rows.push(row)
  }
  row.call = { ...row.call, ...call }
  if (call.state === 'called' || call.state === 'progress') return
  row.to = time
  if (row.approval === 'asked') row.approval = call.state === 'rejected' ? 'rejected' : 'approved'
}

/** A question with the name of a tool is about its open calls. The time in which the user decides is not theirs. */
function noteApproval(rows: readonly CallRow[], entry: StatusEntry): void {
  const { from, to, timestamp } = entry
  if (from === to) return
  const ids = questionsIn(messageOf(entry)).map(({ id }) => id)
  for (const row of rows.filter(({ call }) => call.state === 'called')) {
    if (ids.some((id) => id.startsWith(`${row.call.name}#`))) row.approval = 'asked'
    if (from === 'input-required') row.from = Date.parse(timestamp)
  }
}

function Row({ taskId, row }: { readonly taskId: string; readonly row: CallRow }): VNode {
  const { call, generation, from, to, approval } = row
  const { name, state, input, output, error } = call
  return html`<li class=${`step call ${state === 'failed' ? 'failed' : ''}`}>
    <a class="gen" href=${taskHref(taskId, generation)} title="The task as it was then">#${generation}</a>
    <span class="kind">${state}</span>
    <span class="step-what">
      <span class="step-name">${name}</span>${' '}
      ${error !== undefined && html`<span class="step-note">${error}</span>`}
      ${approval !== undefined && html` <span class="tag">${approval === 'asked' ? 'waits for approval' : `${approval} by the user`}</span>`}
    </span>
    <span class="took quiet">${to !== undefined && state !== 'rejected' ? duration(to - from) : ''}</span>
    ${[
      ['Input', input],
      ['Output', output],
    ].map(
      ([title, value]) =>
        value !== undefined &&
        html`<details>
          <summary>${title}</summary>
          <pre class="json" tabindex="0">${pretty(value)}</pre>
        </details>`,
    )}
  </li>`
}
