/**
 * The agent: its card, and a chat with it.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { CardProblem } from '../../agent-card/lint.js'
import { api, type Session } from './api.js'
import { Chat } from './chat.js'
import { pretty } from './format.js'

export function AgentView({ session }: { session: Session }): VNode {
  return html`<main class="agent-page">
    <${Card} session=${session} />
    ${session.actions.includes('send') && html`<${Chat} session=${session} />`}
  </main>`
}

function Card({ session }: { session: Session }): VNode | null {
  const { card } = session
  const [problems, setProblems] = useState<readonly CardProblem[]>([])
  useEffect(() => {
    api.problems().then(setProblems, () => undefined)
  }, [])
  if (card === null) return null
  const { name, description, version, supportedInterfaces, skills, capabilities } = card
  const able = [
    capabilities.streaming === true && 'streams',
    capabilities.pushNotifications === true && 'webhooks',
    capabilities.extendedAgentCard === true && 'an extended card',
  ].filter((each) => each !== false)
  return html`<section class="block" aria-label="Card">
    <h1>${name} <span class="quiet">${version}</span></h1>
    <p class="text">${description}</p>
    <p class="quiet">
      ${able.length > 0 ? `Supports ${able.join(', ')}` : 'Supports neither streams nor webhooks'}
    </p>
    ${
      problems.length > 0 &&
      html`<h2>Problems for clients</h2>
        <ul class="plain-list">
          ${problems.map(({ level, path, text }) => html`<li><span class=${`tag ${level}`}>${level}</span> <code>${path}</code> ${text}</li>`)}
        </ul>`
    }
    <h2>Interfaces</h2>
    <ul class="plain-list">
      ${supportedInterfaces.map((each) => html`<li><code>${each.url}</code> <span class="tag">${each.protocolBinding}</span> <span class="tag">A2A ${each.protocolVersion}</span></li>`)}
    </ul>
    <h2>Skills</h2>
    ${skills.length === 0 && html`<p class="quiet">The card lists no skills</p>`}
    <ul class="plain-list">
      ${skills.map((skill) => html`<li><b>${skill.name}</b> <code>${skill.id}</code><br />${skill.description} ${skill.tags.map((tag) => html`<span class="tag">${tag}</span>`)}</li>`)}
    </ul>
    <details class="more">
      <summary>JSON</summary>
      <pre class="json" tabindex="0">${pretty(card)}</pre>
    </details>
  </section>`
}
