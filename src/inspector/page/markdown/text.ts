/**
 * Texts: rendered where they have markdown, and as they are. Both are one click apart.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { beginning } from '../format.js'
import { blocksOf, hasMarkup, type Block } from './blocks.js'
import { inlineOf, type Inline } from './inline.js'
import { Share } from './work.js'

interface TextProps {
  readonly text: string
  /** What the text is said to be. */
  readonly mediaType?: string | undefined
}

/** Texts below a heading of this level. */
const LEVEL_ABOVE = 3
/** Texts of more characters scroll by themselves, so that what follows them is near. */
const LONG = 2_000

export function Text({ text, mediaType }: TextProps): VNode {
  const [isSource, setSource] = useState(false)
  const shown = beginning(text)
  const hasOther = useMemo(() => isMarkdown(shown, mediaType), [shown, mediaType])
  const rendered = useRendered(hasOther && !isSource ? shown : '')
  const isTooMuch = hasOther && !isSource && rendered === undefined
  const view = rendered ?? html`<div class="text">${shown}</div>`
  const content = shown.length > LONG ? html`<div class="long" tabindex="0">${view}</div>` : view
  if (isTooMuch)
    return html`${content}
      <p class="quiet view">Too large to be rendered</p>`
  if (!hasOther) return content
  return html`<div class="with-view">
    ${content}
    <button type="button" class="link view" onClick=${() => setSource(!isSource)}>
      ${isSource ? 'Show as markdown' : 'Show as text'}
    </button>
  </div>`
}

/** A text of no type is what it looks like. */
function isMarkdown(text: string, mediaType: string | undefined): boolean {
  return mediaType ? /^text\/(x-)?markdown\b/i.test(mediaType) : hasMarkup(text)
}

/** `undefined` for no text, and for one that would keep the page busy. */
function useRendered(text: string): VNode | undefined {
  const share = useMemo(() => new Share(), [])
  useEffect(() => () => share.release(), [])
  return useMemo(() => {
    const blocks = text === '' ? undefined : share.render((work) => blocksOf(text, work))
    if (blocks === undefined) share.release()
    return blocks && html`<div class="markdown">${blocks.map(blockView)}</div>`
  }, [text])
}

/** The most characters of a line: they are always little work. */
const MAX_LINE = 400

/** A text in one line, without its links: the line may be one. */
export function Line({ text }: { text: string }): VNode {
  const parts = useMemo(() => inlineOf(text.slice(0, MAX_LINE).replace(BLOCK_MARK, '')), [text])
  return html`<span>${parts.map(wordsOf)}</span>`
}

/** What begins a block of markdown. */
const BLOCK_MARK = /^ {0,3}(#{1,6}|[-*+]|>) +/

function wordsOf(part: Inline): VNode | string {
  if (typeof part === 'string') return part
  if (part.type === 'code') return part.text
  const content = part.content.map(wordsOf)
  return part.type === 'a' ? html`<span>${content}</span>` : html`<${part.type}>${content}<//>`
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
