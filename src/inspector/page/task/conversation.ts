/**
 * The conversation of a task, and its results.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Artifact, DeepReadonly, Message, TaskFailure } from '../../../core/task.js'
import { isSkillStated } from '../../summary.js'
import { pretty } from '../format.js'
import { Text } from '../markdown/text.js'
import type { Snapshot } from './log.js'
import { Parts } from '../parts.js'

/** Messages before these are shown on demand. */
const LATEST = 50

interface ConversationProps {
  readonly task: Snapshot
  /** Whether the status message is shown elsewhere: it is the question of a form. */
  readonly isAsked?: boolean
}

export function Conversation({ task, isAsked = false }: ConversationProps): VNode {
  const { message, input } = task
  const statusId = typeof message === 'object' ? message.messageId : undefined
  const messages = isAsked ? task.messages.filter(({ messageId }) => messageId !== statusId) : task.messages
  const status = isAsked ? undefined : unlistedStatus(task)
  const hasInput = task.messages.length === 0 && input !== null
  const [isWhole, setWhole] = useState(false)
  const hidden = isWhole ? 0 : Math.max(0, messages.length - LATEST)
  return html`<section class="block" aria-label="Conversation">
    <h2>Conversation</h2>
    ${
      hidden > 0 &&
      html`<button type="button" class="link earlier" onClick=${() => setWhole(true)}>
        Show ${hidden} earlier ${hidden === 1 ? 'message' : 'messages'}
      </button>`
    }
    <ol class="messages">
      ${hasInput && html`<${Input} task=${task} />`}
      ${messages.slice(hidden).map((each) => html`<${MessageView} key=${`${each.role} ${each.messageId}`} message=${each} />`)}
      ${status !== undefined && html`<${Status} status=${status} />`}
    </ol>
    ${messages.length === 0 && !hasInput && status === undefined && !isAsked && html`<p class="quiet">No messages</p>`}
  </section>`
}

/** The status message, unless it is part of the conversation. */
function unlistedStatus({ message, messages }: Snapshot): Snapshot['message'] {
  if (typeof message !== 'object') return message
  return messages.some(({ messageId }) => messageId === message.messageId) ? undefined : message
}

function Input({ task }: { task: Snapshot }): VNode {
  const { input, skill } = task
  return html`<li class="message user">
    <h3>Input of ${isSkillStated(task) ? skill : 'the task'}</h3>
    ${typeof input === 'string' ? html`<${Text} text=${input} />` : html`<pre class="json" tabindex="0">${pretty(input)}</pre>`}
  </li>`
}

function Status({ status }: { status: NonNullable<Snapshot['message']> }): VNode {
  return html`<li class="message status">
    <h3>Status</h3>
    ${typeof status === 'string' ? html`<${Text} text=${status} />` : html`<${Parts} parts=${status.parts} />`}
  </li>`
}

function MessageView({ message }: { message: DeepReadonly<Message> }): VNode {
  return html`<li class=${`message ${message.role}`}>
    <h3>${message.role === 'user' ? 'User' : 'Agent'}</h3>
    <${Parts} parts=${message.parts} />
  </li>`
}

export function Results({ task }: { task: Snapshot }): VNode | null {
  const { artifacts, output, failure } = task
  if (artifacts.length === 0 && output === null && failure === undefined) return null
  return html`<section class="block" aria-label="Results">
    <h2>Results</h2>
    ${
      failure !== undefined &&
      html`<div class="failure">
        <b>Failed for good</b>${countOf(failure)}
        ${failure.error && html`<code>${failure.error.name}: ${failure.error.message}</code>`}
      </div>`
    }
    ${artifacts.map((artifact, index) => html`<${ArtifactView} key=${artifact.artifactId ?? index} artifact=${artifact} index=${index} />`)}
    ${
      output !== null &&
      html`<article class="artifact">
        <h3>Output</h3>
        ${typeof output === 'string' ? html`<${Text} text=${output} />` : html`<pre class="json" tabindex="0">${pretty(output)}</pre>`}
      </article>`
    }
  </section>`
}

function countOf({ count, reason }: Pick<TaskFailure, 'count' | 'reason'>): string {
  const what = reason === 'error' ? 'attempt' : 'restart'
  return ` after ${count} ${count === 1 ? what : `${what}s`}`
}

function ArtifactView({ artifact, index }: { artifact: DeepReadonly<Artifact>; index: number }): VNode {
  const { artifactId, name, description, parts } = artifact
  return html`<article class="artifact">
    <h3>
      ${name ?? `Artifact ${index + 1}`}${artifactId !== undefined && html` <code class="id">${artifactId}</code>`}
    </h3>
    ${description !== undefined && html`<p class="quiet">${description}</p>`}
    ${parts === undefined ? html`<pre class="json" tabindex="0">${pretty(artifact)}</pre>` : html`<${Parts} parts=${parts} />`}
  </article>`
}
