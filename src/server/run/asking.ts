/**
 * Asking with a schema: until each question has its value, its time is over, or the code wants it no more.
 *
 * One message of the agent asks all that is open, and each answer is read. What is left is asked again. The journal has the values
 * that were found, so a replay does not read an answer twice.
 *
 * @module
 */
import { A2AError, invalidParams } from '../../core/errors.js'
import type { JournalEntry } from '../../core/events.js'
import type { ReadonlyJson } from '../../core/json-types.js'
import { observed, onAbort } from '../../runtime/abort.js'
import type { Form } from '../../wire/question/form.js'
import {
  answersIn,
  questionPart,
  questionsIn,
  QUESTIONS,
  type Answerers,
  type OpenQuestion,
} from '../../wire/question/questions.js'
import { textOf } from '../../wire/text.js'
import type { Journal } from '../journal/journal.js'
import type { AwaitSignal, LimitQuestion, QuestionTimer, TurnPort } from '../journal/turn-port.js'
import type { TurnIds } from '../journal/writes/turn-ids.js'
import { toMessage } from './agent-message.js'
import { answerersFor, isAnsweredBy } from './answered-by.js'
import { askedOf } from './marks.js'
import type { AnswerReader } from './question.js'
import type { AskingState } from './run-context.js'
import type { ReadonlyMessage, Say } from './run.js'
import { readAnswer, requireFitting, type Found, type Item } from './typed-answers.js'

/** What questions with a schema use of the other parts of their turn. */
export interface Parts {
  readonly journal: Journal
  readonly limit: LimitQuestion
  readonly awaitSignal: AwaitSignal
  readonly questions: {
    pose(
      state: AskingState,
      prompt: Say,
      typed: { readonly name: string; readonly reader: AnswerReader; readonly isParallel: boolean },
    ): {
      readonly name: string
      readonly answer: Promise<ReadonlyMessage>
      readonly isShown: () => boolean
      readonly done: () => void
    }
    withdraw(name: string, reason: Error, entries: () => readonly JournalEntry[]): boolean
    withdrawUnwanted(name: string, reason: Error): void
    dropNamed(name: string, reason: Error): void
  }
  readonly ids: Pick<TurnIds, 'ofAnswer'>
  readonly requireOutsideOfSteps: (method: string) => void
}

export type Port = Pick<TurnPort, 'taskId' | 'task' | 'signal' | 'settings'>

export interface AskHost extends Port, Parts {}

/** The question that is open for one call. */
interface Posed {
  name?: string
}

export interface AskSettings {
  readonly attempts: number
  readonly expiresInMs: number | undefined
  readonly signal: AbortSignal | undefined
  readonly state: AskingState
  /** Who may answer. `undefined` where only the owner of the task may. */
  readonly answeredBy: readonly string[] | undefined
}

/** The answer by which a user refuses to authorize. */
export const DECLINE = 'decline'

/** Asks until every question has its value. */
export async function askAll(
  host: AskHost,
  items: readonly Item[],
  { attempts, expiresInMs, signal, state, answeredBy }: AskSettings,
): Promise<Record<string, ReadonlyJson>> {
  const { taskId } = host
  const [first] = items
  const open = new Map(items.map((item) => [item.id, item]))
  const values = new Map<string, ReadonlyJson>()
  const late = (): A2AError =>
    new A2AError('WAIT_TIMED_OUT', 'No answer came in time', {
      taskId: taskId(),
      timeoutMs: expiresInMs ?? 0,
    })
  const posed: Posed = {}
  const onTime = (entries?: () => readonly JournalEntry[]): boolean => expire(host, posed, late(), entries)
  const timer =
    expiresInMs === undefined || first === undefined
      ? undefined
      : await host.limit(`answer to ${first.label}`, expiresInMs, onTime)
  const giveUp = (): void => withdraw(host, posed, withdrawn(taskId(), signal))
  const stop = onAbort(signal, giveUp)
  try {
    let problem: string | undefined
    for (let left = attempts; open.size > 0;) {
      const [next] = open.keys()
      requireWanted(host, next, signal)
      requireTime(host, next, timer, late)
      const found = await askOnce(host, [...open.values()], {
        state,
        answeredBy,
        posed,
        problem,
        timer,
        // Also a signal that a listener of the change aborts, when the question has no name yet.
        isAsked: () => {
          if (signal?.aborted === true) giveUp()
        },
      })
      for (const [id, value] of Object.entries(found.values)) {
        values.set(open.get(id)?.key ?? id, value)
        open.delete(id)
      }
      problem = found.problem
      left = isMiss(found) ? left - 1 : attempts
      if (left === 0) throw invalidParams('answer', `does not fit: ${problem ?? ''}`)
      if (open.size > 0 && found.isLate === true) throw late()
    }
    return Object.fromEntries(items.map(({ key }) => [key, values.get(key) ?? null]))
  } finally {
    stop()
    timer?.stop()
  }
}

/** Whether the user has answered, and wrong. */
function isMiss({ problem, isEarly }: Found): boolean {
  return problem !== undefined && isEarly !== true
}

/** An earlier attempt may have asked what the code wants no more: then the journal says what became of it. */
function requireWanted(
  { taskId, journal }: AskHost,
  name: string | undefined,
  signal: AbortSignal | undefined,
): void {
  if (signal?.aborted !== true || name === undefined || journal.hasNext('question', name)) return
  journal.nameOf('question', name)
  throw withdrawn(taskId(), signal)
}

function requireTime(
  { journal }: AskHost,
  name: string | undefined,
  timer: QuestionTimer | undefined,
  late: () => Error,
): void {
  if (timer?.isDue !== true || name === undefined) return
  // An attempt that was faster has asked the question, so it has a name.
  journal.nameOf('question', name)
  throw late()
}

function withdrawn(taskId: string, signal: AbortSignal | undefined): A2AError {
  const text = 'The question was withdrawn before an answer arrived'
  return new A2AError('WAIT_ABORTED', text, { taskId }, { cause: signal?.reason })
}

function expire(
  host: AskHost,
  posed: Posed,
  reason: Error,
  entries?: () => readonly JournalEntry[],
): boolean {
  const { questions } = host
  const { name } = posed
  if (name === undefined) return entries === undefined
  if (entries !== undefined) return dropAtError(host, name, () => questions.withdraw(name, reason, entries))
  questions.dropNamed(name, reason)
  return true
}

/** Withdraws the question of this call. Another branch of the code may have another one open. */
function withdraw(host: AskHost, { name }: Posed, reason: Error): void {
  if (name === undefined) return
  dropAtError(host, name, () => {
    host.questions.withdrawUnwanted(name, reason)
    return true
  })
}

/** The task may have ended, or its journal be full: the question rejects with that. */
function dropAtError({ questions }: AskHost, name: string, change: () => boolean): boolean {
  try {
    return change()
  } catch (error) {
    questions.dropNamed(name, error as Error)
    return true
  }
}

async function askOnce(
  host: AskHost,
  items: readonly Item[],
  {
    state,
    answeredBy,
    posed,
    problem,
    timer,
    isAsked,
  }: Pick<AskSettings, 'state' | 'answeredBy'> & {
    readonly posed: Posed
    readonly problem: string | undefined
    readonly timer: QuestionTimer | undefined
    /** Called when the question is open. */
    readonly isAsked: () => void
  },
): Promise<Found> {
  const { journal, signal } = host
  const [first] = items
  const reading = new Reading(host, items, answeredBy, timer)
  const { name, answer, isShown, done } = host.questions.pose(
    state,
    promptOf(items, problem, timer?.dueAt, answeredBy && answerersFor(answeredBy, host.task().peek())),
    {
      // Questions that are asked together have their answers together.
      name: first?.id ?? state,
      reader: reading,
      isParallel: first?.toolCallId !== undefined,
    },
  )
  posed.name = name
  isAsked()
  const message = await answer.finally(() => delete posed.name)
  try {
    const known = journal.pass('value', name)
    // An earlier attempt has recorded it.
    if (known !== undefined) return known.value as Found
    const { stored } = reading
    if (stored !== undefined) return stored
    const found = await reading.end(message, isShown())
    signal().throwIfAborted()
    // Beside others than the question itself.
    journal.record({ kind: 'value', name, value: found }, journal.inFlight - 1)
    return found
  } finally {
    done()
  }
}

/** Reads the message that answers the questions, once. */
class Reading implements AnswerReader {
  readonly #host: AskHost
  readonly #items: readonly Item[]
  readonly #answeredBy: readonly string[] | undefined
  readonly #timer: QuestionTimer | undefined
  #begun: Promise<Found> | undefined
  /** What was stored with the answer. */
  stored: Found | undefined

  constructor(
    host: AskHost,
    items: readonly Item[],
    answeredBy: readonly string[] | undefined,
    timer: QuestionTimer | undefined,
  ) {
    this.#host = host
    this.#items = items
    this.#answeredBy = answeredBy
    this.#timer = timer
  }

  readonly check: AnswerReader['check'] = (message) =>
    requireFitting(this.#items, answersIn(message) ?? new Map())

  readonly read = (message: ReadonlyMessage, isShown: boolean): Found | undefined => {
    try {
      const found = this.#read(message, isShown)
      if (found instanceof Promise) this.#begun = observed(found)
      else this.stored = this.#timed(found)
    } catch {
      // What the schema returns cannot be kept: the code that asks learns of it.
    }
    return this.stored
  }

  /** What the message answers, where it was not stored with it. */
  async end(message: ReadonlyMessage, isShown: boolean): Promise<Found> {
    return this.#timed(await (this.#begun ?? this.#read(message, isShown)))
  }

  #read(message: ReadonlyMessage, isShown: boolean): Found | Promise<Found> {
    const host = this.#host
    const items = this.#items
    const isSeen = isShown || isAskedBefore(host, items[0], message)
    const isUnseen = !isSeen && items.some(({ form }) => hasChoice(form))
    // No other user can send an answer while the question is open.
    const isEarly = isUnseen || !isAnsweredBy(this.#answeredBy, host.task().peek(), message)
    if (isEarly) return { values: {}, problem: 'Your last message came before this question', isEarly }
    return readAnswer(host, items, message)
  }

  #timed(found: Found): Found {
    return this.#timer?.isDue === true ? { ...found, isLate: true } : found
  }
}

/** The message that asks all questions: sentences for people, and a part for clients that know the extension. */
function promptOf(
  items: readonly Item[],
  problem: string | undefined,
  expiresAt: string | undefined,
  answerers: Answerers | undefined,
): Say {
  const questions = items.map(({ id, say, jsonSchema, url, toolCallId }): OpenQuestion => ({
    id,
    message:
      typeof say === 'string' ? say : textOf({ parts: toMessage(say).parts as ReadonlyMessage['parts'] }),
    schema: jsonSchema,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(url !== undefined && { url }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(answerers !== undefined && { answeredBy: answerers.ids }),
  }))
  const [only, ...others] = items
  const own = only === undefined || typeof only.say === 'string' ? undefined : only.say
  const lines = items.map(({ key, say, form, url }) => {
    if (typeof say !== 'string') return ''
    if (url !== undefined) return `${say} (to refuse, answer: ${DECLINE})\n${url}`
    return `${items.length > 1 ? `${key}: ` : ''}${say}${hintOf(form)}`
  })
  const text = [...(problem === undefined ? [] : [`${problem}.`]), ...lines].join('\n').trim()
  const parts = own === undefined || others.length > 0 ? [] : own.parts.filter(isOfCode)
  const prompt = {
    ...(own === undefined ? {} : toMessage(own)),
    parts: [...(text === '' ? [] : [{ text }]), ...parts, questionPart(questions)],
    extensions: [...(own?.extensions ?? []), QUESTIONS],
  }
  return answerers === undefined ? prompt : askedOf(prompt, answerers)
}

/** A message of the code may repeat parts of other messages, but asks only what the code asks. */
function isOfCode(part: object): boolean {
  // What is no part is refused when the message is stored.
  return questionsIn({ parts: [part as ReadonlyMessage['parts'][number]] }).length === 0
}

/** The values of which the user chooses one. */
function hintOf(form: Form): string {
  if (form.type === 'boolean') return ' (yes / no)'
  if (form.type !== 'choice' || form.options.length > 10) return ''
  return ` (${form.options.map(({ label }) => label).join(' / ')})`
}

/** Whether the conversation has the question before the message. */
function isAskedBefore({ task }: AskHost, item: Item | undefined, { messageId }: ReadonlyMessage): boolean {
  const { messages = [] } = task().peek() ?? {}
  const at = messages.findLastIndex((each) => each.messageId === messageId)
  const before = at === -1 ? messages : messages.slice(0, at)
  return before.some((each) => each.role === 'agent' && questionsIn(each).some(({ id }) => id === item?.id))
}

/** Whether a few words, such as `yes`, answer the question. They mean nothing for a question that the user has not seen. */
function hasChoice({ type }: Form): boolean {
  return type === 'choice' || type === 'boolean'
}
