/**
 * Requests to a server as steps of a run. A server that asks ends its step with the question: the answer is between two steps,
 * and so it survives the process, whose next one sends the request again with the answers.
 *
 * @module
 */
import { onAbort } from '../../runtime/abort.js'
import { systemClock } from '../../runtime/clock.js'
import { firstChars } from '../../runtime/cut.js'
import { isRecord, recordOf, type Unread } from '../../runtime/unread.js'
import type { MaybePromise } from '../../core/managers.js'
import { isAnswered, isTimeout, type McpClient, type McpRequest } from './client.js'
import { OngoingCall, type HeldRequest, type ServerRequest } from './ongoing.js'
import { McpToolError } from './results.js'
import { answerTo, isAnswerable, type McpRun, type McpSample } from './questions.js'

/** How requests are sent, and answered. */
export interface Caller {
  readonly run: McpRun
  /** Called in each step that needs it. */
  readonly client: () => MaybePromise<McpClient>
  readonly sample: McpSample | undefined
  readonly timeoutMs: number
  /** How long a call of a session is held while the user is asked. */
  readonly holdMs: number
  /** Called when the client is not needed while the user is asked: a run that leaves the memory tells nobody. */
  readonly release?: () => void
}

/** An answer to a question in the middle of a call, for a call that begins again. */
interface Exchange {
  readonly request: ServerRequest
  readonly result: Unread
}

/** How a step has ended. It is stored. */
type Outcome =
  | { readonly result: Unread }
  | { readonly problem: string }
  | {
      readonly asked: readonly (ServerRequest & { readonly key: string })[]
      readonly by: Asker
      readonly state?: string
    }

/** By a result, by a request in the middle of the call, or by an error that a repeated call may not have. */
type Asker = 'result' | 'call' | 'error'

/** How often a server may ask within one call. */
const MAX_ROUNDS = 50
/** How often a server may put one call off, by a result without questions. */
const MAX_PUT_OFF = 10
/** The pause before a call that was put off is repeated, in ms: it doubles each time. */
const FIRST_PAUSE_MS = 250
const MAX_PAUSE_MS = 30_000
/** How many requests one result may have. */
const MAX_REQUESTS = 20
/** How often progress of one step is reported. */
const MAX_REPORTS = 1_000
const MAX_REPORT = 1_000
const MAX_LABEL = 180
const MAX_PROBLEM = 2_000
/** The error of a server that wants its user to open a page first. */
const URL_NEEDED = -32_042
const KEY = 'a2a-tasks.dev/key'

/**
 * Sends a request in steps, and puts the questions of the server to the user.
 *
 * @param label - The name of the steps, which is unique in the run.
 * @param signal - Cancels the request.
 * @throws {McpToolError} with the error of the server, and after a timeout. Otherwise what a step throws.
 */
export async function request(
  caller: Caller,
  label: string,
  given: McpRequest,
  signal?: AbortSignal,
): Promise<Unread> {
  const sender = new Sender(caller, given, signal)
  const name = firstChars(label, MAX_LABEL)
  try {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const outcome = (await caller.run.step(
        round === 0 ? name : `${name} (${round + 1})`,
        async (step): Promise<unknown> => await sender.send(step.signal, step.key),
      )) as Outcome
      if ('result' in outcome) return outcome.result
      if ('problem' in outcome) throw new McpToolError(outcome.problem)
      await sender.answer(outcome, name)
    }
    throw new McpToolError(`The MCP server has asked more than ${MAX_ROUNDS} times`)
  } finally {
    sender.leave()
  }
}

/** One request, over all its rounds. */
class Sender {
  readonly #caller: Caller
  readonly #request: McpRequest
  readonly #signal: AbortSignal | undefined
  /** Absent where the process has died since, or the call is over. */
  #ongoing: OngoingCall | undefined
  #held: HeldRequest | undefined
  readonly #earlier: Exchange[] = []
  #resumed: Unread = {}
  #putOff = 0

  constructor(caller: Caller, given: McpRequest, signal: AbortSignal | undefined) {
    this.#caller = caller
    this.#request = given
    this.#signal = signal
  }

  /** Sends, or waits on, until there is something to store. */
  async send(step: AbortSignal, key: string): Promise<Outcome> {
    const { run, client, sample, timeoutMs } = this.#caller
    const signal = this.#signal === undefined ? step : AbortSignal.any([step, this.#signal])
    const answers = this.#ongoing === undefined ? [...this.#earlier] : []
    this.#ongoing ??= new OngoingCall(await client(), this.#withState(key), {
      owner: run.taskId,
      timeoutMs,
      mayAsk: (asked) => isAnswerable(asked, sample),
    })
    for (let reports = 0; ;) {
      const event = await this.#ongoing.next(signal)
      switch (event.type) {
        case 'progress':
          reports += 1
          if (reports <= MAX_REPORTS) report(run, event.progress)
          break
        case 'asked': {
          const { request, reply } = event.held
          const known = answers.findIndex((each) => isSame(each.request, request))
          if (known === -1) {
            this.#held = event.held
            return { asked: [{ key: '', ...request }], by: 'call' }
          }
          for (const { result } of answers.splice(known, 1)) reply(result)
          break
        }
        case 'ended':
          this.#ongoing = undefined
          return this.#endOf(event.result)
        default:
          this.#ongoing = undefined
          if (isTimeout(event.error))
            return { problem: `The MCP server has not answered within ${timeoutMs} ms` }
          return failureOf(event.error)
      }
    }
  }

  #withState(key: string): McpRequest {
    const { method, params, tool } = this.#request
    const _meta = { ...recordOf(params['_meta']), [KEY]: key }
    return { method, tool, params: { ...params, ...this.#resumed, _meta } }
  }

  #endOf(result: Unread): Outcome {
    const { resultType = 'complete', inputRequests, requestState } = result
    if (resultType === 'complete') return { result }
    if (resultType !== 'input_required')
      return {
        problem: `The MCP server has answered with a result of the type "${firstChars(String(resultType), 100)}", which this agent cannot read`,
      }
    const asked = Object.entries(recordOf(inputRequests) ?? {}).map(([key, given]) => toRequest(key, given))
    const unknown = asked.find((each) => !isAnswerable(each, this.#caller.sample))
    if (unknown !== undefined)
      return { problem: `The MCP server asks for ${unknown.method}, which this agent does not offer` }
    if ((asked.length === 0 && typeof requestState !== 'string') || asked.length > MAX_REQUESTS)
      return {
        problem: `The MCP server has asked for ${asked.length} inputs at once: 1 to ${MAX_REQUESTS} are possible`,
      }
    return { asked, by: 'result', ...(typeof requestState === 'string' && { state: requestState }) }
  }

  /**
   * Puts the questions to the user, and keeps the answers for the next round. A result without questions is of a server that puts
   * the call off: the next round waits.
   */
  async answer({ asked, by, state }: Extract<Outcome, { asked: unknown }>, label: string): Promise<void> {
    const { run, sample } = this.#caller
    const held = this.#held
    this.#held = undefined
    const withdrawn = new AbortController()
    const ignore = onAbort(held?.withdrawn, () => {
      // A call that was let go begins again with the answer.
      if (this.#ongoing !== undefined) withdrawn.abort()
    })
    const disarm = this.#hold()
    const answers: [string, Unread][] = []
    try {
      if (asked.length === 0) await this.#pause(label)
      for (const { key, ...each } of asked) {
        const result = await answerTo(each, { run, label, sample, withdrawn: withdrawn.signal })
        answers.push([key, result])
        if (by === 'call') this.#earlier.push({ request: each, result })
        if (by === 'error' && result['action'] !== 'accept') throw new McpToolError('The user has declined')
        held?.reply(result)
      }
    } finally {
      ignore()
      disarm()
    }
    if (by === 'result')
      this.#resumed = {
        ...(answers.length > 0 && { inputResponses: Object.fromEntries(answers) }),
        ...(state !== undefined && { requestState: state }),
      }
  }

  async #pause(label: string): Promise<void> {
    if (this.#putOff === MAX_PUT_OFF)
      throw new McpToolError(`The MCP server has put the call off more than ${MAX_PUT_OFF} times`)
    const ms = Math.min(FIRST_PAUSE_MS * 2 ** this.#putOff, MAX_PAUSE_MS)
    this.#putOff += 1
    await this.#caller.run.sleep(label, { ms })
  }

  /** Lets the call go, at once or after a time. */
  #hold(): () => void {
    const { holdMs, release } = this.#caller
    const letGo = (): void => {
      const ongoing = this.#ongoing
      this.#ongoing = undefined
      ongoing?.cancel()
      release?.()
    }
    if (this.#ongoing !== undefined) return systemClock.schedule(letGo, holdMs)
    letGo()
    return () => undefined
  }

  leave(): void {
    this.#ongoing?.cancel()
  }
}

function toRequest(key: string, given: unknown): ServerRequest & { readonly key: string } {
  const { method, params } = recordOf(given) ?? {}
  return { key, method: firstChars(String(method), 100), params: recordOf(params) ?? {} }
}

/** @throws the error, where it is not the answer of the server. */
function failureOf(error: unknown): Outcome {
  if (!isAnswered(error)) throw error
  const { elicitations } = recordOf(error.data) ?? {}
  if (error.code === URL_NEEDED && Array.isArray(elicitations) && elicitations.length <= MAX_REQUESTS) {
    const asked = elicitations.filter(isRecord).map((params, at) => ({
      key: String(at),
      method: 'elicitation/create',
      params: { ...params, mode: 'url' },
    }))
    if (asked.length > 0) return { asked, by: 'error' }
  }
  return { problem: firstChars(error.message, MAX_PROBLEM) }
}

/** Ids in a request are new each time. */
function isSame(one: ServerRequest, other: ServerRequest): boolean {
  return one.method === other.method && contentOf(one) === contentOf(other)
}

function contentOf({ params }: ServerRequest): string {
  return JSON.stringify({ ...params, _meta: undefined, elicitationId: undefined })
}

function report(run: McpRun, { progress, total, message }: Unread): void {
  const text = typeof message === 'string' && message !== '' ? firstChars(message, MAX_REPORT) : undefined
  const current = isAmount(progress) ? progress : undefined
  if (text === undefined && current === undefined) return
  run.update({ message: text, current, total: isAmount(total) ? total : undefined })
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}
