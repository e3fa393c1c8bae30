/**
 * Webhooks of a task, with the latest attempts to deliver to each.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { PushFailure } from '../../../server/push/webhook.js'
import { api, type Details, type Session } from '../api.js'
import { Confirm } from '../confirm.js'
import { clockTime, duration } from '../format.js'
import { taskHref } from '../route.js'

interface WebhooksProps {
  readonly session: Session
  readonly taskId: string
  readonly webhooks: Details['webhooks']
}

type Webhook = Details['webhooks'][number]

export function Webhooks({ session, taskId, webhooks }: WebhooksProps): VNode | null {
  const [asked, setAsked] = useState<string>()
  if (webhooks.length === 0) return null
  return html`<section class="block" aria-label="Webhooks">
    <h2>Webhooks</h2>
    <ul class="plain-list webhooks">
      ${webhooks.map(
        (webhook) =>
          html`<li key=${webhook.id}>
            <${Delivery} webhook=${webhook} />
            ${
              webhook.state === 'disabled' &&
              session.actions.includes('redeliver') &&
              html`<button type="button" class="plain" onClick=${() => setAsked(webhook.id)}>
                Deliver again
              </button>`
            }
            <${Attempts} taskId=${taskId} webhook=${webhook} />
          </li>`,
      )}
    </ul>
    ${
      asked !== undefined &&
      html`<${Confirm}
        title="Deliver again?"
        text="The notification that failed is sent again, and then those after it."
        verb="Deliver again"
        act=${() => api.redeliver(taskId, asked)}
        close=${() => setAsked(undefined)}
      />`
    }
  </section>`
}

function Delivery({ webhook }: { webhook: Webhook }): VNode {
  const { origin, state, failure } = webhook
  return html`<b>${origin}</b> <span class="tag">${state}</span>
    <p class="quiet">${progressOf(webhook)}</p>
    ${failure !== undefined && html`<p class="failure-text">${textOf(failure)}</p>`}`
}

function progressOf({ delivered, attempts, nextAttemptAt }: Webhook): string {
  const tried = attempts === 0 ? '' : `, ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'} at the next`
  const next = nextAttemptAt === undefined ? '' : `, again at ${clockTime(nextAttemptAt)}`
  return `${delivered} delivered${tried}${next}`
}

/** The newest first. */
function Attempts({ taskId, webhook }: { taskId: string; webhook: Webhook }): VNode | null {
  const { recent, origin } = webhook
  if (recent.length === 0) return null
  return html`<details class="more">
    <summary>Latest attempts (${recent.length})</summary>
    <div class="attempts" tabindex="0" role="region" aria-label=${`Attempts to deliver to ${origin}`}>
      <table>
        <thead>
          <tr>
            <th scope="col">Sent</th>
            <th scope="col">Event</th>
            <th scope="col">Try</th>
            <th scope="col">Outcome</th>
            <th scope="col">Took</th>
          </tr>
        </thead>
        <tbody>
          ${[...recent].reverse().map(
            ({ generation, attempt, sentAt, durationMs, failure }) =>
              html`<tr>
                <td><time datetime=${sentAt}>${clockTime(sentAt)}</time></td>
                <td><a href=${taskHref(taskId, generation)}>${generation}</a></td>
                <td>${attempt}</td>
                <td class=${failure && 'failure-text'}>${failure ? textOf(failure) : 'delivered'}</td>
                <td>${duration(durationMs)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </details>`
}

/** Most reasons name the status. */
function textOf({ reason, status }: PushFailure): string {
  return status === undefined || reason.includes(String(status)) ? reason : `${reason} (HTTP ${status})`
}
