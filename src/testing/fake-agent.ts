/**
 * @module
 */
import type { AgentCardInput } from '../agent-card/build.js'
import type { TaskManager } from '../core/task-manager.js'
import type { AgentCard } from '../schemas/agent-card.js'
import { createRequestHandler } from '../server/request-handler.js'
import type { RequestHandlerOptions } from '../server/options.js'

type Execute = RequestHandlerOptions['execute']

/** What a fake agent does with a message: replies with a text, works, or cannot be reached. */
export type FakeStep = string | Execute | Error

export interface FakeAgentOptions extends Omit<RequestHandlerOptions, 'card' | 'execute'> {
  readonly card?: Partial<AgentCardInput> | undefined
}

export interface FakeAgent {
  /** `https://agent.test`, or what the card says. */
  readonly url: string
  /**
   * What to give a client in place of the platform's `fetch`. As that does, it rejects with the reason of a signal that
   * is aborted, and with a `TypeError` where no agent is: other origins than those of `url` and the card.
   */
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>
  readonly card: AgentCard
  readonly tasks: TaskManager
  /** All requests that have reached the agent, oldest first. */
  readonly requests: readonly Request[]
  readonly close: () => Promise<void>
}

const HOME = 'https://agent.test'

/**
 * An agent in memory, with the whole protocol and no server, for the tests of whoever calls agents.
 *
 * `script` is what it does with every message, or a list: the first step with the first message, and so on; the last
 * one with all that follow. With an `Error` for a step the connection breaks: `fetch` rejects with it.
 *
 * @example
 * const agent = fakeAgent('Bonjour')
 * const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
 * const result = await client.run('Translate: good day') // { ok: true, type: 'completed', text: 'Bonjour', … }
 */
export function fakeAgent(
  script: FakeStep | readonly [FakeStep, ...FakeStep[]],
  options: FakeAgentOptions = {},
): FakeAgent {
  const steps = new Steps(isList(script) ? script : [script])
  const requests: Request[] = []
  const { card: given = {}, ...others } = options
  const url = given.url ?? HOME
  const handler = createRequestHandler({
    ...others,
    card: { name: 'Fake agent', ...(given.supportedInterfaces === undefined && { url }), ...given },
    execute(run) {
      const step = steps.take(run.message.messageId)
      if (step instanceof Error) throw step
      return typeof step === 'function' ? step(run) : step
    },
  })
  const origins = [url, ...handler.card.supportedInterfaces.map((face) => face.url)].flatMap(originOf)
  const answer = async (request: Request): Promise<Response> => {
    const message = await messageIn(request)
    if (message === undefined) return await handler.fetch(request)
    const giveBack = steps.reserve(message)
    return await handler.fetch(request).finally(giveBack)
  }
  return {
    url,
    card: handler.card,
    tasks: handler.tasks,
    requests,
    async fetch(to, init) {
      const request = new Request(to, init)
      const signal = init?.signal ?? request.signal
      signal.throwIfAborted()
      if (!originOf(request.url).some((origin) => origins.includes(origin))) {
        throw new TypeError('fetch failed', { cause: notFound(request.url, url) })
      }
      requests.push(request.clone())
      return await heeding(signal, answer(request))
    },
    close: () => handler.close({ graceMs: 0 }),
  }
}

// TypeScript does not take what is read-only for an array.
function isList(script: FakeStep | readonly FakeStep[]): script is readonly FakeStep[] {
  return Array.isArray(script)
}

/** A message of which no more is known than what steps go by. */
interface Arriving {
  readonly messageId?: unknown
  readonly taskId?: unknown
}

/** One place in the script: two may have the same step. */
interface Place {
  readonly step: FakeStep
}

/**
 * The script. A message gets its step on arrival, in one go, so that of several at once each gets its own; before its
 * run begins, time passes.
 */
class Steps {
  readonly #left: Place[]
  readonly #reserved = new Map<unknown, Place>()

  constructor(script: readonly FakeStep[]) {
    this.#left = script.map((step) => ({ step }))
  }

  /** What to call when the message has been answered: it may have begun no run. Throws a step that is an error. */
  reserve({ messageId, taskId }: Arriving): () => void {
    const [first] = this.#left
    const isBroken = first?.step instanceof Error
    // One for a task that there is begins no run as a rule; where it does, the run takes what is next then.
    if (!isBroken && (taskId || this.#reserved.has(messageId))) return () => {}
    const place = this.#next()
    if (place.step instanceof Error) throw place.step
    this.#reserved.set(messageId, place)
    return () => {
      if (this.#reserved.get(messageId) !== place) return
      this.#reserved.delete(messageId)
      if (this.#left[0] !== place) this.#left.unshift(place)
    }
  }

  take(messageId: string): FakeStep {
    const { step } = this.#reserved.get(messageId) ?? this.#next()
    this.#reserved.delete(messageId)
    return step
  }

  #next(): Place {
    return (this.#left.length > 1 ? this.#left.shift() : this.#left[0]) ?? { step: '' }
  }
}

/** A list where there is one: what is neither http nor https has none, and other transports have URLs, too. */
function originOf(url: string): string[] {
  return URL.canParse(url) && /^https?:/i.test(url) ? [new URL(url).origin] : []
}

/** As Node says it, and where the agent would have been. */
function notFound(asked: string, url: string): Error {
  const { hostname } = new URL(asked)
  const error = new Error(`getaddrinfo ENOTFOUND ${hostname} (the fake agent is at ${url})`)
  return Object.assign(error, { code: 'ENOTFOUND' })
}

const METHODS: readonly unknown[] = ['SendMessage', 'SendStreamingMessage', 'message/send', 'message/stream']

/** The message that it sends, if it sends one, by either binding of any version. */
async function messageIn(request: Request): Promise<Arriving | undefined> {
  if (request.method !== 'POST') return undefined
  const body = toRecord(parse(await request.clone().text()))
  const isRest = /\/message:(send|stream)$/.test(new URL(request.url).pathname)
  if (!isRest && !METHODS.includes(body['method'])) return undefined
  const params = isRest ? body : toRecord(body['params'])
  // HTTP+JSON of 0.3 calls it so.
  return toRecord(params['message'] ?? params['request'])
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function toRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** The answer, and its body, until the signal is aborted: both end with its reason then, as those of `fetch` do. */
async function heeding(signal: AbortSignal, answer: Promise<Response>): Promise<Response> {
  let abort = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    abort = () => {
      // Whoever aborts says with what.
      reject(signal.reason as Error)
    }
  })
  // Nobody may be waiting when it comes.
  aborted.catch(() => undefined)
  signal.addEventListener('abort', abort, { once: true })
  const leave = (): void => signal.removeEventListener('abort', abort)
  const left = answer.then((late) => (signal.aborted ? late.body?.cancel() : undefined))
  left.catch(() => undefined)
  try {
    const response = await Promise.race([answer, aborted])
    if (response.body === null) leave()
    return response.body === null ? response : new Response(until(aborted, response.body, leave), response)
  } catch (error) {
    leave()
    throw error
  }
}

/** A body that breaks when `aborted` rejects. */
function until(
  aborted: Promise<never>,
  body: ReadableStream<Uint8Array>,
  leave: () => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        aborted.catch((reason: unknown) => {
          controller.error(reason)
          return reader.cancel(reason)
        })
      },
      async pull(controller) {
        const { done, value } = await reader.read()
        if (!done) {
          controller.enqueue(value)
          return
        }
        leave()
        controller.close()
      },
      cancel(reason) {
        leave()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}
