/**
 * The fields of a form.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useId } from 'preact/hooks'
import type { Form, FormField } from '../../../wire/question/form.js'
import { choicesOf, draftProblem, inField, isWithin, textIn, type Draft, type Problem } from './asked.js'

interface Entered {
  readonly draft: Draft | undefined
  readonly set: (draft: Draft) => void
  /** Where the field is in the answer, such as `.trip.day`. */
  readonly path: string
  readonly problem: Problem | undefined
}

interface FieldsProps extends Entered {
  readonly fields: readonly FormField[]
}

/** The fields of an object, and those of objects within it. */
export function Fields({ fields, draft, set, path, problem }: FieldsProps): VNode {
  return html`<div class="answer-fields">
    ${fields.map((field) => {
      const { name, label, form, isRequired, description = '' } = field
      const inner = {
        draft: inField(draft, name),
        set: (next: Draft) => set({ ...(typeof draft === 'object' ? draft : {}), [name]: next }),
        path: `${path}.${name}`,
        problem,
      }
      const title = `${label}${description === '' ? '' : `: ${description}`}`
      const shown = isRequired || form.type === 'boolean' ? title : `${title} (optional)`
      if (form.type !== 'object')
        return html`<${Field} key=${name} ...${inner} form=${form} label=${shown} />`
      return html`<fieldset key=${name} class="inner">
        <legend>${shown}</legend>
        <${Fields} ...${inner} fields=${form.fields} />
      </fieldset>`
    })}
  </div>`
}

interface FieldProps extends Entered {
  readonly form: Form
  /** Its label, or the id of the element that is its label. */
  readonly label: string | { readonly id: string }
}

/** One field, and what is wrong with it. */
export function Field({ form, label, draft, set, path, problem }: FieldProps): VNode {
  const id = useId()
  const refusal = refusalAt(path, problem)
  const wrong = refusal ?? draftProblem(form, draft)
  const isBox = form.type === 'boolean'
  const said = {
    ...(wrong !== undefined && { 'aria-invalid': 'true', 'aria-describedby': id }),
    ...(typeof label !== 'string' && { 'aria-labelledby': label.id }),
  }
  const name = typeof label === 'string' && html`<span>${label}</span>`
  return html`<div class=${form.type === 'json' ? 'wide' : ''}>
    <label class=${isBox ? 'check' : 'field'}>
      ${!isBox && name}
      <${Control} form=${form} text=${textIn(draft)} set=${set} said=${said} isAlone=${path === ''} />
      ${isBox && name}
    </label>
    ${wrong !== undefined && html`<p class="wrong" id=${id} role=${refusal && 'alert'}>${wrong}</p>`}
  </div>`
}

/** What the agent says of this field, or of a part of its value. */
function refusalAt(path: string, problem: Problem | undefined): string | undefined {
  if (problem === undefined || path === '' || !isWithin(problem.path, path)) return undefined
  return `${problem.path.slice(path.length).replace(/^\./, '')} ${problem.reason}`.trim()
}

interface ControlProps {
  readonly form: Form
  readonly text: string
  readonly set: (draft: Draft) => void
  readonly said: object
  readonly isAlone: boolean
}

/** Kinds of inputs by the format of the schema. */
const INPUTS: ReadonlyMap<string, string> = new Map([
  ['date', 'date'],
  ['date-time', 'datetime-local'],
  ['time', 'time'],
  ['email', 'email'],
  ['uri', 'url'],
])

function Control({ form, text, set, said, isAlone }: ControlProps): VNode {
  const onInput = (event: Event): void => set((event.currentTarget as HTMLInputElement).value)
  switch (form.type) {
    case 'boolean': {
      const onChange = (event: Event): void => set(String((event.currentTarget as HTMLInputElement).checked))
      return html`<input type="checkbox" checked=${text === 'true'} onChange=${onChange} ...${said} />`
    }
    case 'choice':
      return html`<select value=${text} onChange=${onInput} ...${said}>
        <option value=""></option>
        ${form.options.map(({ label }, index) => html`<option value=${String(index)}>${label}</option>`)}
      </select>`
    case 'number':
      return html`<input
        value=${text}
        inputmode=${form.isWhole ? 'numeric' : 'decimal'}
        onInput=${onInput}
        ...${said}
      />`
    case 'text':
      if (!isAlone || form.format !== undefined) {
        const type = INPUTS.get(form.format ?? '') ?? 'text'
        return html`<input type=${type} value=${text} onInput=${onInput} ...${said} />`
      }
      return html`<textarea rows="2" value=${text} onInput=${onInput} ...${said}></textarea>`
    default:
      return html`<textarea
        class="code"
        rows="4"
        spellcheck="false"
        placeholder="JSON"
        value=${text}
        onInput=${onInput}
        ...${said}
      ></textarea>`
  }
}

interface ChoicesProps {
  readonly form: Form
  readonly draft: Draft | undefined
  readonly set: (draft: Draft) => void
}

/** The few answers of a form, one of which is chosen: for one of several questions. */
export function Radios({ form, draft, set }: ChoicesProps): VNode {
  const name = useId()
  const chosen = JSON.stringify(draft)
  return html`<div class="radios">
    ${choicesOf(form)?.choices.map(
      (choice) =>
        html`<label class="radio">
          <input
            type="radio"
            name=${name}
            checked=${JSON.stringify(choice.draft) === chosen}
            onChange=${() => set(choice.draft)}
          />
          <span>${choice.label}</span>
        </label>`,
    )}
  </div>`
}

/** A button for each of few answers. */
export function Buttons({ form, set }: Omit<ChoicesProps, 'draft'>): VNode {
  const { label, choices = [] } = choicesOf(form) ?? {}
  return html`<div class="choices" role=${label && 'group'} aria-label=${label}>
    ${label !== undefined && html`<span class="quiet">${label}</span>`}
    <div class="buttons">
      ${choices.map((choice) => html`<button type="button" class="plain" onClick=${() => set(choice.draft)}>${choice.label}</button>`)}
    </div>
  </div>`
}
