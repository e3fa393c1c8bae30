/**
 * Values for questions with a schema, entered line by line.
 *
 * @module
 */
import type { JsonValue } from 'a2a-tasks'
import {
  valueFromText,
  wantedBy,
  type AgentQuestion,
  type Form,
  type FormField,
  type FormOption,
} from 'a2a-tasks/client'
import { printableLine } from './printable.js'

/** Where the user reads and types. Lines of the agent are indented, so that none looks like one of the program. */
export interface Desk {
  /** Shows lines of text that is made printable. */
  readonly say: (...lines: readonly string[]) => void
  /** Shows why what was entered does not fit. */
  readonly refuse: (problem: string) => void
  /** The next line, which has a text unless it `mayBeEmpty`. `undefined` when the user leaves. */
  readonly ask: (mayBeEmpty: boolean) => Promise<string | undefined>
}

interface Entered {
  /** `undefined` for what the user leaves out. */
  readonly value: JsonValue | undefined
}

/**
 * Asks for the value of a question: a number or a label for one of several options, and the fields of an object one after the
 * other. What is certainly wrong is asked again.
 *
 * @param before - What was entered before the agent refused it: only the field that its `problem` names is asked again.
 * @returns `undefined` when the user leaves the question.
 */
export async function enterAnswer(
  desk: Desk,
  { form, problem = '' }: Pick<AgentQuestion, 'form' | 'problem'>,
  before?: JsonValue,
): Promise<JsonValue | undefined> {
  const entered = await enter(desk, form, true, { before, problem })
  return entered?.value
}

interface Earlier {
  readonly before?: JsonValue | undefined
  readonly problem: string
}

async function enter(
  desk: Desk,
  form: Form,
  isRequired: boolean,
  earlier: Earlier,
): Promise<Entered | undefined> {
  if (form.type === 'object') return await enterFields(desk, form, earlier)
  const options = optionsOf(form)
  const hasNumbers = areNumbered(options)
  const shown = options.map(({ label }, index) => `${hasNumbers ? `${index + 1}) ` : ''}${label}`)
  desk.say(...shown.map((line) => `    ${printableLine(line)}`))
  for (;;) {
    const text = await desk.ask(!isRequired)
    if (text === undefined) return undefined
    if (text.trim() === '') return { value: undefined }
    const found = read(form, text)
    if (found !== undefined) return found
    desk.refuse(`Please answer with ${hasNumbers ? `a number from 1 to ${options.length}` : wantedBy(form)}`)
  }
}

async function enterFields(
  desk: Desk,
  form: Extract<Form, { readonly type: 'object' }>,
  { before, problem }: Earlier,
): Promise<Entered | undefined> {
  const known = typeof before === 'object' && before !== null && !Array.isArray(before) ? before : undefined
  const named = form.fields.find(({ name }) => restOf(problem, name) !== undefined)
  const value: Record<string, JsonValue> = {}
  for (const field of form.fields) {
    const { name } = field
    const earlier = known !== undefined && Object.hasOwn(known, name) ? known[name] : undefined
    if (named !== undefined && known !== undefined && named !== field) {
      if (earlier !== undefined) set(value, name, earlier)
      continue
    }
    desk.say(`  ${labelOf(field)}`)
    const given = { before: earlier, problem: restOf(problem, name) ?? '' }
    const entered = await enter(desk, field.form, field.isRequired, given)
    if (entered === undefined) return undefined
    if (entered.value !== undefined) set(value, name, entered.value)
  }
  return { value }
}

function labelOf({ label, description, isRequired }: FormField): string {
  const about = description === undefined ? '' : `: ${description}`
  return printableLine(`${label}${about}${isRequired ? '' : ' (optional)'}`, 1_200)
}

/** A field may be called `__proto__`. */
function set(object: Record<string, JsonValue>, name: string, value: JsonValue): void {
  Object.defineProperty(object, name, { value, enumerable: true })
}

/** What a problem, such as `payer.email is missing`, says below the field of this name. */
function restOf(problem: string, name: string): string | undefined {
  if (!problem.startsWith(name) || !/^[ .[]/.test(problem.slice(name.length))) return undefined
  return problem.slice(name.length).replace(/^\./, '')
}

const YES_OR_NO: readonly FormOption[] = [
  { value: true, label: 'yes' },
  { value: false, label: 'no' },
]

function optionsOf(form: Form): readonly FormOption[] {
  if (form.type === 'boolean') return YES_OR_NO
  return form.type === 'choice' ? form.options : []
}

/** A number would be mistaken for an option that is one. */
function areNumbered(options: readonly FormOption[]): boolean {
  return (
    options.length > 0 &&
    !options.some(({ label, value }) => /^\d+$/.test(label) || typeof value === 'number')
  )
}

function read(form: Form, text: string): Entered | undefined {
  const options = optionsOf(form)
  if (areNumbered(options) && /^\d{1,3}$/.test(text.trim())) {
    const option = options[Number(text) - 1]
    return option && { value: option.value }
  }
  if (form.type === 'json') return jsonOf(text)
  // What is read of a text is JSON.
  return valueFromText(form, text) as Entered | undefined
}

function jsonOf(text: string): Entered | undefined {
  try {
    return { value: JSON.parse(text) as JsonValue }
  } catch {
    return undefined
  }
}
