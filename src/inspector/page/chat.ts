/**
 * A chat with the agent.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, type Session } from './api.js'
import { useTask } from './live.js'
import { Text } from './markdown/text.js'
import { useDraft } from './message.js'
import { taskHref } from './route.js'
import { StateBadge } from './state.js'
import { Conversation, Results } from './task/conversation.js'
import { Reply } from './task/reply.js'
import { messageOf, ownerName } from './format.js'

interface Turn {
  readonly said: string
  readonly taskId?: string
  /** The text of a reply without a task. */
  readonly text?: string
}

/** Each message begins a task. Its questions are answered below it. */
export function Chat({ session }: { session: Session }): VNode {
  const [turns, setTurns] = useState<readonly Turn[]>([])
  const [failure, setFailure] = useState('')
  const [isBusy, setBusy] = useState(false)
  const draft = useDraft(session)
  const isReady = draft.isReady && !isBusy
  const send = async (): Promise<void> => {
    setBusy(true)
    try {
      const reply = await api.send(await draft.content())
      setTurns((before) => [...before, { said: draft.summary, ...reply }])
      setFailure('')
      draft.clear()
    } catch (error) {
      setFailure(messageOf(error))
    } finally {
      setBusy(false)
    }
  }
  const submit = (event: Event): void => {
    event.preventDefault()
    if (isReady) void send()
  }
  return html`<section class="block chat" aria-label="Try it">
    <h2>Try it</h2>
    ${
      session.sender !== null &&
      html`<p class="quiet">
        The agent gets your messages from the user <b>${ownerName(session.sender)}</b>.
      </p>`
    }
    ${turns.map((turn) => html`<${TurnView} turn=${turn} session=${session} />`)}
    ${failure !== '' && html`<p class="notice" role="alert">${failure}</p>`}
    <form class="reply" onSubmit=${submit}>
      ${draft.textField('Message')}
      <button type="submit" class="solid" disabled=${!isReady}>Send</button>
      ${draft.fileField}
    </form>
  </section>`
}

function TurnView({ turn, session }: { turn: Turn; session: Session }): VNode {
  const { said, taskId, text = '' } = turn
  if (taskId !== undefined) return html`<${ChatTask} id=${taskId} session=${session} />`
  return html`<ol class="messages">
    <li class="message user">
      <h3>User</h3>
      <div class="text">${said}</div>
    </li>
    <li class="message agent">
      <h3>Agent</h3>
      <${Text} text=${text} />
    </li>
  </ol>`
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
