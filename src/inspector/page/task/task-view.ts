/**
 * One task, as it is now or as it was at an event of its log.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Actions } from './act.js'
import type { Session } from '../api.js'
import { Conversation, Results } from './conversation.js'
import { Diagram } from './diagram.js'
import { Budget } from './budget.js'
import { Children, Facts } from './facts.js'
import { ago, duration, shortId } from '../format.js'
import { useNow } from '../now.js'
import { useTask, type LiveTask } from '../live.js'
import { Line } from '../markdown/text.js'
import type { Snapshot } from './log.js'
import { Fork } from './fork.js'
import { LogView, WireTab } from './log-view.js'
import { isAsked, Reply } from './reply.js'
import { taskHref } from '../route.js'
import { StateBadge } from '../state.js'
import { replicaOf } from './spans.js'
import { Steps } from './steps.js'
import { Timeline } from './timeline.js'
import { ToolCalls } from './tool-calls.js'
import { titleOf } from '../../summary.js'
import { Webhooks } from './webhooks.js'

interface TaskProps {
  readonly id: string
  readonly generation: number | undefined
  readonly session: Session
}

const TABS = ['Overview', 'Log', 'Wire'] as const
type Tab = (typeof TABS)[number]

export function TaskView({ id, generation, session }: TaskProps): VNode {
  const live = useTask(id, session)
  const { log, failure } = live
  const [at, seek] = usePosition(id, generation)
  const [tab, setTab] = useState<Tab>('Overview')
  const index = at === undefined ? Math.max(0, log.entries.length - 1) : log.indexOf(at)
  const task = log.at(index)
  if (task === undefined || log.latest === undefined) {
    return html`<main class="task" aria-busy=${failure === ''}>
      <a class="back" href="#/">← Tasks</a>
      ${failure === '' ? html`<p class="quiet">Loading…</p>` : html`<p class="notice" role="alert">${failure}</p>`}
    </main>`
  }
  return html`<main class="task">
    <${Heading} task=${task} session=${session} live=${live} index=${index} isNow=${at === undefined} />
    <${Frame} live=${live} session=${session} task=${task} index=${index} at=${at} seek=${seek} />
    <div class="tabs" role="tablist" aria-label="Views of the task">
      ${TABS.map(
        (each) =>
          html`<button
            type="button"
            role="tab"
            id=${`tab-${each}`}
            aria-controls="tab-panel"
            aria-selected=${tab === each}
            tabindex=${tab === each ? 0 : -1}
            onClick=${() => setTab(each)}
            onKeyDown=${(event: KeyboardEvent) => moveTab(event, each, setTab)}
          >
            ${each}${each === 'Log' && html`<span class="count">${log.entries.length.toLocaleString('en')}</span>`}
          </button>`,
      )}
    </div>
    <div id="tab-panel" role="tabpanel" aria-labelledby=${`tab-${tab}`}>
      ${tab === 'Overview' && html`<${Overview} task=${task} session=${session} live=${live} index=${index} isNow=${at === undefined} />`}
      ${tab === 'Log' && html`<${LogView} taskId=${id} entries=${log.entries} current=${task.generation} />`}
      ${tab === 'Wire' && html`<${WireTab} taskId=${id} generation=${task.generation} />`}
    </div>
  </main>`
}

function moveTab(event: KeyboardEvent, tab: Tab, setTab: (tab: Tab) => void): void {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
  const next = step === undefined ? undefined : TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length]
  if (next === undefined) return
  setTab(next)
  document.getElementById(`tab-${next}`)?.focus()
}

const URL_MS = 250

/** The generation that is shown, in the URL too; `undefined` for the latest. */
function usePosition(
  id: string,
  generation: number | undefined,
): [number | undefined, (generation: number | undefined) => void] {
  const [at, setAt] = useState(generation)
  useEffect(() => setAt(generation), [generation])
  useEffect(() => {
    if (at === generation) return
    // Browsers refuse many changes of the URL in a short time.
    const timer = setTimeout(() => {
      history.replaceState(null, '', taskHref(id, at))
      dispatchEvent(new Event('hashchange'))
    }, URL_MS)
    return () => clearTimeout(timer)
  }, [at])
  return [at, setAt]
}

interface HeadingProps {
  readonly task: Snapshot
  readonly session: Session
  readonly live: LiveTask
}

function Heading({ task, session, live, index, isNow }: OverviewProps): VNode {
  const now = useNow()
  const title = titleOf(task)
  const isEnded = session.lifecycle.terminal.includes(task.state)
  const end = isEnded || !isNow ? Date.parse(task.updatedAt) : now
  return html`<div class="heading">
    <a class="back" href="#/">← Tasks</a>
    <div class="heading-line">
      <h1>${title === '' ? shortId(task.id) : html`<${Line} text=${title} />`}</h1>
      <${Actions} session=${session} task=${live.log.latest} log=${live.log}>
        <${Fork} session=${session} task=${task} entries=${live.log.entries.slice(0, index + 1)} isPast=${!isNow} />
      </${Actions}>
    </div>
    <p class="heading-facts">
      <${StateBadge} state=${task.state} />
      ${!session.isRemote && html`<span>${duration(end - Date.parse(task.createdAt))}</span>`}
      <span>changed ${ago(task.updatedAt, now)}</span>
      <code>${task.id}</code>
    </p>
  </div>`
}

interface FrameProps extends HeadingProps {
  readonly index: number
  readonly at: number | undefined
  readonly seek: (generation: number | undefined) => void
}

function Frame({ live, session, index, at, seek }: FrameProps): VNode {
  const { log } = live
  const now = useNow()
  const isEnded = session.lifecycle.terminal.includes(log.latest?.state ?? '')
  return html`<${Timeline}
    log=${log}
    index=${index}
    isLive=${at === undefined}
    isEnded=${isEnded}
    now=${now}
    details=${live.details}
    terminal=${session.lifecycle.terminal}
    seek=${(next: number | undefined) => seek(next === undefined ? undefined : log.entries[next]?.generation)}
  />`
}

interface OverviewProps extends HeadingProps {
  readonly index: number
  readonly isNow: boolean
}

function Overview({ task, session, live, index, isNow }: OverviewProps): VNode {
  const { log, details } = live
  const entries = log.entries.slice(0, index + 1)
  const isEnded = session.lifecycle.terminal.includes(task.state)
  const end = isEnded || !isNow ? Date.parse(task.updatedAt) : Date.now()
  return html`<div class="columns">
    <div>
      <${Conversation} task=${task} isAsked=${isNow && isAsked(session, task)} />
      ${isNow && html`<${Reply} session=${session} task=${task} />`}
      <${Results} task=${task} />
      <${ToolCalls} taskId=${task.id} entries=${entries} />
      <${Steps} taskId=${task.id} entries=${entries} end=${end} isOpen=${!isEnded} />
    </div>
    <div>
      <${Facts} session=${session} task=${task} details=${details} replica=${replicaOf(entries)} />
      <${Budget}
        session=${session}
        task=${task}
        entries=${entries}
        now=${end}
        deadline=${details?.deadline ?? null}
      />
      ${details && html`<${Children} children=${details.children} />`}
      ${details && html`<${Webhooks} session=${session} taskId=${task.id} webhooks=${details.webhooks} />`}
      <${Diagram} lifecycle=${session.lifecycle} task=${task} end=${end} />
    </div>
  </div>`
}
