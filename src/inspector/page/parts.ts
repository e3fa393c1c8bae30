/**
 * Contents of messages and artifacts. All of them are text, but for pictures of types that cannot contain code.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import type { DeepReadonly, Part } from '../../core/task.js'
import { answersIn, questionsIn } from '../../wire/question/questions.js'
import { beginning, bytes, pretty } from './format.js'
import { download } from './files.js'
import { Text } from './markdown/text.js'
import { schemaIn } from './task/asked.js'

/** SVG is not among them: it can contain scripts. */
const PICTURES = /^image\/(png|jpeg|gif|webp|avif)$/i
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/

export function Parts({ parts }: { parts: readonly DeepReadonly<Part>[] }): VNode {
  return html`${joined(parts).map((part) => html`<${PartView} part=${part} />`)}`
}

/** Chunks of a text are one text. */
function joined(parts: readonly DeepReadonly<Part>[]): readonly DeepReadonly<Part>[] {
  const all: DeepReadonly<Part>[] = []
  for (const part of parts) {
    const last = all.at(-1)
    const isPlain =
      part.filename === undefined && part.metadata === undefined && part.mediaType === last?.mediaType
    if (isPlain && last?.text !== undefined && part.text !== undefined) {
      all[all.length - 1] = { ...last, text: last.text + part.text }
    } else all.push(part)
  }
  return all
}

function PartView({ part }: { part: DeepReadonly<Part> }): VNode {
  if (part.text !== undefined) return html`<${Text} text=${part.text} mediaType=${part.mediaType} />`
  if (part.data !== undefined) return html`<${Data} part=${part} />`
  if (part.url !== undefined) return html`<${Address} part=${part} url=${part.url} />`
  return html`<${File} part=${part} raw=${part.raw} />`
}

/** What forms are made of is folded: people see the form. */
function Data({ part }: { part: DeepReadonly<Part> }): VNode {
  const { data } = part
  const json = html`<pre class="json" tabindex="0">${pretty(data)}</pre>`
  const message = { parts: [part] }
  const answers = answersIn(message)
  if (answers !== undefined) return html`<${Answers} answers=${answers} />`
  const isAsked = questionsIn(message).length > 0
  if (!isAsked && schemaIn(data) === undefined) return json
  return html`<details class="more">
    <summary>${isAsked ? 'Questions as JSON' : 'JSON Schema of the answer'}</summary>
    ${json}
  </details>`
}

/** Values by the ids of their questions. */
function Answers({ answers }: { answers: ReadonlyMap<string, unknown> }): VNode {
  return html`<dl class="answers">
    ${[...answers].map(
      ([id, value]) =>
        html`<div>
          <dt>${id}</dt>
          <dd>
            ${typeof value === 'object' && value !== null ? html`<pre class="json" tabindex="0">${pretty(value)}</pre>` : beginning(String(value))}
          </dd>
        </div>`,
    )}
  </dl>`
}

function Address({ part, url }: { part: DeepReadonly<Part>; url: string }): VNode {
  const name = part.filename ?? url
  const isWeb = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
  if (!isWeb) return html`<div class="file"><span class="file-name">${name}</span><code>${url}</code></div>`
  return html`<div class="file">
    <a href=${url} target="_blank" rel="noopener noreferrer nofollow">${name}</a>
    <span class="quiet">${part.mediaType ?? ''} at ${new URL(url).host}</span>
  </div>`
}

function File({ part, raw }: { part: DeepReadonly<Part>; raw: string }): VNode {
  const { mediaType = 'application/octet-stream', filename = 'file' } = part
  const size = Math.floor((raw.replace(/=+$/, '').length * 3) / 4)
  const isPicture = PICTURES.test(mediaType) && BASE64.test(raw)
  return html`<figure class="file">
    ${
      isPicture &&
      html`<img src=${`data:${mediaType};base64,${standard(raw)}`} alt=${filename} loading="lazy" />`
    }
    <figcaption>
      <span class="file-name">${filename}</span>
      <span class="quiet">${mediaType} · ${bytes(size)}</span>
      <button type="button" class="plain" onClick=${() => download(filename, bytesOf(raw))}>Save</button>
    </figcaption>
  </figure>`
}

function standard(raw: string): string {
  return raw.replace(/-/g, '+').replace(/_/g, '/')
}

function bytesOf(raw: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(standard(raw)), (character) => character.charCodeAt(0))
  } catch {
    return new TextEncoder().encode(raw)
  }
}
