/**
 * Lanes below the bands of a timeline: processes, delegations, and children with their own children.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, type Details } from '../api.js'
import { duration, messageOf, shortId, stateName } from '../format.js'
import { taskHref } from '../route.js'
import { stateClass } from '../state.js'
import { placeOf, type Band } from './bands.js'
import type { Entry } from './log.js'
import { childLanes, delegationLanes, replicaLanes, type Lane } from './spans.js'

interface LanesProps {
  readonly bands: readonly Band[]
  readonly entries: readonly Entry[]
  readonly offspring: Details['children'] | undefined
  readonly terminal: readonly string[]
  readonly end: number
}

/** Lanes beyond these are in the block of facts alone. */
const MAX_LANES = 20
/** From here on, a name ends where its bar does. */
const LATE = 0.6

export function Lanes({ bands, entries, offspring, terminal, end }: LanesProps): VNode | null {
  const replicas = replicaLanes(entries, end)
  const delegations = delegationLanes(entries, end)
  const tasks = offspring === undefined ? [] : childLanes(offspring, terminal, end)
  if (replicas.length + delegations.length + tasks.length === 0) return null
  return html`<div class="lanes">
    <${Group} label="Processes" lanes=${replicas} bands=${bands} />
    <${Group} label="Delegations" lanes=${delegations} bands=${bands} />
    ${tasks.length > 0 && html`<${ChildGroup} lanes=${tasks} bands=${bands} terminal=${terminal} end=${end} />`}
  </div>`
}

interface GroupProps {
  readonly label: string
  readonly lanes: readonly Lane[]
  readonly bands: readonly Band[]
}

function Group({ label, lanes, bands }: GroupProps): VNode | null {
  if (lanes.length === 0) return null
  return html`<ul class="lane-group" aria-label=${label}>
    ${lanes.slice(0, MAX_LANES).map((lane) => html`<li class="lane"><${Track} lane=${lane} bands=${bands} /></li>`)}
  </ul>`
}

interface ChildrenProps extends Omit<GroupProps, 'label'> {
  readonly terminal: readonly string[]
  readonly end: number
}

function ChildGroup({ lanes, ...others }: ChildrenProps): VNode {
  return html`<ul class="lane-group" aria-label="Children">
    ${lanes.slice(0, MAX_LANES).map((lane) => html`<${ChildLane} key=${lane.taskId} lane=${lane} ...${others} />`)}
  </ul>`
}

function ChildLane({
  lane,
  bands,
  terminal,
  end,
}: Omit<ChildrenProps, 'lanes'> & { readonly lane: Lane }): VNode {
  const { taskId = '', state = '' } = lane
  const [children, setChildren] = useState<Details['children']>()
  const [failure, setFailure] = useState('')
  const open = (): void => {
    if (children !== undefined) {
      setChildren(undefined)
      return
    }
    api.details(taskId).then(
      (details) => setChildren(details.children),
      (error: unknown) => setFailure(messageOf(error)),
    )
  }
  const nested = children === undefined ? [] : childLanes(children, terminal, end)
  const note =
    failure !== '' ? failure : children !== undefined && nested.length === 0 ? 'No child tasks' : ''
  return html`<li class="lane">
    <div class="lane-head">
      <button
        type="button"
        class="plain"
        aria-expanded=${children !== undefined}
        aria-label=${`Children of ${taskId}`}
        onClick=${open}
      >
        ${children === undefined ? '+' : '−'}
      </button>
      <a href=${taskHref(taskId)} title=${taskId}>${shortId(taskId)}</a>
      <span class="quiet">${stateName(state)} ${note}</span>
    </div>
    <${Track} lane=${lane} bands=${bands} isNameless=${true} />
    ${nested.length > 0 && html`<${ChildGroup} lanes=${nested} bands=${bands} terminal=${terminal} end=${end} />`}
  </li>`
}

interface TrackProps {
  readonly lane: Lane
  readonly bands: readonly Band[]
  readonly isNameless?: boolean
}

function Track({ lane, bands, isNameless = false }: TrackProps): VNode {
  const { name, spans, state } = lane
  return html`<div class="track">
    ${spans.map(({ from, to }, index) => {
      const left = placeOf(bands, from)
      const width = Math.max(0, placeOf(bands, to) - left)
      const title = `${name}, ${duration(to - from)}`
      return html`<span
        class=${`bar ${state === undefined ? '' : stateClass(state)} ${left > LATE ? 'late' : ''}`}
        style=${{ left: `${left * 100}%`, width: `${width * 100}%` }}
        title=${title}
        >${!isNameless && index === 0 && html`<span>${name}</span>`}</span
      >`
    })}
  </div>`
}
