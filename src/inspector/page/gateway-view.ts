/**
 * The agents of a gateway: their health, load and circuit breakers.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { AgentRow } from '../agent-row.js'
import { api, type Session } from './api.js'
import { Confirm } from './confirm.js'
import { ago, amountsText, duration } from './format.js'
import { useNow } from './now.js'
import { usePolled } from './polled.js'

const LOOK_MS = 2_000
const TAKE_OUT = 'Take out of service'
const PUT_BACK = 'Put back into service'

export function GatewayView({ session }: { session: Session }): VNode {
  const { rows: agents, setRows: setAgents, failure } = usePolled(api.agents, LOOK_MS)
  const [asked, setAsked] = useState<AgentRow>()
  const now = useNow()
  const isServing = asked?.status !== 'maintenance'
  return html`<main class="agent-page">
    <section class="block" aria-label="Agents">
      <h1>Agents</h1>
      ${failure !== '' && html`<p class="notice" role="alert">${failure}</p>`}
      ${agents === undefined && failure === '' && html`<p class="quiet">Loading…</p>`}
      ${agents?.length === 0 && html`<p class="quiet">The gateway has no agents</p>`}
      <ul class="agents">
        ${agents?.map((agent) => html`<${Agent} key=${agent.id} agent=${agent} now=${now} mayMaintain=${session.actions.includes('maintain')} ask=${() => setAsked(agent)} />`)}
      </ul>
    </section>
    ${
      asked !== undefined &&
      html`<${Confirm}
        title=${isServing ? `Take ${asked.name} out of service?` : `Put ${asked.name} back into service?`}
        text=${isServing ? 'It gets no new tasks. It continues the tasks that it works on.' : 'Its health is checked, and it gets tasks again if it is online.'}
        verb=${isServing ? TAKE_OUT : PUT_BACK}
        isDangerous=${isServing}
        act=${async () => setAgents(await api.maintain(asked.id, isServing ? 'maintenance' : 'online'))}
        close=${() => setAsked(undefined)}
      />`
    }
  </main>`
}

interface AgentProps {
  readonly agent: AgentRow
  readonly now: number
  readonly mayMaintain: boolean
  readonly ask: () => void
}

const LEVELS: Readonly<Record<string, string>> = {
  online: 's-completed',
  degraded: 's-input-required',
  offline: 's-failed',
}

function Agent({ agent, now, mayMaintain, ask }: AgentProps): VNode {
  const { id, name, description, provider, url, capabilities, tags, status, load, maxLoad, waitMs } = agent
  const verb = status === 'maintenance' ? PUT_BACK : TAKE_OUT
  return html`<li class="agent">
    <div class="agent-head">
      <h2>${name}</h2>
      <span class=${`state ${LEVELS[status] ?? 's-canceled'}`}
        ><span class="dot ${LEVELS[status] ?? 's-canceled'}" aria-hidden="true"></span>${status}</span
      >
      ${waitMs > 0 && html`<span class="tag error">circuit breaker open for ${duration(waitMs)}</span>`}
      <span class="grow"></span>
      ${mayMaintain && html`<button type="button" class="plain" aria-label=${`${verb}: ${id}`} onClick=${ask}>${verb}</button>`}
    </div>
    ${description !== '' && html`<p class="text">${description}</p>`}
    <p class="quiet">
      <code>${id}</code> · ${provider} · <code>${url}</code> · seen ${ago(agent.lastSeenAt, now)}
    </p>
    <p>
      ${workOf(agent)}${agent.tasks > 0 && doneBy(agent)}
      ${maxLoad !== null && html` <meter aria-label=${`Load of ${id}`} min="0" max=${maxLoad} value=${Math.min(load, maxLoad)}></meter>`}
    </p>
    <p>${[...capabilities, ...tags].map((each) => html`<span class="tag">${each}</span> `)}</p>
  </li>`
}

/** What the agent has done so far, such as ` · 12 so far: 10 completed, 1 failed, 1.2 s on average · spent cost 3`. */
function doneBy({ tasks, completed, failed, meanMs, spent }: AgentRow): string {
  const mean = completed + failed > 0 ? `, ${duration(meanMs)} on average` : ''
  const cost = Object.keys(spent).length > 0 ? ` · spent ${amountsText(spent)}` : ''
  return ` · ${tasks} so far: ${completed} completed, ${failed} failed${mean}${cost}`
}

function workOf({ load, maxLoad }: AgentRow): string {
  const most = maxLoad === null ? '' : ` of at most ${maxLoad}`
  return `Runs ${load}${most} ${(maxLoad ?? load) === 1 ? 'task' : 'tasks'}`
}
