/**
 * A chat with the agent.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { api, type Session } from './api.js'
import { useTask } from './live.js'
import { Text } from './markdown/text.js'
import { useDraft } from './message.js'
import { taskHref } from './route.js'
import { StateBadge } from './state.js'
import { Conversation, Results } from './task/conversation.js'
import { isAsked, Reply } from './task/reply.js'
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
  const [openTask, setOpenTask] = useState('')
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
    ${turns.map((turn, index) => html`<${TurnView} key=${index} turn=${turn} session=${session} onOpen=${setOpenTask} />`)}
    ${failure !== '' && html`<p class="notice" role="alert">${failure}</p>`}
    ${
      openTask !== '' && openTask === turns.at(-1)?.taskId
        ? html`<p>
            <button type="button" class="plain" onClick=${() => setOpenTask('')}>Begin another task</button>
          </p>`
        : html`<form class="reply" onSubmit=${submit}>
            ${draft.textField('Message')}
            <button type="submit" class="solid" disabled=${!isReady}>Send</button>
            ${draft.fileField}
          </form>`
    }
  </section>`
}

interface TurnProps {
  readonly turn: Turn
  readonly session: Session
  /** Receives the id of a task with a form of its own, and `''` once it has none. */
  readonly onOpen: (taskId: string) => void
}

function TurnView({ turn, session, onOpen }: TurnProps): VNode {
  const { said, taskId, text = '' } = turn
  if (taskId !== undefined) return html`<${ChatTask} id=${taskId} session=${session} onOpen=${onOpen} />`
  return html`<ol class="messages">
    <li class="message user">
      <h3>User</h3>
      <${Text} text=${said} />
    </li>
    <li class="message agent">
      <h3>Agent</h3>
      <${Text} text=${text} />
    </li>
  </ol>`
}

interface ChatTaskProps extends Pick<TurnProps, 'session' | 'onOpen'> {
  readonly id: string
}

function ChatTask({ id, session, onOpen }: ChatTaskProps): VNode {
  const { log, failure } = useTask(id, session)
  const task = log.latest
  const isQuestion = task !== undefined && isAsked(session, task)
  useEffect(() => onOpen(isQuestion ? id : ''), [isQuestion])
  if (task === undefined) return html`<p class="quiet">${failure === '' ? 'Loading…' : failure}</p>`
  return html`<article class="chat-task">
    <p><${StateBadge} state=${task.state} /> <a href=${taskHref(id)}>Open the task</a></p>
    <${Conversation} task=${task} isAsked=${isQuestion} />
    <${Results} task=${task} />
    ${isQuestion && html`<${Reply} session=${session} task=${task} />`}
  </article>`
}
