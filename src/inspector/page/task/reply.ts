/**
 * A message to a task: the answer to its question, or a further one.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useId, useState } from 'preact/hooks'
import { api, type Session } from '../api.js'
import { Confirm } from '../confirm.js'
import { pretty } from '../format.js'
import { Text } from '../markdown/text.js'
import { useDraft } from '../message.js'
import { Parts } from '../parts.js'
import type { Snapshot } from './log.js'
import {
  choicesOf,
  dataOf,
  fieldsOf,
  isComplete,
  isForm,
  type Choice,
  type Field,
  type Values,
} from './schema-fields.js'

interface ReplyProps {
  readonly session: Session
  readonly task: Snapshot
}

/** Whether {@link Reply} shows the question of a task, with the form of its answer. */
export function isAsked({ lifecycle, actions }: Session, { state }: Snapshot): boolean {
  return actions.includes('answer') && lifecycle.interrupted.includes(state)
}

export function Reply({ session, task }: ReplyProps): VNode | null {
  const { lifecycle, actions } = session
  if (!actions.includes('answer') || lifecycle.terminal.includes(task.state)) return null
  if (!isAsked(session, task)) return html`<${FreeReply} session=${session} task=${task} />`
  const fields = fieldsOf(task.message)
  const form = fields.length > 0 ? html`<${FormReply} task=${task} fields=${fields} />` : undefined
  // Each question has a form of its own.
  return html`<div key=${questionId(task)}>
    ${form ?? html`<${FreeReply} session=${session} task=${task} isAnswer />`}
  </div>`
}

function questionId({ message }: Snapshot): string {
  return typeof message === 'object' ? message.messageId : (message ?? '')
}

interface FreeProps extends ReplyProps {
  readonly isAnswer?: boolean
}

/** A text, and files. */
function FreeReply({ session, task, isAnswer = false }: FreeProps): VNode {
  const [isAsking, setAsking] = useState(false)
  const id = useId()
  const draft = useDraft(session)
  const submit = (event: Event): void => {
    event.preventDefault()
    if (draft.isReady) setAsking(true)
  }
  return html`<form class=${isAnswer ? 'reply question' : 'reply'} onSubmit=${submit}>
    ${isAnswer && html`<${Question} id=${id} task=${task} />`}
    ${draft.textField(isAnswer ? { id } : 'Message to the agent')}
    <button type="submit" class="solid" disabled=${!draft.isReady}>${isAnswer ? 'Answer' : 'Send'}</button>
    ${draft.fileField}
    ${
      isAsking &&
      html`<${Confirm}
        title=${isAnswer ? 'Send this answer?' : 'Send this message?'}
        text=${draft.summary}
        verb="Send"
        act=${async () => api.send({ ...(await draft.content()), taskId: task.id })}
        close=${(done: boolean) => {
          setAsking(false)
          if (done) draft.clear()
        }}
      />`
    }
  </form>`
}

interface FormProps {
  readonly task: Snapshot
  readonly fields: readonly Field[]
}

/** The fields of the schema in a question; of one that has few answers, a button for each. */
function FormReply({ task, fields }: FormProps): VNode {
  const [values, setValues] = useState<Values>({})
  const [asked, setAsked] = useState('')
  const id = useId()
  const choices = choicesOf(fields)
  const submit = (event: Event): void => {
    event.preventDefault()
    if (isComplete(fields, values)) setAsked(pretty(dataOf(fields, values)))
  }
  const choose = (field: Field, { label, value }: Choice): void => {
    setValues({ [field.name]: value })
    setAsked(label)
  }
  return html`<form class="reply question" onSubmit=${submit}>
    <${Question} id=${id} task=${task} />
    <fieldset aria-labelledby=${id}>
      ${
        choices === undefined
          ? fields.map(
              (field) =>
                html`<${Input} key=${field.name} field=${field} values=${values} setValues=${setValues} />`,
            )
          : html`<${Choices} fields=${fields} choices=${choices} choose=${choose} />`
      }
    </fieldset>
    ${choices === undefined && html`<button type="submit" class="solid" disabled=${!isComplete(fields, values)}>Answer</button>`}
    ${
      asked !== '' &&
      html`<${Confirm}
        title="Send this answer?"
        text=${asked}
        verb="Send"
        act=${() => api.send({ data: dataOf(fields, values), taskId: task.id })}
        close=${() => setAsked('')}
      />`
    }
  </form>`
}

/** The status message of the task, without the schema that the form is made of. */
function Question({ id, task: { message } }: { id: string; task: Snapshot }): VNode {
  const parts = typeof message === 'object' ? message.parts.filter(({ data }) => !isForm(data)) : []
  const text = typeof message === 'string' && message !== '' ? message : 'The agent waits for an answer'
  return html`<div class="asked" id=${id}>
    ${parts.length > 0 ? html`<${Parts} parts=${parts} />` : html`<${Text} text=${text} />`}
  </div>`
}

interface ChoicesProps {
  readonly fields: readonly Field[]
  readonly choices: readonly Choice[]
  readonly choose: (field: Field, choice: Choice) => void
}

function Choices({ fields, choices, choose }: ChoicesProps): VNode {
  return html`${fields.map(
    (field) =>
      html`<div class="choices" role="group" aria-label=${field.label}>
        <span class="quiet">${nameOf(field)}</span>
        <div class="buttons">
          ${choices.map((choice) => html`<button type="button" class="plain" onClick=${() => choose(field, choice)}>${choice.label}</button>`)}
        </div>
      </div>`,
  )}`
}

function nameOf({ label, hint }: Field): string {
  return hint === '' ? label : `${label}: ${hint}`
}

interface InputProps {
  readonly field: Field
  readonly values: Values
  readonly setValues: (values: Values) => void
}

function Input({ field, values, setValues }: InputProps): VNode {
  const { name, kind, isRequired, choices } = field
  const value = values[name] ?? ''
  const set = (next: string): void => setValues({ ...values, [name]: next })
  const onInput = (event: Event): void =>
    set((event.currentTarget as HTMLInputElement | HTMLSelectElement).value)
  if (kind === 'boolean') {
    const onChange = (event: Event): void => set(String((event.currentTarget as HTMLInputElement).checked))
    return html`<label class="check">
      <input type="checkbox" checked=${value === 'true'} onChange=${onChange} />
      <span>${nameOf(field)}</span>
    </label>`
  }
  return html`<label class="field">
    <span>${nameOf(field)}${isRequired ? '' : ' (optional)'}</span>
    ${
      kind === 'choice'
        ? html`<select value=${value} onChange=${onInput}>
            <option value=""></option>
            ${choices.map((choice) => html`<option value=${choice}>${choice}</option>`)}
          </select>`
        : html`<input
            value=${value}
            inputmode=${kind === 'number' ? 'decimal' : 'text'}
            onInput=${onInput}
          />`
    }
  </label>`
}
