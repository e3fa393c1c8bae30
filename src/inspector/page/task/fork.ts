/**
 * Dialog that forks a task at the shown event, with other answers.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { textOf } from '../../../wire/text.js'
import { api, type Session } from '../api.js'
import { Confirmed } from '../confirm.js'
import { taskHref } from '../route.js'
import type { Entry, Snapshot } from './log.js'

interface ForkProps {
  readonly session: Session
  /** The task as it is shown. */
  readonly task: Snapshot
  readonly entries: readonly Entry[]
  /** Whether an earlier event than the last one is shown. */
  readonly isPast: boolean
}

interface Answer {
  /** The name of the question in the history. */
  readonly name: string
  readonly text: string
}

export function Fork({ session, task, entries, isPast }: ForkProps): VNode | null {
  const [changed, setChanged] = useState<Readonly<Record<string, string>>>({})
  if (!session.actions.includes('fork') || !entries.some(({ type }) => type === 'journal')) return null
  const answers = answersIn(task, entries)
  const act = async (): Promise<void> => {
    const { taskId } = await api.fork(task.id, {
      answers: changed,
      ...(isPast && { generation: task.generation }),
    })
    setChanged({})
    if (taskId !== undefined) location.hash = taskHref(taskId)
  }
  const change = (name: string) => (event: Event) =>
    setChanged({ ...changed, [name]: (event.currentTarget as HTMLInputElement).value })
  return html`<${Confirmed}
    label=${isPast ? 'Fork from here' : 'Fork'}
    title=${isPast ? `Fork from event ${task.generation}?` : 'Fork this task?'}
    text="A new task of the same owner shares the past of this one, and continues from there. This one stays as it is."
    verb="Fork"
    act=${act}
  >
    ${answers.map(
      ({ name, text }) =>
        html`<label class="field" key=${name}>
          <span>Answer to ${name.replace(/#1$/, '')}</span>
          <input value=${changed[name] ?? text} onInput=${change(name)} />
        </label>`,
    )}
  </${Confirmed}>`
}

/** The answers of the latest turn. */
function answersIn({ messages }: Snapshot, entries: readonly Entry[]): readonly Answer[] {
  const answers = new Map<string, Answer>()
  for (const event of entries) {
    if (event.type !== 'journal') continue
    const { entry } = event
    if (entry.kind === 'turn') answers.clear()
    if (entry.kind !== 'answer') continue
    const message = messages.find(({ messageId }) => messageId === entry.messageId)
    answers.set(entry.name, { name: entry.name, text: message === undefined ? '' : textOf(message) })
  }
  return [...answers.values()]
}
