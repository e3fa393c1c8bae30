/**
 * Questions that have a schema, and the form of their answers.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { ReadonlyJson } from '../../../core/json-types.js'
import { violationOf } from '../../../wire/question/violation.js'
import { api, ApiError } from '../api.js'
import { Confirm } from '../confirm.js'
import { dateTime, duration, pretty } from '../format.js'
import { useNow } from '../now.js'
import { Text } from '../markdown/text.js'
import {
  choicesOf,
  dataOf,
  hasField,
  isEmpty,
  valueOf,
  type Asked,
  type Draft,
  type Problem,
} from './asked.js'
import { Buttons, Field, Fields, Radios } from './form-fields.js'
import type { Snapshot } from './log.js'
import { Question } from './question.js'

interface FormProps {
  readonly task: Snapshot
  readonly questions: readonly Asked[]
}

type ById<T> = Readonly<Record<string, T>>

type Filled = Asked & { readonly value: ReadonlyJson }

/** What is entered for some questions, and what is wrong with it. */
interface Entries {
  readonly drafts: ById<Draft>
  readonly problems: ById<Problem>
  readonly set: (id: string, draft: Draft) => void
  /** The answers that are complete. */
  readonly filled: readonly Filled[]
  /** Whether the answers break no schema. */
  readonly check: () => boolean
  /** Sends them. Refused ones become problems. */
  readonly send: () => Promise<void>
}

function useEntries(task: Snapshot, questions: readonly Asked[], now: number): Entries {
  const [drafts, setDrafts] = useState<ById<Draft>>({})
  const [problems, setProblems] = useState<ById<Problem>>({})
  const filled = questions.flatMap((question) => {
    const draft = drafts[question.id]
    if (isExpired(question, now) || (questions.length > 1 && isEmpty(draft))) return []
    const found = valueOf(question.form, draft)
    return found === undefined ? [] : [{ ...question, ...found }]
  })
  return {
    drafts,
    problems,
    filled,
    set: (id, draft) => {
      setDrafts((before) => ({ ...before, [id]: draft }))
      setProblems((before) => (id in before ? without(before, id) : before))
    },
    check: () => {
      const found = filled.flatMap(({ id, schema, value }) => {
        const violation = violationOf(schema, value)
        return violation === undefined ? [] : [[id, violation] as const]
      })
      setProblems(Object.fromEntries(found))
      return found.length === 0
    },
    send: async () => {
      try {
        await api.send({ data: dataOf(filled), taskId: task.id })
      } catch (error) {
        const refused = refusedBy(error, filled)
        if (refused === undefined) throw error
        setProblems(refused)
      }
    },
  }
}

/** All questions that are open. One with few answers has a button for each. Several are answered one by one or together. */
export function FormReply({ task, questions }: FormProps): VNode {
  const now = useNow()
  const { drafts, problems, set, filled, check, send } = useEntries(task, questions, now)
  const [isAsking, setAsking] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  // Who is told of a problem is led to it, once no dialog is above it.
  useEffect(() => {
    if (!isAsking && Object.keys(problems).length > 0)
      form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus()
  }, [problems, isAsking])
  const [only] = questions.length === 1 ? questions : []
  const hasButtons = only !== undefined && choicesOf(only.form) !== undefined
  const isClosed = questions.every((question) => isExpired(question, now))
  const submit = (event: Event): void => {
    event.preventDefault()
    setAsking(filled.length > 0 && check())
  }
  return html`<form class="reply question" ref=${form} onSubmit=${submit} novalidate>
    ${questions.map(
      (question) =>
        html`<${QuestionForm}
          key=${question.id}
          task=${task}
          question=${question}
          isOnly=${only !== undefined}
          now=${now}
          draft=${drafts[question.id]}
          problem=${problems[question.id]}
          set=${(draft: Draft) => set(question.id, draft)}
          onChosen=${() => setAsking(true)}
        />`,
    )}
    ${
      !hasButtons &&
      !isClosed &&
      html`<button type="submit" class="solid" disabled=${filled.length === 0}>
        ${labelOf(filled.length, questions.length)}
      </button>`
    }
    ${
      isAsking &&
      filled.length > 0 &&
      html`<${Confirm}
        title=${filled.length === 1 ? 'Send this answer?' : 'Send these answers?'}
        text=${filled.map((each) => summaryOf(each, drafts[each.id], only === undefined)).join('\n')}
        verb="Send"
        act=${send}
        close=${() => setAsking(false)}
      />`
    }
  </form>`
}

function labelOf(filled: number, all: number): string {
  return filled === 0 || filled === all ? 'Answer' : `Answer ${filled} of ${all}`
}

function isExpired({ expiresAt }: Asked, now: number): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= now
}

function without<T>(all: ById<T>, id: string): ById<T> {
  return Object.fromEntries(Object.entries(all).filter(([each]) => each !== id))
}

/** The problem of the answer that the agent has refused. */
function refusedBy(error: unknown, answers: readonly Asked[]): ById<Problem> | undefined {
  if (!(error instanceof ApiError) || error.path === undefined) return undefined
  const { path, reason = '' } = error
  const at = (id: string): string => path.slice(`answers.${id}`.length)
  const refused = answers.find(({ id }) => path.startsWith(`answers.${id}`) && /^($|[.[])/.test(at(id)))
  return refused && { [refused.id]: { path: at(refused.id), reason } }
}

function summaryOf(
  answer: Asked & { readonly value: unknown },
  draft: Draft | undefined,
  hasOthers: boolean,
): string {
  const { form, message, value } = answer
  const chosen = choicesOf(form)?.choices.find((each) => JSON.stringify(each.draft) === JSON.stringify(draft))
  const text = chosen?.label ?? (typeof value === 'string' ? value : pretty(value))
  return hasOthers ? `${message} ${text}` : text
}

interface QuestionProps {
  readonly task: Snapshot
  readonly question: Asked
  readonly isOnly: boolean
  readonly now: number
  readonly draft: Draft | undefined
  readonly problem: Problem | undefined
  readonly set: (draft: Draft) => void
  readonly onChosen: () => void
}

function QuestionForm({ task, question, isOnly, now, draft, problem, set, onChosen }: QuestionProps): VNode {
  const id = useId()
  const { form, message, url } = question
  const isClosed = isExpired(question, now)
  const entered = { draft, set, path: '', problem }
  const hasFew = choicesOf(form) !== undefined
  const choose = (chosen: Draft): void => {
    set(chosen)
    onChosen()
  }
  return html`<fieldset aria-labelledby=${id} disabled=${isClosed}>
    ${
      isOnly
        ? html`<${Question} id=${id} task=${task} sentence=${message} />`
        : html`<div class="asked" id=${id}><${Text} text=${message} /></div>`
    }
    ${
      // Reading the question leaves out what is no http or https address.
      url !== undefined && html`<a href=${url} target="_blank" rel="noopener noreferrer nofollow">${url}</a>`
    }
    ${hasFew && (isOnly ? html`<${Buttons} form=${form} set=${choose} />` : html`<${Radios} form=${form} draft=${draft} set=${set} />`)}
    ${
      !hasFew &&
      (form.type === 'object'
        ? html`<${Fields} ...${entered} fields=${form.fields} />`
        : html`<${Field} ...${entered} form=${form} label=${{ id }} />`)
    }
    ${
      problem !== undefined &&
      !hasField(form, problem.path) &&
      html`<p class="wrong" role="alert">${`${problem.path.replace(/^\./, '')} ${problem.reason}`.trim()}</p>`
    }
    <${Expiry} question=${question} now=${now} />
  </fieldset>`
}

function Expiry({ question: { expiresAt }, now }: { question: Asked; now: number }): VNode | null {
  const at = expiresAt === undefined ? NaN : Date.parse(expiresAt)
  if (expiresAt === undefined || Number.isNaN(at)) return null
  if (at <= now) return html`<p class="quiet" role="status">The time for an answer has passed</p>`
  return html`<p class="quiet" title=${dateTime(expiresAt)}>Waits for ${duration(at - now, true)}</p>`
}
