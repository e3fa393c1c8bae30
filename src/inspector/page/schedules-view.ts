/**
 * The schedules: when each begins its next task, and whether it is paused.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { ScheduleRow } from '../schedule-row.js'
import { api, type Session } from './api.js'
import { Confirm } from './confirm.js'
import { dateTime } from './format.js'
import { usePolled } from './polled.js'

const LOOK_MS = 5_000

export function SchedulesView({ session }: { session: Session }): VNode {
  const { rows: schedules, setRows: setSchedules, failure } = usePolled(api.schedules, LOOK_MS)
  const [asked, setAsked] = useState<ScheduleRow>()
  return html`<main class="agent-page">
    <section class="block" aria-label="Schedules">
      <h1>Schedules</h1>
      ${failure !== '' && html`<p class="notice" role="alert">${failure}</p>`}
      ${schedules === undefined && failure === '' && html`<p class="quiet">Loading…</p>`}
      <ul class="agents">
        ${schedules?.map((schedule) => html`<${Schedule} key=${schedule.name} schedule=${schedule} mayPause=${session.actions.includes('schedule')} ask=${() => setAsked(schedule)} />`)}
      </ul>
    </section>
    ${
      asked !== undefined &&
      html`<${Confirm}
        title=${`${verbFor(asked)} ${asked.name}?`}
        text=${asked.isPaused ? 'It begins tasks again. The times within the pause count as skipped.' : 'No process begins tasks of it until it is resumed, also after a restart.'}
        verb=${verbFor(asked)}
        act=${async () => setSchedules(await api.pause(asked.name, !asked.isPaused))}
        close=${() => setAsked(undefined)}
      />`
    }
  </main>`
}

interface ScheduleProps {
  readonly schedule: ScheduleRow
  readonly mayPause: boolean
  readonly ask: () => void
}

const MISSED = {
  skip: 'Times that were missed are skipped',
  last: 'Of times that were missed, the last begins a task',
  all: 'Each time that was missed begins a task, at most 100',
} as const

function Schedule({ schedule, mayPause, ask }: ScheduleProps): VNode {
  const { name, isPaused, missed } = schedule
  const verb = verbFor(schedule)
  return html`<li class="agent">
    <div class="agent-head">
      <h2>${name}</h2>
      ${isPaused && html`<span class="tag warning">paused</span>`}
      <span class="grow"></span>
      ${mayPause && html`<button type="button" class="plain" aria-label=${`${verb}: ${name}`} onClick=${ask}>${verb}</button>`}
    </div>
    <p>${nextOf(schedule)}</p>
    <p class="quiet">${MISSED[missed]}</p>
  </li>`
}

function nextOf({ next, isPaused }: ScheduleRow): VNode | string {
  if (next !== undefined) return html`Next: <time datetime=${next}>${dateTime(next)}</time>`
  return isPaused ? 'No task begins until it is resumed' : 'It has no further time'
}

function verbFor({ isPaused }: ScheduleRow): string {
  return isPaused ? 'Resume' : 'Pause'
}
