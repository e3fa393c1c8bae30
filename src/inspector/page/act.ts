/**
 * Actions on a task: answer, write, cancel, copy. Each change is confirmed.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, type Session } from './api.js'
import { copy, download } from './files.js'
import { stateName } from './format.js'
import type { Snapshot, TaskLog } from './log.js'
import { asClientCode, asCurl, asTest, isReplayable } from './snippets.js'
import { statusText } from '../summary.js'

interface ActProps {
  readonly session: Session
  readonly task: Snapshot
  readonly log: TaskLog
}

/** The URL that clients call. */
function urlOf({ card }: Session): string {
  return card?.supportedInterfaces[0]?.url ?? 'http://localhost:3000'
}

export function Actions({ session, task, log }: ActProps): VNode {
  const [said, setSaid] = useState('')
  const [isAsking, setAsking] = useState(false)
  const url = urlOf(session)
  const isEnded = session.lifecycle.terminal.includes(task.state)
  const put = (text: string, name: string) => async (): Promise<void> => {
    setSaid((await copy(text)) ? `Copied ${name}` : 'The browser does not let the page copy')
  }
  return html`<div class="actions">
    <details class="menu">
      <summary>Copy</summary>
      <div class="menu-items">
        <button type="button" onClick=${put(task.id, 'the id')}>Id</button>
        <button type="button" onClick=${put(asCurl(task, url), 'the request')}>As curl</button>
        <button type="button" onClick=${put(asClientCode(task, url), 'the program')}>As client code</button>
        <button type="button" onClick=${put(JSON.stringify(task, null, 2), 'the task')}>As JSON</button>
        ${
          isReplayable(task) &&
          html`<button
            type="button"
            onClick=${() => download(`task-${task.id.slice(0, 8)}.test.ts`, asTest(task, log.entries))}
          >
            Save as a test
          </button>`
        }
      </div>
    </details>
    ${
      !isEnded &&
      session.actions.includes('cancel') &&
      html`<button type="button" class="danger" onClick=${() => setAsking(true)}>Cancel task</button>`
    }
    ${
      isAsking &&
      html`<${Confirm}
        title="Cancel this task?"
        text=${`It is ${stateName(task.state).toLowerCase()}. Its work is aborted, and it cannot be continued.`}
        verb="Cancel task"
        isDangerous=${true}
        act=${() => api.cancel(task.id)}
        close=${(done: boolean) => {
          setAsking(false)
          if (done) setSaid('Canceled')
        }}
      />`
    }
    <span class="said" role="status">${said}</span>
  </div>`
}

interface ConfirmProps {
  readonly title: string
  readonly text: string
  readonly verb: string
  readonly isDangerous?: boolean
  readonly act: () => Promise<unknown>
  readonly close: (done: boolean) => void
}

export function Confirm({ title, text, verb, isDangerous = false, act, close }: ConfirmProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null)
  const [failure, setFailure] = useState('')
  const [isBusy, setBusy] = useState(false)
  useEffect(() => dialog.current?.showModal(), [])
  const perform = async (): Promise<void> => {
    setBusy(true)
    try {
      await act()
      close(true)
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error))
      setBusy(false)
    }
  }
  return html`<dialog ref=${dialog} aria-labelledby="confirm-title" onClose=${() => close(false)}>
    <h2 id="confirm-title">${title}</h2>
    <p class="text">${text}</p>
    ${failure !== '' && html`<p class="notice" role="alert">${failure}</p>`}
    <div class="buttons end">
      <button type="button" class="plain" onClick=${() => dialog.current?.close()}>Keep it</button>
      <button
        type="button"
        class=${isDangerous ? 'danger solid' : 'solid'}
        disabled=${isBusy}
        onClick=${perform}
      >
        ${verb}
      </button>
    </div>
  </dialog>`
}

/** A message to the task: the answer to its question, or a further one. */
export function Reply({ session, task }: Omit<ActProps, 'log'>): VNode | null {
  const [text, setText] = useState('')
  const [isAsking, setAsking] = useState(false)
  const { lifecycle, actions } = session
  if (!actions.includes('answer') || lifecycle.terminal.includes(task.state)) return null
  const isQuestion = lifecycle.interrupted.includes(task.state)
  const question = isQuestion ? statusText(task.message) : ''
  const submit = (event: Event): void => {
    event.preventDefault()
    if (text.trim() !== '') setAsking(true)
  }
  return html`<form class=${isQuestion ? 'reply question' : 'reply'} onSubmit=${submit}>
    <label>
      <span
        >${isQuestion ? (question === '' ? 'The agent waits for an answer' : question) : 'Message to the agent'}</span
      >
      <textarea
        rows="2"
        value=${text}
        onInput=${(event: Event) => setText((event.currentTarget as HTMLTextAreaElement).value)}
      ></textarea>
    </label>
    <button type="submit" class="solid" disabled=${text.trim() === ''}>
      ${isQuestion ? 'Answer' : 'Send'}
    </button>
    ${
      isAsking &&
      html`<${Confirm}
        title=${isQuestion ? 'Send this answer?' : 'Send this message?'}
        text=${text}
        verb="Send"
        act=${() => api.send({ text, taskId: task.id })}
        close=${(done: boolean) => {
          setAsking(false)
          if (done) setText('')
        }}
      />`
    }
  </form>`
}
