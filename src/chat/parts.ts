/**
 * The parts of an artifact as pieces of the assistant's message, and what the message shows of them so far.
 *
 * An artifact grows, and may be replaced. AI SDK can only add to a message, or remove all that came since its last step. So the
 * pieces are kept: what a new version of an artifact has in common with what is shown stays where it is.
 *
 * @module
 */
import type { DeepReadonly, Part } from '../core/task.js'
import { A2AError } from '../core/errors.js'
import { isLink } from '../runtime/link.js'
import { MAX_WEIGHT, weightOf } from '../runtime/weight.js'
import { questionsIn } from '../wire/question/questions.js'
import { toolCallsIn } from '../wire/tool-calls.js'
import type { ChatChunk } from './types.js'

type AnyPart = DeepReadonly<Part>

/** One piece that the message shows: a text, or another part as JSON. */
interface Piece {
  /** The artifact that it is of. Absent for calls of tools and the like. */
  readonly owner?: string
  text?: string
  /** How many empty lines at its beginning are left out. */
  readonly cut?: number
  readonly json?: string
  readonly chunks: readonly ChatChunk[]
  /** An earlier message of the chat shows it, or an earlier step of this one. */
  readonly isEarlier: boolean
}

export interface Parts {
  /** Adds chunks that are no part of an artifact. */
  readonly put: (...chunks: readonly ChatChunk[]) => void
  /** Adds parts at the end of an artifact. */
  readonly append: (owner: string, parts: readonly AnyPart[]) => void
  /** Shows the artifact as it is now. */
  readonly show: (owner: string, parts: readonly AnyPart[]) => void
  /** Begins a step with these calls of tools, which leave the step before. What is replaced later is removed since here. */
  readonly beginStep: (toolCallIds: readonly string[]) => void
  /** Ends the text that is open. */
  readonly close: () => void
  /** Whether artifacts have text: in this step, or in any of the task. */
  readonly hasText: (isAny: boolean) => boolean
  /** What follows is shown by an earlier message, until it is set back. */
  isEarlier: boolean
}

export function partsWriter(write: (chunk: ChatChunk) => void): Parts {
  let pieces: Piece[] = []
  let openText: string | undefined
  let texts = 0
  let weight = 0

  const count = (added: number): void => {
    weight += added
    if (weight <= MAX_WEIGHT) return
    const text = `The reply is larger than the ${MAX_WEIGHT} bytes that a chat keeps in memory`
    throw new A2AError('LIMIT_EXCEEDED', text, { limit: 'reply', max: MAX_WEIGHT, actual: weight })
  }

  const close = (): void => {
    if (openText !== undefined) write({ type: 'text-end', id: openText })
    openText = undefined
  }

  const writeText = (delta: string): void => {
    if (openText === undefined) {
      openText = `text-${(texts += 1)}`
      write({ type: 'text-start', id: openText })
    }
    write({ type: 'text-delta', id: openText, delta })
  }

  const add = (piece: Omit<Piece, 'isEarlier'>): void => {
    const { isEarlier } = parts
    if (!isEarlier) close()
    count(weightOf(piece))
    pieces.push({ ...piece, isEarlier })
    if (!isEarlier) for (const chunk of piece.chunks) write(chunk)
  }

  const addText = (owner: string, text: string): void => {
    const { isEarlier } = parts
    const last = pieces.at(-1)
    if (last?.text !== undefined && last.owner === owner && last.isEarlier === isEarlier) {
      count(text.length)
      last.text += text
      if (!isEarlier) writeText(text)
      return
    }
    const before = pieces.findLast((piece) => piece.owner === owner && piece.text !== undefined)
    // What parts it from the text before is of no use where that is elsewhere.
    const cut = before?.isEarlier === true ? text.length - text.replace(/^\n+/, '').length : 0
    add({ owner, text, cut, chunks: [] })
    if (!isEarlier && text.length > cut) writeText(text.slice(cut))
  }

  const append = (owner: string, added: readonly AnyPart[]): void => {
    for (const part of added) {
      if (part.text === undefined) add({ owner, json: JSON.stringify(part), chunks: chunksOf(part) })
      else if (part.text !== '') addText(owner, part.text)
    }
  }

  const show = (owner: string, shown: readonly AnyPart[]): void => {
    const left = joined(shown)
    let isSame = true
    const kept = pieces.filter((piece) => piece.owner !== owner || (isSame &&= take(left, piece)))
    const known = new Set(kept)
    const isCut = pieces.some((piece) => !piece.isEarlier && !known.has(piece))
    if (kept.length < pieces.length) weight = kept.reduce((sum, piece) => sum + weightOf(piece), 0)
    pieces = kept
    if (isCut) rewrite()
    append(owner, left)
  }

  const rewrite = (): void => {
    close()
    write({ type: 'reset-step' })
    for (const { text = '', cut = 0, chunks, isEarlier } of pieces) {
      if (isEarlier) continue
      close()
      if (text.length > cut) writeText(text.slice(cut))
      for (const chunk of chunks) write(chunk)
    }
  }

  const beginStep = (toolCallIds: readonly string[]): void => {
    const isMoved = ({ chunks, isEarlier }: Piece): boolean =>
      !isEarlier && chunks.some((chunk) => 'toolCallId' in chunk && toolCallIds.includes(chunk.toolCallId))
    const moved = pieces.filter(isMoved)
    pieces = pieces.filter((piece) => !isMoved(piece))
    if (moved.length > 0) rewrite()
    close()
    pieces = [...pieces.map((piece) => ({ ...piece, isEarlier: true })), ...moved]
    write({ type: 'finish-step' })
    write({ type: 'start-step' })
    for (const chunk of moved.flatMap(({ chunks }) => chunks)) write(chunk)
  }

  const chunksOf = (part: AnyPart): ChatChunk[] => {
    const { raw, url, data } = part
    const mediaType = part.mediaType ?? 'application/octet-stream'
    if (raw !== undefined) return [{ type: 'file', mediaType, url: `data:${mediaType};base64,${raw}` }]
    if (url !== undefined) return isLink(url) ? [{ type: 'file', mediaType, url }] : []
    const isKnown = questionsIn({ parts: [part] }).length > 0 || toolCallsIn({ parts: [part] }).length > 0
    if (data === undefined || isKnown) return []
    return [{ type: 'data-json', id: `json-${pieces.length}`, data }]
  }

  const parts: Parts = {
    put: (...chunks) => add({ chunks }),
    ...{ append, show, beginStep, close, isEarlier: false },
    hasText: (isAny) => pieces.some(({ text, isEarlier }) => text !== undefined && (isAny || !isEarlier)),
  }
  return parts
}

/** With neighbouring texts as one: agents differ in how they cut them. */
function joined(parts: readonly AnyPart[]): AnyPart[] {
  const all: AnyPart[] = []
  for (const part of parts) {
    const last = all.at(-1)
    if (part.text === undefined || last?.text === undefined) all.push(part)
    else all[all.length - 1] = { text: last.text + part.text }
  }
  return all
}

/** Takes what a piece shows from the front of the parts. `false` if they begin with something else. */
function take(left: AnyPart[], { text, json }: Piece): boolean {
  const [first] = left
  if (first === undefined) return false
  if (text === undefined || first.text === undefined) {
    if (JSON.stringify(first) !== json) return false
    left.shift()
    return true
  }
  if (!first.text.startsWith(text)) return false
  if (first.text.length === text.length) left.shift()
  else left[0] = { text: first.text.slice(text.length) }
  return true
}
