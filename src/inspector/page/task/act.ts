/**
 * Actions on a task: answer, write, cancel, copy. Each change is confirmed.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, type Session } from '../api.js'
import { Confirmed } from '../confirm.js'
import { copy, download } from '../files.js'
import { stateName } from '../format.js'
import type { Snapshot, TaskLog } from './log.js'
import { taskHref } from '../route.js'
import { asClientCode, asCurl, asTest, isReplayable } from './snippets.js'

interface ActProps {
  readonly session: Session
  readonly task: Snapshot
  readonly log: TaskLog
  /** Further actions. */
  readonly children?: ComponentChildren
}

/** The URL that clients call by JSON-RPC, if there is one. */
function urlOf({ card }: Session): string {
  const interfaces = card?.supportedInterfaces ?? []
  const isRpc = ({ protocolBinding }: (typeof interfaces)[number]): boolean => protocolBinding === 'JSONRPC'
  return (interfaces.find(isRpc) ?? interfaces[0])?.url ?? 'http://localhost:3000'
}

export function Actions({ session, task, log, children }: ActProps): VNode {
  const [said, setSaid] = useState('')
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
    ${isEnded && task.messages.length > 0 && session.actions.includes('send') && html`<${Again} task=${task} />`}
    ${task.failure !== undefined && task.failure.worker === undefined && session.actions.includes('redrive') && html`<${Redrive} task=${task} />`}
    ${children} ${isEnded && session.actions.includes('delete') && html`<${Delete} task=${task} />`}
    ${
      !isEnded &&
      session.actions.includes('cancel') &&
      html`<${Confirmed}
        label="Cancel task"
        title="Cancel this task?"
        text=${`It is ${stateName(task.state).toLowerCase()}. Its work is aborted, and it cannot be continued.`}
        verb="Cancel task"
        isDangerous=${true}
        act=${() => api.cancel(task.id)}
        onDone=${() => setSaid('Canceled')}
      />`
    }
    <span class="said" role="status">${said}</span>
  </div>`
}

/** Begins a new task with the message that began this one. */
function Again({ task }: { task: Snapshot }): VNode {
  return html`<${Confirmed}
    label="Run again"
    title="Run this again?"
    text="Its first message is sent again, and begins a new task of the same owner."
    verb="Run again"
    act=${async () => show(await api.again(task.id))}
  />`
}

/** Continues a task that has failed for good in a new one. */
function Redrive({ task }: { task: Snapshot }): VNode {
  return html`<${Confirmed}
    label="Redrive"
    title="Redrive this task?"
    text="A new task continues it. Steps that are done stay done, and the one that has failed is done again."
    verb="Redrive"
    act=${async () => show(await api.redrive(task.id))}
  />`
}

/** Removes a task that has ended, and shows the list. */
function Delete({ task }: { task: Snapshot }): VNode {
  const act = async (): Promise<void> => {
    await api.delete(task.id)
    location.hash = '#/'
  }
  return html`<${Confirmed}
    label="Delete task"
    title="Delete this task?"
    text="Its log, its messages, its results and its webhooks are removed for good."
    verb="Delete task"
    isDangerous=${true}
    act=${act}
  />`
}

function show({ taskId }: { taskId?: string }): void {
  if (taskId !== undefined) location.hash = taskHref(taskId)
}
