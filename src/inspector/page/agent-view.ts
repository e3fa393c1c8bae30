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
import { Conversation, Results } from './task/conversation.js'
import { pretty } from './format.js'
import { useTask } from './live.js'
import { Text } from './markdown/text.js'
import { Reply } from './task/reply.js'
import { taskHref } from './route.js'
import { StateBadge } from './state.js'

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
    <p class="quiet">${able.length > 0 ? `With ${able.join(', ')}` : 'Without streams and webhooks'}</p>
    ${
      problems.length > 0 &&
      html`<h2>What clients stumble on</h2>
        <ul class="plain-list">
          ${problems.map(({ level, path, text }) => html`<li><span class=${`tag ${level}`}>${level}</span> <code>${path}</code> ${text}</li>`)}
        </ul>`
    }
    <h2>Interfaces</h2>
    <ul class="plain-list">
      ${supportedInterfaces.map((each) => html`<li><code>${each.url}</code> <span class="tag">${each.protocolBinding}</span> <span class="tag">A2A ${each.protocolVersion}</span></li>`)}
    </ul>
    <h2>Skills</h2>
    ${skills.length === 0 && html`<p class="quiet">The card lists none</p>`}
    <ul class="plain-list">
      ${skills.map((skill) => html`<li><b>${skill.name}</b> <code>${skill.id}</code><br />${skill.description} ${skill.tags.map((tag) => html`<span class="tag">${tag}</span>`)}</li>`)}
    </ul>
    <details class="more">
      <summary>JSON</summary>
      <pre class="json" tabindex="0">${pretty(card)}</pre>
    </details>
  </section>`
}

interface Turn {
  readonly text: string
  readonly taskId?: string
  readonly reply?: string
}

/** Each message begins a task. Its questions are answered below it. */
function Chat({ session }: { session: Session }): VNode {
  const [turns, setTurns] = useState<readonly Turn[]>([])
  const [text, setText] = useState('')
  const [failure, setFailure] = useState('')
  const send = (event: Event): void => {
    event.preventDefault()
    const said = text.trim()
    if (said === '') return
    setText('')
    api.send({ text: said }).then(
      ({ taskId, text: reply }) => {
        setFailure('')
        setTurns((before) => [
          ...before,
          { text: said, ...(taskId !== undefined && { taskId }), ...(reply !== undefined && { reply }) },
        ])
      },
      (error: unknown) => setFailure(error instanceof Error ? error.message : String(error)),
    )
  }
  return html`<section class="block chat" aria-label="Try it">
    <h2>Try it</h2>
    ${turns.map((turn) =>
      turn.taskId === undefined
        ? html`<ol class="messages">
            <li class="message user">
              <h3>User</h3>
              <div class="text">${turn.text}</div>
            </li>
            <li class="message agent">
              <h3>Agent</h3>
              <${Text} text=${turn.reply ?? ''} />
            </li>
          </ol>`
        : html`<${ChatTask} key=${turn.taskId} id=${turn.taskId} session=${session} />`,
    )}
    ${failure !== '' && html`<p class="notice" role="alert">${failure}</p>`}
    <form class="reply" onSubmit=${send}>
      <label>
        <span>Message</span>
        <textarea
          rows="2"
          value=${text}
          onInput=${(event: Event) => setText((event.currentTarget as HTMLTextAreaElement).value)}
        ></textarea>
      </label>
      <button type="submit" class="solid" disabled=${text.trim() === ''}>Send</button>
    </form>
  </section>`
}

function ChatTask({ id, session }: { id: string; session: Session }): VNode {
  const { log, failure } = useTask(id, session)
  const task = log.latest
  if (task === undefined) return html`<p class="quiet">${failure === '' ? 'Loading…' : failure}</p>`
  return html`<article class="chat-task">
    <p><${StateBadge} state=${task.state} /> <a href=${taskHref(id)}>Open the task</a></p>
    <${Conversation} task=${task} />
    <${Results} task=${task} />
    <${Reply} session=${session} task=${task} />
  </article>`
}
