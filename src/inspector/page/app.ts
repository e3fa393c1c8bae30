/**
 * The frame of the page: its header, and the view of the route.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { AgentView } from './agent-view.js'
import { api, type Session } from './api.js'
import { GatewayView } from './gateway-view.js'
import { ListView } from './list/list-view.js'
import { useChanges } from './live.js'
import { useRoute, type Route } from './route.js'
import { SchedulesView } from './schedules-view.js'
import { Sparkline } from './sparkline.js'
import { TaskView } from './task/task-view.js'
import { messageOf } from './format.js'

export function App(): VNode {
  const [session, setSession] = useState<Session>()
  const [failure, setFailure] = useState('')
  useEffect(() => {
    api.session().then(setSession, (error: unknown) => setFailure(messageOf(error)))
  }, [])
  if (session === undefined) {
    return html`<main class="alone">
      ${
        failure === ''
          ? html`<p class="quiet">Loading…</p>`
          : html`<h1>The inspector cannot be shown</h1>
              <p>${failure}</p>`
      }
    </main>`
  }
  return html`<${Frame} session=${session} />`
}

function Frame({ session }: { session: Session }): VNode {
  const route = useRoute()
  const live = useChanges()
  const isTask = route.taskId !== undefined
  useEffect(() => {
    document.title = isTask ? `Task ${route.taskId ?? ''}` : (session.agent ?? 'Tasks')
  }, [route.taskId])
  return html`
    <header class="top">
      <a class="brand" href="#/">
        <span class="mark" aria-hidden="true"></span>
        <span>${session.agent ?? 'Inspector'}</span>
      </a>
      <${Views} session=${session} route=${route} />
      <span class="grow"></span>
      <${Sparkline} counts=${live.load} />
      <span class=${`live ${live.isLive ? 'on' : 'off'}`} role="status"
        >${live.isLive ? 'Live' : 'Reconnecting'}</span
      >
    </header>
    ${route.name === 'agent' && html`<${AgentView} session=${session} />`}
    ${route.name === 'gateway' && html`<${GatewayView} session=${session} />`}
    ${route.name === 'schedules' && html`<${SchedulesView} session=${session} />`}
    ${
      route.name === 'tasks' &&
      html`<div class=${`panes ${isTask ? 'has-task' : ''}`}>
        <${ListView} session=${session} selected=${route.taskId} live=${live} />
        ${
          isTask
            ? html`<${TaskView}
                key=${route.taskId}
                id=${route.taskId}
                generation=${route.generation}
                session=${session}
              />`
            : html`<aside class="empty" aria-label="No task is selected">
                <p class="quiet">Select a task to see its timeline, messages and log.</p>
              </aside>`
        }
      </div>`
    }
  `
}

function Views({ session, route: { name } }: { session: Session; route: Route }): VNode {
  const current = (view: Route['name']): string | undefined => (name === view ? 'page' : undefined)
  return html`<nav aria-label="Views">
    <a href="#/" aria-current=${current('tasks')}>Tasks</a>
    ${session.card && html`<a href="#/agent" aria-current=${current('agent')}>Agent</a>`}
    ${session.hasGateway && html`<a href="#/gateway" aria-current=${current('gateway')}>Gateway</a>`}
    ${session.hasSchedules && html`<a href="#/schedules" aria-current=${current('schedules')}>Schedules</a>`}
  </nav>`
}
