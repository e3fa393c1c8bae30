/**
 * The conversation of a task, and its results.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Artifact, DeepReadonly, Message, TaskFailure } from '../../../core/task.js'
import { pretty } from '../format.js'
import { Text } from '../markdown/text.js'
import type { Snapshot } from './log.js'
import { Parts } from '../parts.js'

/** Messages before these are shown on demand. */
const LATEST = 50

export function Conversation({ task }: { task: Snapshot }): VNode {
  const { messages, message, input, skill } = task
  const shown = new Set(messages.map(({ messageId }) => messageId))
  const status = typeof message === 'object' && shown.has(message.messageId) ? undefined : message
  const hasInput = messages.length === 0 && input !== null
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
      ${
        hasInput &&
        html`<li class="message user">
          <h3>Input of ${skill === '' ? 'the task' : skill}</h3>
          ${typeof input === 'string' ? html`<${Text} text=${input} />` : html`<pre class="json" tabindex="0">${pretty(input)}</pre>`}
        </li>`
      }
      ${messages.slice(hidden).map((each) => html`<${MessageView} key=${`${each.role} ${each.messageId}`} message=${each} />`)}
      ${
        status !== undefined &&
        html`<li class="message status">
          <h3>Status</h3>
          ${typeof status === 'string' ? html`<${Text} text=${status} />` : html`<${Parts} parts=${status.parts} />`}
        </li>`
      }
    </ol>
    ${messages.length === 0 && !hasInput && status === undefined && html`<p class="quiet">No messages</p>`}
  </section>`
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
