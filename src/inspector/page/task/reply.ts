/**
 * A message to a task: the answer to its question, or a further one.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, type Session } from '../api.js'
import { Confirm } from '../confirm.js'
import { pretty } from '../format.js'
import { useDraft } from '../message.js'
import type { Snapshot } from './log.js'
import { dataOf, fieldsOf, isComplete, type Field, type Values } from './schema-fields.js'
import { statusText } from '../../summary.js'

interface ReplyProps {
  readonly session: Session
  readonly task: Snapshot
}

export function Reply({ session, task }: ReplyProps): VNode | null {
  const [values, setValues] = useState<Values>({})
  const [isAsking, setAsking] = useState(false)
  const draft = useDraft(session)
  const { lifecycle, actions } = session
  if (!actions.includes('answer') || lifecycle.terminal.includes(task.state)) return null
  const isQuestion = lifecycle.interrupted.includes(task.state)
  const fields = isQuestion ? fieldsOf(task.message) : []
  const isForm = fields.length > 0
  const isReady = isForm ? isComplete(fields, values) : draft.isReady
  const label = !isQuestion
    ? 'Message to the agent'
    : statusText(task.message) || 'The agent waits for an answer'
  const send = async (): Promise<unknown> => {
    const content = isForm ? { data: dataOf(fields, values) } : await draft.content()
    return await api.send({ ...content, taskId: task.id })
  }
  const submit = (event: Event): void => {
    event.preventDefault()
    if (isReady) setAsking(true)
  }
  return html`<form class=${isQuestion ? 'reply question' : 'reply'} onSubmit=${submit}>
    ${
      isForm
        ? html`<${Fields} label=${label} fields=${fields} values=${values} setValues=${setValues} />`
        : draft.textField(label)
    }
    <button type="submit" class="solid" disabled=${!isReady}>${isQuestion ? 'Answer' : 'Send'}</button>
    ${!isForm && draft.fileField}
    ${
      isAsking &&
      html`<${Confirm}
        title=${isQuestion ? 'Send this answer?' : 'Send this message?'}
        text=${isForm ? pretty(dataOf(fields, values)) : draft.summary}
        verb="Send"
        act=${send}
        close=${(done: boolean) => {
          setAsking(false)
          if (!done) return
          setValues({})
          draft.clear()
        }}
      />`
    }
  </form>`
}

interface FieldsProps {
  readonly label: string
  readonly fields: readonly Field[]
  readonly values: Values
  readonly setValues: (values: Values) => void
}

function Fields({ label, fields, values, setValues }: FieldsProps): VNode {
  const onInput = (name: string) => (event: Event) => {
    setValues({ ...values, [name]: (event.currentTarget as HTMLInputElement | HTMLSelectElement).value })
  }
  return html`<fieldset>
    <legend>${label}</legend>
    ${fields.map((field) => {
      const { name, hint, kind, isRequired } = field
      const value = values[name] ?? ''
      return html`<label class="field" key=${name}>
        <span>${field.label}${isRequired ? '' : ' (optional)'}${hint === '' ? '' : `: ${hint}`}</span>
        ${
          kind === 'choice' || kind === 'boolean'
            ? html`<select
                value=${kind === 'boolean' && value === '' ? 'false' : value}
                onChange=${onInput(name)}
              >
                ${kind === 'choice' && html`<option value=""></option>`}
                ${(kind === 'choice' ? field.choices : ['false', 'true']).map(
                  (choice) =>
                    html`<option value=${choice}>
                      ${kind === 'choice' ? choice : choice === 'true' ? 'Yes' : 'No'}
                    </option>`,
                )}
              </select>`
            : html`<input
                value=${value}
                inputmode=${kind === 'number' ? 'decimal' : 'text'}
                onInput=${onInput(name)}
              />`
        }
      </label>`
    })}
  </fieldset>`
}
