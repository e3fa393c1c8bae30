/**
 * The calls of a run that ask with a schema, and their options.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { observed, onAbort } from '../../runtime/abort.js'
import { describe } from '../../runtime/describe.js'
import { hashOf } from '../../runtime/hash.js'
import { readOptions, requirePositive } from '../../runtime/options.js'
import { formOf } from '../../wire/question/form.js'
import { linkOf } from '../../wire/question/questions.js'
import { requireName } from '../journal/names.js'
import type { TurnPort } from '../journal/turn-port.js'
import {
  jsonSchemaOf,
  requireSchema,
  type OutputOf,
  type StandardResult,
  type StandardSchema,
} from '../standard-schema.js'
import { toMessage } from './agent-message.js'
import { requireAnsweredBy } from './answered-by.js'
import type {
  AnswersTo,
  AnswerSchema,
  ApproveOptions,
  AskedQuestion,
  AskOptions,
  AuthorizeOptions,
  InputOptions,
} from './ask-types.js'
import { askAll, DECLINE, type AskHost, type AskSettings, type Parts, type Port } from './asking.js'
import type { Say } from './run.js'
import { MAX_QUESTIONS, type Item } from './typed-answers.js'

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
const MAX_VERDICTS = 20
/** The most characters of the id of a call in that of a question. */
const MAX_CALL = 200
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
  const jsonSchema = { type: 'string', enum: [DECLINE] }
  const item = { ...toItem(host, name, message, { schema: verdictOf([DECLINE]), jsonSchema }), url }
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
