/**
 * A text, as it is or rendered as markdown. Both are one click apart.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { beginning } from '../format.js'
import { blocksOf, hasMarkup, type Block } from './blocks.js'
import type { Inline } from './inline.js'

interface TextProps {
  readonly text: string
  /** What the text is said to be. */
  readonly mediaType?: string | undefined
}

/** Texts below a heading of this level. */
const LEVEL_ABOVE = 3
/** Texts of more characters scroll by themselves, so that what follows them is near. */
const LONG = 2_000

export function Text({ text, mediaType = '' }: TextProps): VNode {
  const isMarkdown = /^text\/(x-)?markdown\b/i.test(mediaType)
  const [chosen, setRendered] = useState<boolean>()
  const isRendered = chosen ?? isMarkdown
  const shown = beginning(text)
  const view = isRendered ? html`<${Markdown} text=${shown} />` : html`<div class="text">${shown}</div>`
  const content = shown.length > LONG ? html`<div class="long" tabindex="0">${view}</div>` : view
  if (!isMarkdown && !isRendered && !hasMarkup(shown)) return content
  const other = isRendered ? 'Show as text' : 'Show as markdown'
  return html`<div class="with-view">
    ${content}
    <button type="button" class="link view" onClick=${() => setRendered(!isRendered)}>${other}</button>
  </div>`
}

function Markdown({ text }: { text: string }): VNode {
  const blocks = useMemo(() => blocksOf(text), [text])
  return html`<div class="markdown">${blocks.map(blockView)}</div>`
}

function blockView(block: Block): VNode {
  switch (block.type) {
    case 'paragraph':
      return html`<p>${block.content.map(inlineView)}</p>`
    case 'heading':
      return html`<${`h${Math.min(LEVEL_ABOVE + block.depth, 6)}`}>${block.content.map(inlineView)}<//>`
    case 'code':
      return html`<pre class="json" tabindex="0">${block.text}</pre>`
    case 'quote':
      return html`<blockquote>${block.blocks.map(blockView)}</blockquote>`
    case 'list': {
      const items = block.items.map((item) => html`<li>${item.map(blockView)}</li>`)
      return block.start === undefined
        ? html`<ul>
            ${items}
          </ul>`
        : html`<ol start=${block.start}>
            ${items}
          </ol>`
    }
    case 'table':
      return html`<div class="table" tabindex="0">
        <table>
          <thead>
            <tr>
              ${block.head.map((cell) => html`<th>${cell.map(inlineView)}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${block.rows.map(
              (row) =>
                html`<tr>
                  ${row.map((cell) => html`<td>${cell.map(inlineView)}</td>`)}
                </tr>`,
            )}
          </tbody>
        </table>
      </div>`
    case 'rule':
      return html`<hr />`
  }
}

function inlineView(part: Inline): VNode | string {
  if (typeof part === 'string') return part
  if (part.type === 'code') return html`<code>${part.text}</code>`
  const content = part.content.map(inlineView)
  if (part.type !== 'a') return html`<${part.type}>${content}<//>`
  // The address is there to read before it is followed.
  return html`<a href=${part.href} title=${part.href} target="_blank" rel="noopener noreferrer nofollow"
    >${content}</a
  >`
}
