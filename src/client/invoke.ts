/**
 * One-call invocation of an agent: sends a text, returns its answer.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import { timeLeft } from '../runtime/clock.js'
import { A2AClient } from './a2a-client.js'
import { loadCard } from './cards/cards.js'
import { aborted, isPassingStatus } from '../http/errors.js'
import {
  open,
  readAnswer,
  request,
  toHttpSettings,
  type HttpOptions,
  type HttpSettings,
} from '../http/request.js'
import type { InvocationBudget } from './invocation-budget.js'
import { withoutPlainHttp } from './connection/interfaces.js'
import { isInconclusive, isUnreadable } from './run/patience.js'
import type { Unread } from '../runtime/unread.js'
import { fieldsOf, parseJson, asText } from '../http/json.js'
import { requireKnown, requireMethods, requirePositive, requireWhole } from '../runtime/options.js'
import { abortableSleep } from '../http/retry.js'
import { trimSlashes } from '../http/url.js'

/** Options of {@link invokeRemoteAgent}. */
export interface InvokeOptions extends HttpOptions {
  /** The skill to use. Default is the agent's choice. Sent to agents of the `'corvid'` protocol only. */
  readonly skill?: string | undefined
  /**
   * How many agents have called each other, this one included: one more than the `depth` of the task that the call is for, and 1
   * where that has none. Sent to agents of the `'corvid'` protocol only, which refuse more than three by default. Default is
   * to send none.
   */
  readonly depth?: number | undefined
  /**
   * What the session of the call may send. A call beyond it sends nothing, and fails with the `error`
   * `Remote agent invocation is temporarily unavailable. Try again later.` Default is no budget.
   */
  readonly budget?: Pick<InvocationBudget, 'spend'> | undefined
  /** Time limit of the whole call, in ms, also sent to the agent. Default is 300,000. */
  readonly timeoutMs?: number | undefined
  /** Pause between two polls of the task, in ms. Default is 3,000. */
  readonly pollIntervalMs?: number | undefined
  /** Aborts the call. Cancels the agent's task if the agent supports A2A. */
  readonly signal?: AbortSignal | undefined
  /**
   * `'corvid'`: `POST /a2a/tasks/send`, then `GET /a2a/tasks/:id`. `'auto'`: A2A 1.0 or 0.3 if the agent's card offers one
   * of them, else `'corvid'`. Default is `'corvid'`.
   */
  readonly protocol?: 'corvid' | 'auto' | undefined
}

/** The outcome of {@link invokeRemoteAgent}. */
export interface RemoteInvocationResult {
  readonly success: boolean
  /** Empty if the agent did not accept the message. */
  readonly taskId: string
  /** The agent's text; `null` if there is none. */
  readonly responseText: string | null
  /** What went wrong; `null` on success. */
  readonly error: string | null
}

const KEYS = [
  ...['fetch', 'headers', 'auth', 'urlGuard', 'clock'],
  ...['skill', 'depth', 'budget', 'timeoutMs', 'pollIntervalMs', 'signal', 'protocol'],
]
const SUBMIT_TIMEOUT_MS = 30_000
const POLL_TIMEOUT_MS = 10_000
const MAX_ANSWER_BYTES = 16_777_216
const MAX_DEPTH = 100
const MAX_SHOWN = 1_000
/** Does not say which limit it is: a model would wait for the moment, or ask another agent. */
const OVER_BUDGET = 'Remote agent invocation is temporarily unavailable. Try again later.'

/**
 * Sends `message` to the agent at `baseUrl` and waits for its answer. Failures are results with `success: false` and an
 * `error`: `Submit failed: HTTP 503 — …`, `Poll failed: HTTP 404 — …`, `Timed out after 5000ms`, `Task failed`, or the agent's own
 * text.
 *
 * @throws {A2AError} `REQUEST_ABORTED`.
 * @throws {TypeError | RangeError} for an invalid option; the message names it.
 */
export async function invokeRemoteAgent(
  baseUrl: string,
  message: string,
  options: InvokeOptions = {},
): Promise<RemoteInvocationResult> {
  const { skill, depth, budget, signal, timeoutMs, pollIntervalMs } = checkOptions(options)
  const settings = toHttpSettings(options, MAX_ANSWER_BYTES)
  const base = trimSlashes(baseUrl)
  const leftMs = timeLeft(settings.clock, timeoutMs)
  if (signal?.aborted) throw aborted(signal)
  if (budget?.spend(base).allowed === false) return failure('', OVER_BUDGET)
  if (options.protocol === 'auto') {
    const result = await invokeByCard(base, message, options, leftMs)
    if (result !== undefined) return result
    if (leftMs() === 0) return failure('', timedOut(timeoutMs))
  }
  const body = JSON.stringify({ params: { message, skill, timeoutMs, depth } })
  let taskId = ''
  try {
    taskId = await submit(settings, `${base}/a2a/tasks/send`, body, leftMs, signal)
    const url = `${base}/a2a/tasks/${encodeURIComponent(taskId)}`
    const result = await pollToEnd({ settings, url, taskId, pollIntervalMs, leftMs, signal })
    return result ?? failure(taskId, timedOut(timeoutMs))
  } catch (error) {
    if (A2AError.is(error, 'REQUEST_ABORTED')) throw error
    if (leftMs() === 0) return failure(taskId, timedOut(timeoutMs))
    const what = taskId === '' ? 'Submit' : 'Poll'
    return failure(taskId, `${what} failed: ${error instanceof Error ? error.message : String(error)}`)
  }
}

interface Polling {
  readonly settings: HttpSettings
  readonly url: string
  readonly taskId: string
  readonly pollIntervalMs: number
  readonly leftMs: () => number
  readonly signal: AbortSignal | undefined
}

/**
 * The result of the task; `undefined` if the time is up before.
 *
 * @throws As {@link poll}.
 */
async function pollToEnd(polling: Polling): Promise<RemoteInvocationResult | undefined> {
  const { settings, url, taskId, pollIntervalMs, leftMs, signal } = polling
  for (;;) {
    const { state, messages } = await poll(settings, url, leftMs, signal)
    const result = resultOf(taskId, asText(state).replaceAll('_', '-'), lastAgentText(messages))
    if (result !== undefined) return result
    const pauseMs = Math.min(pollIntervalMs, leftMs())
    if (pauseMs > 0) await abortableSleep(settings.clock, pauseMs, signal)
    if (leftMs() === 0) return undefined
  }
}

/** @throws {TypeError | RangeError} for an invalid option. */
function checkOptions(
  options: InvokeOptions,
): InvokeOptions & { readonly timeoutMs: number; readonly pollIntervalMs: number } {
  requireKnown(options, KEYS, 'invokeRemoteAgent')
  const { timeoutMs = 300_000, pollIntervalMs = 3_000, depth, budget } = options
  requirePositive('timeoutMs', timeoutMs)
  requirePositive('pollIntervalMs', pollIntervalMs)
  if (depth !== undefined) requireWhole('depth', depth)
  if (budget !== undefined) requireMethods('budget', budget, ['spend'], 'be an InvocationBudget')
  return { ...options, timeoutMs, pollIntervalMs }
}

/** Submits the message. @returns The id of the agent's task. */
async function submit(
  settings: HttpSettings,
  url: string,
  body: string,
  leftMs: () => number,
  signal: AbortSignal | undefined,
): Promise<string> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  const timeoutMs = Math.min(SUBMIT_TIMEOUT_MS, leftMs())
  const opened = await open(settings, { method: 'POST', url, headers, body }, { signal, timeoutMs })
  try {
    const { ok, status } = opened.response
    if (ok) {
      const { text } = await readAnswer(settings, opened)
      const { id } = fieldsOf(parseJson(text, MAX_DEPTH))
      if (typeof id === 'string' && id !== '') return id
      throw new Error('the answer has no task id')
    }
    const text = await readAnswer(settings, opened).then(
      (answer) => answer.text,
      () => 'unknown',
    )
    throw refused(status, text)
  } finally {
    opened.scope.dispose()
  }
}

function refused(status: number, text: string): Error {
  return new Error(`HTTP ${status} — ${text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text}`)
}

/**
 * Fetches the task. Empty on a failure after which the next poll may succeed.
 *
 * @throws What every further poll would lead to, such as HTTP 404.
 */
async function poll(
  settings: HttpSettings,
  url: string,
  leftMs: () => number,
  signal: AbortSignal | undefined,
): Promise<Unread> {
  try {
    const limits = { signal, timeoutMs: Math.min(POLL_TIMEOUT_MS, leftMs()) }
    const headers = { accept: 'application/json' }
    const { status, text } = await request(settings, { method: 'GET', url, headers }, limits)
    if (status >= 200 && status < 300) return fieldsOf(parseJson(text, MAX_DEPTH))
    if (isPassingStatus(status)) return {}
    throw refused(status, text)
  } catch (error) {
    if (isInconclusive(error) || isUnreadable(error)) return {}
    throw error
  }
}

/** Error texts by terminal state, for agents that send none. */
const FAILURES: ReadonlyMap<string, string> = new Map([
  ['failed', 'Task failed'],
  ['canceled', 'Task canceled'],
  ['cancelled', 'Task canceled'],
  ['rejected', 'Task rejected'],
])
const QUESTIONS: ReadonlyMap<string, string> = new Map([
  ['input-required', 'The agent asks for input'],
  ['auth-required', 'The agent asks for credentials'],
])

/** The result in `state`; `undefined` while the agent works. */
function resultOf(
  taskId: string,
  state: string,
  responseText: string | null,
): RemoteInvocationResult | undefined {
  if (state === 'completed') return { success: true, taskId, responseText, error: null }
  const failed = FAILURES.get(state)
  if (failed !== undefined) return failure(taskId, responseText || failed, responseText)
  const question = QUESTIONS.get(state)
  if (question === undefined) return undefined
  return failure(taskId, responseText ? `${question}: ${responseText}` : question, responseText)
}

/** The text of the first part of the agent's last message. */
function lastAgentText(messages: unknown): string | null {
  const last = Array.isArray(messages)
    ? messages.map(fieldsOf).findLast(({ role }) => role === 'agent')
    : undefined
  const parts = last?.['parts']
  const { text } = fieldsOf(Array.isArray(parts) ? parts[0] : undefined)
  return typeof text === 'string' ? text : null
}

function failure(taskId: string, error: string, responseText: string | null = null): RemoteInvocationResult {
  return { success: false, taskId, responseText, error }
}

function timedOut(timeoutMs: number): string {
  return `Timed out after ${timeoutMs}ms`
}

/** Invokes the agent by A2A 1.0 or 0.3. `undefined` if the agent has no card that offers one of them. */
async function invokeByCard(
  url: string,
  message: string,
  options: InvokeOptions,
  leftMs: () => number,
): Promise<RemoteInvocationResult | undefined> {
  const { signal, timeoutMs = Infinity } = options
  const client = await connectByCard(url, options, leftMs)
  if (client === undefined) return undefined
  if (leftMs() === 0) return failure('', timedOut(timeoutMs))
  const result = await client.run(message, { timeoutMs: leftMs(), signal })
  if (signal?.aborted) throw aborted(signal)
  const { id = '' } = (result.type === 'message' ? undefined : result.task) ?? {}
  const text = result.text || null
  if (result.ok) return { success: true, taskId: id, responseText: text, error: null }
  if (result.type === 'timed-out') return failure(id, timedOut(timeoutMs))
  return (
    resultOf(id, result.type, text) ?? failure(id, 'error' in result ? result.error.message : result.type)
  )
}

async function connectByCard(
  url: string,
  { fetch, headers, auth, urlGuard, clock, signal }: InvokeOptions,
  leftMs: () => number,
): Promise<A2AClient | undefined> {
  const http = { fetch, headers, auth, urlGuard, clock }
  try {
    const settings = {
      ...toHttpSettings(http, MAX_ANSWER_BYTES),
      timeoutMs: Math.min(POLL_TIMEOUT_MS, leftMs()),
    }
    const { card } = await loadCard(settings, url, { signal })
    return new A2AClient({
      ...http,
      card: auth === undefined && headers === undefined ? card : withoutPlainHttp(card, url),
    })
  } catch (error) {
    if (A2AError.is(error, 'REQUEST_ABORTED')) throw error
    return undefined
  }
}
