/**
 * Use of the limits of a task.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import type { Session } from '../api.js'
import { added, allSpent, spendingOf, type Spending } from '../../../core/spending.js'
import { amountsText, bytes, dateTime, duration } from '../format.js'
import type { Entry, Snapshot } from './log.js'

interface BudgetProps {
  readonly session: Session
  readonly task: Snapshot
  readonly entries: readonly Entry[]
  /** The time that is shown, in ms since 1970. */
  readonly now: number
  /** Until when callers wait for the task. */
  readonly deadline: string | null
}

export function Budget({ session, task, entries, now, deadline }: BudgetProps): VNode {
  const { steps, size, attempts } = usedBy(entries)
  const { limits, taskTimeoutMs, lifecycle } = session
  const spending = spendingOf(task)
  const isEnded = lifecycle.terminal.includes(task.state)
  const due = [
    deadline === null ? Infinity : Date.parse(deadline),
    Date.parse(task.createdAt) + (taskTimeoutMs ?? Infinity),
  ]
  const dueAt = Math.min(...due)
  return html`<section class="block" aria-label="Budget">
    <h2>Budget</h2>
    <dl class="facts">
      <${Used} name="Events" used=${task.generation} text=${task.generation.toLocaleString('en')} />
      ${
        steps + size > 0 &&
        html`<${Used}
            name="Steps"
            used=${steps}
            limit=${limits?.maxSteps}
            text=${steps.toLocaleString('en')}
          />
          <${Used}
            name="History"
            used=${size}
            limit=${limits?.maxJournalBytes}
            text=${bytes(size)}
            format=${bytes}
          />`
      }
      ${spending !== undefined && html`<${Spent} spending=${spending} />`}
      ${limits?.budget && html`<${Budgets} budget=${limits.budget} spending=${spending} />`}
      ${attempts > 0 && html`<${Used} name="Failed attempts" used=${attempts} text=${String(attempts)} />`}
      ${
        dueAt !== Infinity &&
        html`<div>
          <dt>Deadline</dt>
          <dd>
            ${dateTime(new Date(dueAt).toISOString())}${' '}
            ${!isEnded && html`<span class="quiet">${dueAt > now ? `in ${duration(dueAt - now)}` : 'over'}</span>`}
          </dd>
        </div>`
      }
    </dl>
  </section>`
}

/** What the task has spent, in all and by model. */
function Spent({ spending: { total, models } }: { readonly spending: Spending }): VNode {
  const byModel = Object.entries(models).map(
    ([model, amounts]) => html`<br />${model}: ${amountsText(amounts)}`,
  )
  return html`<div>
    <dt>Spent</dt>
    <dd>${amountsText(total)} <span class="quiet">${byModel}</span></dd>
  </div>`
}

interface BudgetsProps {
  readonly budget: { readonly [unit: string]: number }
  readonly spending: Spending | undefined
}

/** Each unit that the task may spend, with what it and the tasks that it delegates to have spent. */
function Budgets({ budget, spending }: BudgetsProps): VNode[] {
  const spent = allSpent(spending)
  return Object.entries(added(budget, spending?.granted ?? {})).map(
    ([unit, limit]) =>
      html`<${Used}
        name=${`Budget of ${unit}`}
        used=${spent[unit] ?? 0}
        text=${amount(spent[unit] ?? 0)}
        limit=${limit}
        format=${amount}
      />`,
  )
}

function amount(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 6 })
}

interface UsedProps {
  readonly name: string
  readonly used: number
  readonly text: string
  readonly limit?: number
  readonly format?: (value: number) => string
}

function Used({ name, used, text, limit, format = (value) => value.toLocaleString('en') }: UsedProps): VNode {
  return html`<div>
    <dt>${name}</dt>
    <dd>
      ${text}
      ${
        limit !== undefined &&
        html`<span class="quiet"> of ${format(limit)}</span>
          <meter aria-label=${`${name} used`} min="0" max=${limit} value=${Math.min(used, limit)}></meter>`
      }
    </dd>
  </div>`
}

/** What the latest turn of these entries has used. */
function usedBy(entries: readonly Entry[]): { steps: number; size: number; attempts: number } {
  const used = { steps: 0, size: 0, attempts: 0 }
  for (const event of entries) {
    if (event.type !== 'journal') continue
    const { entry } = event
    if (entry.kind === 'turn') Object.assign(used, { steps: 0, size: 0, attempts: 0 })
    if (entry.kind === 'signal') continue
    if (entry.kind === 'step') used.steps += 1
    if (entry.kind === 'attempt') used.attempts += 1
    used.size += JSON.stringify(entry).length
  }
  return used
}
