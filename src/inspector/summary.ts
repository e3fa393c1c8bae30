/**
 * Summaries of tasks, as the list shows them.
 *
 * @module
 */
import type { DeepReadonly, Message, TaskSnapshot } from '../core/task.js'
import { otherProtocolIn, type OtherProtocol } from '../runtime/protocols.js'
import { textOf } from '../wire/text.js'

/** A task in one row. */
export interface Summary {
  readonly id: string
  readonly contextId: string
  readonly skill: string
  readonly isSkillStated: boolean
  readonly state: string
  readonly owner?: string
  /** The protocol by which it came. Absent for A2A, and for a task that code has begun. */
  readonly protocol?: OtherProtocol
  readonly generation: number
  readonly createdAt: string
  readonly updatedAt: string
  /** The beginning of the first message, or of the input. */
  readonly title: string
  /** The beginning of the status message, or of the error. */
  readonly note: string
  /** Whether it has failed for good. */
  readonly isDead: boolean
  readonly messages: number
  readonly artifacts: number
}

const MAX_TEXT = 200

export function summaryOf(task: TaskSnapshot<string>): Summary {
  const { id, contextId, skill, state, owner, generation, createdAt, updatedAt, failure } = task
  const protocol = protocolOf(task)
  return {
    ...{ id, contextId, skill, state, generation, createdAt, updatedAt },
    isSkillStated: isSkillStated(task),
    ...(owner !== undefined && { owner }),
    ...(protocol !== undefined && { protocol }),
    title: titleOf(task),
    note: short(failure?.error?.message ?? statusText(task.message)),
    isDead: failure !== undefined,
    messages: task.messages.length,
    artifacts: task.artifacts.length,
  }
}

/** What a search by text looks at, in small letters. */
export function searchedIn({
  id,
  contextId,
  skill,
  isSkillStated,
  owner = '',
  protocol,
  title,
  note,
}: Summary): string {
  return [id, contextId, isSkillStated ? skill : '', owner, protocol ?? '', title, note]
    .join('\n')
    .toLowerCase()
}

/** A message names no skill: a task that it begins has the first one of the card. */
export function isSkillStated({ skill, input, messages }: TaskSnapshot<string>): boolean {
  return skill !== '' && (input !== null || messages[0]?.role !== 'user')
}

/** As the first message says. */
export function protocolOf({ messages: [first] }: TaskSnapshot<string>): OtherProtocol | undefined {
  return first?.role === 'user' ? otherProtocolIn(first.metadata) : undefined
}

export function titleOf({ messages, input }: TaskSnapshot<string>): string {
  const [first] = messages
  const text = first === undefined ? '' : textOf(first)
  if (text !== '') return short(text)
  if (typeof input === 'string') return short(input)
  return input === null ? '' : short(JSON.stringify(input))
}

export function statusText(message: string | DeepReadonly<Message> | undefined): string {
  if (message === undefined) return ''
  return typeof message === 'string' ? message : textOf(message)
}

function short(text: string): string {
  const line = text
    .slice(0, MAX_TEXT * 2)
    .replace(/\s+/g, ' ')
    .trim()
  return line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT)}…` : line
}
