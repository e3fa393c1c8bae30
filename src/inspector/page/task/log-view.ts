/**
 * The log of a task: every event, its JSON, and what clients received of it.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { api } from '../api.js'
import type { WireView } from '../../api/wire.js'
import { clockTime, messageOf, pretty } from '../format.js'
import type { Entry } from './log.js'
import { taskHref } from '../route.js'
import { describeEntry } from './timeline.js'
import { previewOf } from './preview.js'

interface LogProps {
  readonly taskId: string
  readonly entries: readonly Entry[]
  readonly current: number
}

const SHOWN = 300

export function LogView({ taskId, entries, current }: LogProps): VNode {
  const [limit, setLimit] = useState(SHOWN)
  const shown = entries.slice(0, limit)
  return html`<section class="block" aria-label="Log">
    <ol class="log">
      ${shown.map((entry) => html`<${LogRow} key=${entry.generation} taskId=${taskId} entry=${entry} isCurrent=${entry.generation === current} />`)}
    </ol>
    ${
      entries.length > limit &&
      html`<button type="button" class="plain" onClick=${() => setLimit(limit + SHOWN)}>
        Show more of ${entries.length} events
      </button>`
    }
  </section>`
}

interface LogRowProps {
  readonly taskId: string
  readonly entry: Entry
  readonly isCurrent: boolean
}

function LogRow({ taskId, entry, isCurrent }: LogRowProps): VNode {
  const [isOpen, setOpen] = useState(false)
  const { generation, timestamp, type } = entry
  return html`<li class=${isCurrent ? 'event current' : 'event'}>
    <a class="gen" href=${taskHref(taskId, generation)} aria-label=${`The task at event ${generation}`}
      >#${generation}</a
    >
    <time datetime=${timestamp}>${clockTime(timestamp)}</time>
    <span class=${`type t-${type}`}>${describeEntry(entry)}</span>
    <span class="event-text">${previewOf(entry)}</span>
    <button
      type="button"
      class="plain"
      aria-expanded=${isOpen}
      aria-label=${`JSON of event ${generation}`}
      onClick=${() => setOpen(!isOpen)}
    >
      JSON
    </button>
    ${isOpen && html`<pre class="json" tabindex="0">${pretty(entry)}</pre>`}
  </li>`
}

interface WireProps {
  readonly taskId: string
  readonly generation: number
}

export function WireTab({ taskId, generation }: WireProps): VNode {
  const [version, setVersion] = useState('1.0')
  const [view, setView] = useState<WireView>()
  const [failure, setFailure] = useState('')
  useEffect(() => {
    let isCurrent = true
    api.wire(taskId, version, generation).then(
      (next) => {
        if (!isCurrent) return
        setView(next)
        setFailure('')
      },
      (error: unknown) => isCurrent && setFailure(messageOf(error)),
    )
    return () => {
      isCurrent = false
    }
  }, [taskId, version, generation])
  return html`<section class="block" aria-label="As clients receive it">
    <div class="buttons" role="group" aria-label="Version of A2A">
      ${['1.0', '0.3'].map(
        (each) =>
          html`<button
            type="button"
            class="plain"
            aria-pressed=${version === each}
            onClick=${() => setVersion(each)}
          >
            A2A ${each}
          </button>`,
      )}
    </div>
    ${failure !== '' && html`<p class="notice" role="alert">${failure}</p>`}
    ${
      view !== undefined &&
      html`<h2>Event ${generation} in a stream</h2>
        ${
          view.event === null
            ? html`<p class="quiet">Clients receive nothing of this event.</p>`
            : html`<pre class="json" tabindex="0">${pretty(view.event)}</pre>`
        }
        <h2>GetTask at that time</h2>
        <pre class="json" tabindex="0">${pretty(view.task)}</pre>`
    }
  </section>`
}
