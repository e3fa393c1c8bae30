/**
 * Questions with a schema: what they show to clients, which answers they take, and when they end without one.
 *
 * They are made of plain questions. One message of the agent asks all that is open, and each answer is read: values by the ids
 * of their questions, or what a text certainly means. What is left is asked again. The journal has the values that were found,
 * so a replay does not read an answer twice.
 *
 * @module
 */
import { A2AError, invalidParams } from '../../core/errors.js'
import { JsonReader } from '../../core/json.js'
import type { JsonObject, ReadonlyJson } from '../../core/json-types.js'
import type { JournalEntry } from '../../core/events.js'
import { observed, onAbort } from '../../runtime/abort.js'
import { describe } from '../../runtime/describe.js'
import { hashOf } from '../../runtime/hash.js'
import { readOptions, requirePositive } from '../../runtime/options.js'
import { formOf, valueFromText, wantedBy, type Form } from '../../wire/question/form.js'
import {
  answersIn,
  linkOf,
  questionPart,
  questionsIn,
  QUESTIONS,
  type OpenQuestion,
} from '../../wire/question/questions.js'
import { textOf } from '../../wire/text.js'
import type { Journal } from '../journal/journal.js'
import { requireName } from '../journal/names.js'
import type { AwaitSignal, LimitQuestion, QuestionTimer, TurnPort } from '../journal/turn-port.js'
import type { TurnIds } from '../journal/writes/turn-ids.js'
import {
  jsonSchemaOf,
  linesOf,
  pathOf,
  requireSchema,
  type OutputOf,
  type StandardResult,
  type StandardSchema,
} from '../standard-schema.js'
import { toMessage } from './agent-message.js'
import { isAnsweredBy, requireAnsweredBy } from './answered-by.js'
import type {
  AnswersTo,
  AnswerSchema,
  ApproveOptions,
  AskedQuestion,
  AskOptions,
  AuthorizeOptions,
  InputOptions,
} from './ask-types.js'
import type { CheckAnswer } from './question.js'
import type { AskingState } from './run-context.js'
import type { ReadonlyMessage, Say } from './run.js'

/** What questions with a schema use of the other parts of their turn. */
interface Parts {
  readonly journal: Journal
  readonly limit: LimitQuestion
  readonly awaitSignal: AwaitSignal
  readonly questions: {
    pose(
      state: AskingState,
      prompt: Say,
      typed: { readonly name: string; readonly check: CheckAnswer; readonly isParallel: boolean },
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

type Port = Pick<TurnPort, 'taskId' | 'task' | 'signal' | 'settings'>

interface AskHost extends Port, Parts {}

interface Item {
  readonly key: string
  /** The key, with what tells it from questions of the same key. */
  readonly label: string
  readonly id: string
  readonly say: Say
  readonly schema: StandardSchema
  readonly jsonSchema: JsonObject
  readonly form: Form
  /** Where the user authorizes. */
  readonly url?: string
  /** The call of a tool that the question is about. */
  readonly toolCallId?: string
}

/** What the journal keeps of an answer. A type, as JSON. */
type Found = {
  /** By the ids of the questions. */
  readonly values: { readonly [id: string]: ReadonlyJson }
  /** What is wrong with the rest. */
  readonly problem?: string
  /** Whether the time limit has passed. */
  readonly isLate?: boolean
  /** Whether the message came before the question, and can be no answer. */
  readonly isEarly?: boolean
}

/** The question that is open for one call. */
interface Posed {
  name?: string
}

interface AskSettings {
  readonly attempts: number
  readonly expiresInMs: number | undefined
  readonly signal: AbortSignal | undefined
  readonly state: AskingState
  /** Who may answer. `undefined` where only the owner of the task may. */
  readonly answeredBy: readonly string[] | undefined
}

/** The calls of a run that ask with a schema. */
export class TypedQuestions {
  readonly #port: Pick<TurnPort, 'requireRunning' | 'task'>
  readonly #host: AskHost

  constructor(port: Port & Pick<TurnPort, 'requireRunning' | 'task'>, parts: Parts) {
    const { taskId, task, signal, settings } = port
    this.#port = port
    this.#host = { taskId, task, signal, settings, ...parts }
  }

  readonly requireInput = <S extends StandardSchema>(
    message: Say,
    options: InputOptions<S>,
  ): Promise<OutputOf<S>> => requireTyped(this.#open('requireInput'), message, options)

  readonly ask = <const Q extends Readonly<Record<string, AskedQuestion>>>(
    questions: Q,
    options: AskOptions = {},
  ): Promise<AnswersTo<Q>> => ask(this.#open('ask'), questions, options)

  readonly approve = <const O extends readonly string[]>(
    name: string,
    options: ApproveOptions<O>,
  ): Promise<O[number] | 'expired'> => approve(this.#open('approve'), name, options)

  readonly authorize = <T = unknown>(name: string, options: AuthorizeOptions): Promise<T> =>
    // The caller says what the value of the signal is.
    authorize(this.#open('authorize'), name, options) as Promise<T>

  /** Creates the task where there is none: the ids of questions have the place of the turn in it. */
  #open(method: string): AskHost {
    this.#host.requireOutsideOfSteps(method)
    this.#port.requireRunning()
    this.#port.task()
    return this.#host
  }
}

const WAIT_KEYS = ['attempts', 'expiresInMs', 'signal']
const ASK_KEYS = [...WAIT_KEYS, 'answeredBy']
const MAX_QUESTIONS = 50
const MAX_VERDICTS = 20
/** The most characters of the id of a call in that of a question. */
const MAX_CALL = 200
/** The most characters that are said of an answer that does not fit. */
const MAX_PROBLEM = 1_000
const EXAMPLE = `{ schema: z.object({ … }) }`

/** See `Run.requireInput`. */
function requireTyped<S extends StandardSchema>(
  host: AskHost,
  message: Say,
  options: InputOptions<S>,
): Promise<OutputOf<S>> {
  const keys = ['schema', 'jsonSchema', 'name', ...ASK_KEYS]
  const given = readOptions(options, keys, 'run.requireInput', undefined, `an object: ${EXAMPLE}`)
  const { name = 'input' } = given
  requireName('question', name)
  toMessage(message)
  const item = toItem(host, name, message, given)
  // What the schema has returned, or what the journal kept of it.
  const first = askAll(host, [item], toSettings(given)).then((values) => values[name] as OutputOf<S>)
  return observed(first)
}

/** See `Run.ask`. */
function ask<const Q extends Readonly<Record<string, AskedQuestion>>>(
  host: AskHost,
  questions: Q,
  options: AskOptions,
): Promise<AnswersTo<Q>> {
  const settings = toSettings(readOptions(options, ASK_KEYS, 'run.ask'))
  const wanted = `an object of questions: { city: { message: 'Where?', schema } }`
  const known = Object.keys({ ...questions })
  const given = readOptions(questions, known, 'run.ask', 'questions', wanted)
  const entries = Object.entries<AskedQuestion>(given)
  if (entries.length === 0 || entries.length > MAX_QUESTIONS)
    throw new RangeError(`run.ask() takes 1 to ${MAX_QUESTIONS} questions, got ${entries.length}`)
  const items = entries.map(([name, each]) => {
    requireName('question', name)
    const question = readOptions(each, ['message', 'schema', 'jsonSchema'], 'run.ask', name)
    requireText(`${name}.message`, question.message)
    return toItem(host, name, question.message, question)
  })
  // As above.
  return observed(askAll(host, items, settings)) as Promise<AnswersTo<Q>>
}

/** See `Run.approve`. */
function approve<const O extends readonly string[]>(
  host: AskHost,
  name: string,
  options: ApproveOptions<O>,
): Promise<O[number] | 'expired'> {
  requireName('question', name, `run.approve('book', { message: 'Book for 42 €?' })`)
  const wanted = `an object after the name: { message: 'Book for 42 €?' }`
  const keys = ['message', 'options', 'toolCallId', ...ASK_KEYS]
  const given = readOptions(options, keys, 'run.approve', undefined, wanted)
  const { message, options: verdicts = ['approve', 'reject'], toolCallId } = given
  requireText('message', message)
  if (toolCallId !== undefined) requireText('toolCallId', toolCallId)
  const schema = verdictOf(verdicts)
  const jsonSchema = { type: 'string', enum: [...verdicts] }
  const item = toItem(host, name, message, { schema, jsonSchema }, toolCallId)
  const verdict = askAll(host, [item], toSettings(given)).then(
    // One of the verdicts, which the schema has checked.
    (values) => values[name] as O[number],
    (error: unknown) => {
      if (A2AError.is(error, 'WAIT_TIMED_OUT')) return 'expired' as const
      throw error
    },
  )
  return observed(verdict)
}

const DECLINE = ['decline'] as const

/** See `Run.authorize`. */
function authorize(host: AskHost, name: string, options: AuthorizeOptions): Promise<unknown> {
  const example = `{ url: 'https://login.example', message: 'Let me read your calendar' }`
  requireName('signal', name, `run.authorize('calendar', ${example})`)
  const keys = ['url', 'message', ...WAIT_KEYS]
  const given = readOptions(options, keys, 'run.authorize', undefined, `an object after the name: ${example}`)
  const { message } = given
  requireText('message', message)
  const url = linkOf(given.url)
  if (url === undefined)
    throw new TypeError(
      `"url" must be an http or https URL of at most 8192 characters without a name and password, got ${describe(given.url)}`,
    )
  const jsonSchema = { type: 'string', enum: [...DECLINE] }
  const item = { ...toItem(host, name, message, { schema: verdictOf(DECLINE), jsonSchema }), url }
  return observed(untilAuthorized(host, item, { ...toSettings(given), state: 'auth-required' }))
}

/** Asks until the signal comes, or the question ends in another way. The journal says which was first. */
async function untilAuthorized(host: AskHost, item: Item, settings: AskSettings): Promise<unknown> {
  const over = new AbortController()
  const leave = onAbort(settings.signal, () => over.abort(settings.signal?.reason))
  const wait = await host.awaitSignal(item.key, () => over.abort())
  try {
    if (wait.received === undefined) await askAll(host, [item], { ...settings, signal: over.signal })
    if (wait.received !== undefined) return wait.received.value
    throw new A2AError('PERMISSION_DENIED', `The user has declined to authorize "${item.key}"`, {})
  } catch (error) {
    if (wait.received !== undefined) return wait.received.value
    throw wait.error ?? error
  } finally {
    leave()
    wait.stop()
  }
}

function verdictOf(verdicts: unknown): StandardSchema<unknown, string> {
  const isVerdict = (each: unknown): boolean =>
    typeof each === 'string' && each.trim() !== '' && each !== 'expired'
  const isList = Array.isArray(verdicts) && verdicts.length > 0 && verdicts.length <= MAX_VERDICTS
  if (!isList || !verdicts.every(isVerdict) || new Set(verdicts).size < verdicts.length)
    throw new TypeError(
      `"options" must be a list of 1 to ${MAX_VERDICTS} different texts, without 'expired', got ${describe(verdicts)}`,
    )
  const reason = `must be one of ${verdicts.join(', ')}`
  const validate = (value: unknown): StandardResult<string> =>
    typeof value === 'string' && verdicts.includes(value) ? { value } : { issues: [{ message: reason }] }
  return { '~standard': { version: 1, vendor: 'a2a-tasks', validate } }
}

function requireText(option: string, value: unknown): void {
  if (typeof value === 'string' && value !== '') return
  throw new TypeError(`"${option}" must be a text, got ${describe(value)}`)
}

function toSettings({ attempts = 3, expiresInMs, signal, answeredBy }: AskOptions): AskSettings {
  if (!Number.isInteger(attempts) || attempts < 1 || attempts > 100)
    throw new RangeError(`"attempts" must be a whole number from 1 to 100, got ${describe(attempts)}`)
  if (expiresInMs !== undefined) requirePositive('expiresInMs', expiresInMs)
  const answerers = answeredBy === undefined ? undefined : requireAnsweredBy(answeredBy)
  return { attempts, expiresInMs, signal, state: 'input-required', answeredBy: answerers }
}

function toItem(
  host: AskHost,
  key: string,
  say: Say,
  { schema, jsonSchema }: AnswerSchema,
  toolCallId?: string,
): Item {
  requireSchema(schema, 'schema')
  const own = jsonSchemaOf(schema, jsonSchema)
  const label =
    toolCallId === undefined
      ? key
      : `${key}#${toolCallId.length > MAX_CALL ? hashOf(toolCallId) : toolCallId}`
  const id = host.ids.ofAnswer(host.journal.nameOf('question', `ask ${label}`).slice('ask '.length))
  const call = toolCallId === undefined ? {} : { toolCallId }
  return { key, label, id, say, schema, jsonSchema: own, form: formOf(own), ...call }
}

/** Asks until every question has its value. */
async function askAll(
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
        giveUp: signal?.aborted === true ? giveUp : undefined,
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
    giveUp,
  }: Pick<AskSettings, 'state' | 'answeredBy'> & {
    readonly posed: Posed
    readonly problem: string | undefined
    readonly timer: QuestionTimer | undefined
    /** For a question that the code wants no more. */
    readonly giveUp: (() => void) | undefined
  },
): Promise<Found> {
  const { journal, signal } = host
  const check: CheckAnswer = (message) => requireFitting(items, answersIn(message) ?? new Map())
  const [first] = items
  const { name, answer, isShown, done } = host.questions.pose(
    state,
    promptOf(items, problem, timer?.dueAt, answeredBy),
    {
      // Questions that are asked together have their answers together.
      name: first?.id ?? state,
      check,
      isParallel: first?.toolCallId !== undefined,
    },
  )
  posed.name = name
  giveUp?.()
  const message = await answer.finally(() => delete posed.name)
  try {
    const known = journal.pass('value', name)
    // An earlier attempt has recorded it.
    if (known !== undefined) return known.value as Found
    const isSeen = isShown() || isAskedBefore(host, first, message)
    const isUnseen = !isSeen && items.some(({ form }) => hasChoice(form))
    // Nobody else can send an answer while the question is open.
    const isEarly = isUnseen || !isAnsweredBy(answeredBy, host.task().peek() ?? undefined, message)
    const read = isEarly
      ? { values: {}, problem: 'Your last message came before this question', isEarly }
      : await readAnswer(host, items, message)
    const found: Found = timer?.isDue === true ? { ...read, isLate: true } : read
    signal().throwIfAborted()
    // Beside others than the question itself.
    journal.record({ kind: 'value', name, value: found }, journal.inFlight - 1)
    return found
  } finally {
    done()
  }
}

/** The message that asks all questions: sentences for people, and a part for clients that know the extension. */
function promptOf(
  items: readonly Item[],
  problem: string | undefined,
  expiresAt: string | undefined,
  answeredBy: readonly string[] | undefined,
): Say {
  const questions = items.map(({ id, say, jsonSchema, url, toolCallId }): OpenQuestion => ({
    id,
    message:
      typeof say === 'string' ? say : textOf({ parts: toMessage(say).parts as ReadonlyMessage['parts'] }),
    schema: jsonSchema,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(url !== undefined && { url }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(answeredBy !== undefined && { answeredBy }),
  }))
  const [only, ...others] = items
  const own = only === undefined || typeof only.say === 'string' ? undefined : only.say
  const lines = items.map(({ key, say, form, url }) => {
    if (typeof say !== 'string') return ''
    if (url !== undefined) return `${say} (to refuse, answer: ${DECLINE[0]})\n${url}`
    return `${items.length > 1 ? `${key}: ` : ''}${say}${hintOf(form)}`
  })
  const text = [...(problem === undefined ? [] : [`${problem}.`]), ...lines].join('\n').trim()
  const parts = own === undefined || others.length > 0 ? [] : own.parts
  return {
    ...(own ?? {}),
    parts: [...(text === '' ? [] : [{ text }]), ...parts, questionPart(questions)],
    extensions: [...(own?.extensions ?? []), QUESTIONS],
  }
}

/** The values of which the user chooses one. */
function hintOf(form: Form): string {
  if (form.type === 'boolean') return ' (yes / no)'
  if (form.type !== 'choice' || form.options.length > 10) return ''
  return ` (${form.options.map(({ label }) => label).join(' / ')})`
}

/**
 * Checks the values of a message that the task does not have yet. Schemas that answer with a promise check later.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path below `answers`.
 */
function requireFitting(items: readonly Item[], answers: ReadonlyMap<string, ReadonlyJson>): void {
  for (const { id, schema } of items) {
    const value = answers.get(id)
    if (value === undefined) continue
    const checked = validated(schema, value)
    if (checked instanceof Promise || checked.issues === undefined) continue
    const [issue] = checked.issues
    // Both may repeat what the client has sent.
    const at = issue === undefined ? '' : pathOf(issue).slice(0, MAX_PROBLEM)
    const path = `answers.${id}${at === '' || at.startsWith('[') ? at : `.${at}`}`
    throw invalidParams(path, (issue?.message ?? 'does not fit the schema').slice(0, MAX_PROBLEM))
  }
}

/** A schema that throws refuses the value: it comes from a client. */
function validated(
  schema: StandardSchema,
  value: unknown,
): StandardResult<unknown> | Promise<StandardResult<unknown>> {
  const refuse = (error: unknown): StandardResult<unknown> => ({
    issues: [{ message: error instanceof Error ? error.message : 'does not fit the schema' }],
  })
  try {
    const checked = schema['~standard'].validate(value)
    return checked instanceof Promise ? checked.catch(refuse) : checked
  } catch (error) {
    return refuse(error)
  }
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

/** Reads one answer. What does not fit is left open. */
async function readAnswer(host: AskHost, items: readonly Item[], message: ReadonlyMessage): Promise<Found> {
  const given = answersIn(message) ?? plainAnswers(items, message)
  const values: Record<string, ReadonlyJson> = {}
  const problems: string[] = []
  for (const [id, value] of given) {
    const item = items.find((each) => each.id === id)
    if (item === undefined) continue
    const subject = items.length > 1 ? `${item.key}: ` : ''
    const problem = excessOf(host, item, value)
    if (problem !== undefined) {
      problems.push(`${subject}${problem}`)
      continue
    }
    const checked = await validated(item.schema, value)
    if (checked.issues !== undefined) problems.push(`${subject}${linesOf(checked.issues)}`)
    else if (checked.value !== undefined) values[id] = readValue(host, item, checked.value)
    else problems.push(`${subject}no value`)
  }
  if (problems.length === 0 && Object.keys(values).length === 0) problems.push(wanted(items))
  return { values, ...(problems.length > 0 && { problem: problems.join('; ').slice(0, MAX_PROBLEM) }) }
}

function wanted(items: readonly Item[]): string {
  const [only, ...others] = items
  if (only?.url !== undefined) return 'The authorization has not arrived yet'
  if (only !== undefined && others.length === 0) return `Please answer with ${wantedBy(only.form)}`
  const lines = items.map(({ key, form }) => `${key}: ${wantedBy(form)}`)
  return `Please answer each question on a line of its own (${lines.join('; ')})`
}

/** The answers of a client that does not know the extension. */
function plainAnswers(items: readonly Item[], message: ReadonlyMessage): ReadonlyMap<string, ReadonlyJson> {
  const text = textOf(message)
  const [only, ...others] = items
  if (only === undefined || others.length > 0) return answerLines(items, text)
  const data = message.parts.flatMap((part) => (part.data === undefined ? [] : [part.data]))
  const [value] = data
  if (value !== undefined && data.length === 1) return new Map([[only.id, value]])
  const read = valueFromText(only.form, text)
  return new Map(read === undefined || text.trim() === '' ? [] : [[only.id, read.value]])
}

/** Lines that begin with the name of a question, such as `city: Rome`. */
function answerLines(items: readonly Item[], text: string): ReadonlyMap<string, ReadonlyJson> {
  const answers = new Map<string, ReadonlyJson>()
  for (const line of text.split('\n', MAX_QUESTIONS)) {
    const at = line.indexOf(':')
    const key = line.slice(0, at).trim().toLowerCase()
    const item = at === -1 ? undefined : items.find((each) => each.key.toLowerCase() === key)
    const read = item && valueFromText(item.form, line.slice(at + 1))
    if (item !== undefined && read !== undefined) answers.set(item.id, read.value)
  }
  return answers
}

/** Why a value that was read from a text or a data part without an id is too large, or too deep. */
function excessOf(host: AskHost, item: Item, value: ReadonlyJson): string | undefined {
  try {
    readValue(host, item, value)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : undefined
  }
}

/** A copy of what the schema has returned. */
function readValue({ settings: { limits } }: AskHost, { id }: Item, value: unknown): ReadonlyJson {
  const limit = { subject: `Answer ${id}`, option: 'limits.maxStepBytes', maxBytes: limits.maxStepBytes }
  const reader = new JsonReader(limit, limits.maxDepth)
  const read = reader.read(value, `answers.${id}`)
  reader.check(read)
  return read
}
