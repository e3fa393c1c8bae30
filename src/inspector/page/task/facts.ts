/**
 * Facts beside a task: what it belongs to and its children.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { ComponentChildren, VNode } from 'preact'
import type { Details, Session } from '../api.js'
import { isSkillStated, protocolOf } from '../../summary.js'
import { dateTime, ownerName, pretty } from '../format.js'
import { filterBy } from '../list/list-view.js'
import type { Snapshot } from './log.js'
import { taskHref } from '../route.js'
import { StateBadge } from '../state.js'

interface FactsProps {
  readonly task: Snapshot
  readonly session: Session
  readonly details: Details | undefined
  /** The process that has worked on the task last. */
  readonly replica: string | undefined
}

export function Facts({ session, task, details, replica }: FactsProps): VNode {
  const { contextId, skill, owner, createdAt, updatedAt, referenceTaskIds = [], metadata } = task
  const protocol = protocolOf(task)
  const only = (filter: object) => (): void => {
    filterBy(filter)
    location.hash = '#/'
  }
  return html`<section class="block" aria-label="Facts">
    <h2>Facts</h2>
    <dl class="facts">
      <${Fact} name="Context">
        <button type="button" class="link" title="Show the tasks of this context" onClick=${only({ context: contextId })}><code>${contextId}</code></button>
      </${Fact}>
      ${isSkillStated(task) && html`<${Fact} name="Skill"><button type="button" class="link" onClick=${only({ skill })}>${skill}</button></${Fact}>`}
      ${owner !== undefined && html`<${Fact} name="Owner"><button type="button" class="link" onClick=${only({ owner })}>${ownerName(owner)}</button></${Fact}>`}
      ${protocol !== undefined && html`<${Fact} name="Protocol">${protocol}</${Fact}>`}
      <${Fact} name=${session.isRemote ? 'Known since' : 'Created'}>${dateTime(createdAt)}</${Fact}>
      <${Fact} name="Changed">${dateTime(updatedAt)}</${Fact}>
      ${replica !== undefined && html`<${Fact} name="Process">${replica}</${Fact}>`}
      ${typeof details?.agentId === 'string' && html`<${Fact} name="Agent"><code>${details.agentId}</code></${Fact}>`}
      ${typeof details?.traceUrl === 'string' && html`<${Fact} name="Trace"><a href=${details.traceUrl} target="_blank" rel="noopener noreferrer">Open</a></${Fact}>`}
      ${referenceTaskIds.map((other) => html`<${Fact} name="Builds on"><a href=${taskHref(other)}><code>${other}</code></a></${Fact}>`)}
    </dl>
    ${
      Object.keys(metadata).length > 0 &&
      html`<details class="more">
        <summary>Metadata</summary>
        <pre class="json" tabindex="0">${pretty(metadata)}</pre>
      </details>`
    }
  </section>`
}

function Fact({ name, children }: { name: string; children?: ComponentChildren }): VNode {
  return html`<div>
    <dt>${name}</dt>
    <dd>${children}</dd>
  </div>`
}

export function Children({ children }: { children: Details['children'] }): VNode | null {
  const { tasks, delegations } = children
  if (tasks.length + delegations.length === 0) return null
  return html`<section class="block" aria-label="Child tasks">
    <h2>Child tasks</h2>
    <ul class="plain-list">
      ${tasks.map(
        ({ id, state }) =>
          html`<li>
            <${StateBadge} state=${state} /> <a href=${taskHref(id)}><code>${id}</code></a>
          </li>`,
      )}
      ${delegations.map(
        ({ name, agent, taskId, state }) =>
          html`<li>
            ${state !== undefined && html`<${StateBadge} state=${state} />`} <b>${name}</b>
            ${agent !== undefined && html` at ${agent}`}
            ${taskId !== undefined && html`<code>${taskId}</code>`}
          </li>`,
      )}
    </ul>
  </section>`
}
