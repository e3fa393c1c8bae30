/**
 * The work on a task: steps with their results and attempts, waits, questions and delegations, from the history in its log.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import type { HistoryEntry, HistoryRecorded } from '../../../core/events.js'
import { clockTime, pretty } from '../format.js'
import type { Entry } from './log.js'
import { taskHref } from '../route.js'

interface StepsProps {
  readonly taskId: string
  readonly entries: readonly Entry[]
}

export function Steps({ taskId, entries }: StepsProps): VNode | null {
  const recorded = entries.filter((entry): entry is HistoryRecorded => entry.type === 'history')
  if (!recorded.some(({ entry }) => entry.kind !== 'turn' && entry.kind !== 'end')) return null
  return html`<section class="block" aria-label="Work">
    <h2>Work</h2>
    <ol class="steps">
      ${recorded.map((event) => html`<${Step} key=${event.generation} taskId=${taskId} event=${event} />`)}
    </ol>
  </section>`
}

function Step({ taskId, event }: { taskId: string; event: HistoryRecorded }): VNode {
  const { entry, generation, timestamp } = event
  const value = valueOf(entry)
  return html`<li class=${`step k-${entry.kind}`}>
    <a class="gen" href=${taskHref(taskId, generation)} title="The task as it was then">#${generation}</a>
    <span class="kind">${entry.kind}</span>
    <span class="step-name">${'name' in entry ? entry.name.replace(/#1$/, '') : ''}</span>
    <span class="step-note"
      >${entry.by !== undefined && html`<span class="tag">on ${entry.by}</span>`} ${noteOf(entry)}</span
    >
    <time class="quiet" datetime=${timestamp}>${clockTime(timestamp)}</time>
    ${
      value !== undefined &&
      html`<details>
        <summary>${'error' in entry && entry.error ? 'Error' : 'Value'}</summary>
        <pre class="json" tabindex="0">${pretty(value)}</pre>
      </details>`
    }
  </li>`
}

function noteOf(entry: HistoryEntry): string {
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
    default:
      return ''
  }
}

function valueOf(entry: HistoryEntry): unknown {
  switch (entry.kind) {
    case 'step':
      return entry.error ?? entry.output
    case 'signal':
    case 'received':
    case 'value':
      return entry.value
    case 'delegated':
      return entry.result
    case 'attempt':
    case 'failure':
      return entry.error
    default:
      return undefined
  }
}
