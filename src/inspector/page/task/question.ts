/**
 * The question of a task.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { questionsIn } from '../../../wire/question/questions.js'
import { textOf } from '../../../wire/text.js'
import { Text } from '../markdown/text.js'
import { Parts } from '../parts.js'
import { schemaIn } from './asked.js'
import type { Snapshot } from './log.js'

interface QuestionProps {
  readonly id: string
  readonly task: Snapshot
  /** What is asked, where the status message says more: the values that the form offers. */
  readonly sentence?: string
}

/** The status message of the task, without what a form is made of. */
export function Question({ id, task: { message }, sentence = '' }: QuestionProps): VNode {
  const all = typeof message === 'object' ? message.parts : []
  const parts = all.filter(
    (part) => schemaIn(part.data) === undefined && questionsIn({ parts: [part] }).length === 0,
  )
  if (sentence !== '') {
    const said = textOf({ parts })
    // An answer that does not fit is said before the question that is asked again.
    const problem = said.slice(0, Math.max(0, said.indexOf(sentence))).trim()
    return html`${problem !== '' && html`<p class="wrong" role="alert">${problem}</p>`}
      <div class="asked" id=${id}>
        <${Text} text=${sentence} />
        <${Parts} parts=${parts.filter(({ text }) => text === undefined)} />
      </div>`
  }
  const text = typeof message === 'string' && message !== '' ? message : 'The agent waits for an answer'
  return html`<div class="asked" id=${id}>
    ${parts.length > 0 ? html`<${Parts} parts=${parts} />` : html`<${Text} text=${text} />`}
  </div>`
}
