/**
 * An agent in memory for tests of A2A clients.
 *
 * @module
 */
import { onAbort } from '../runtime/abort.js'
import type { AgentCardInput } from '../agent-card/build.js'
import type { TaskManager } from '../core/task-manager.js'
import { requireObject } from '../runtime/options.js'
import { parseUrl } from '../runtime/url.js'
import type { AgentCard } from '../schemas/agent-card.js'
import { createRequestHandler } from '../server/request-handler.js'
import type { RequestHandlerOptions } from '../server/options.js'
import type { AnyTasks } from '../server/tasks.js'
import type { Principal } from '../server/caller.js'

type Execute = RequestHandlerOptions['execute']

/**
 * A step of a fake agent's script: a text to reply with, an `execute` function, or an error that breaks the connection.
 */
export type FakeStep = string | Execute | Error

/** Options of {@link fakeAgent}: those of `createRequestHandler`, and fields of the card. */
export interface FakeAgentOptions<M extends AnyTasks = TaskManager> extends Omit<
  RequestHandlerOptions<Principal, M>,
  'card' | 'execute' | 'output'
> {
  /** Fields of the card that replace the defaults. */
  readonly card?: Partial<AgentCardInput> | undefined
}

/** The agent that {@link fakeAgent} returns. */
export interface FakeAgent<M extends AnyTasks = TaskManager> {
  /** The URL of the card. Default is `https://agent.test`. */
  readonly url: string
  /**
   * Replaces the platform's `fetch` in a client. Like that, it rejects with the reason of an aborted signal, and with a
   * `TypeError` for any origin other than those of `url` and the card.
   */
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>
  /** The card, for `new A2AClient({ card })`. */
  readonly card: AgentCard
  /** The agent's tasks, to inspect them. */
  readonly tasks: M
  /** All requests that have reached the agent, oldest first. */
  readonly requests: readonly Request[]
  /** Ends all runs and streams of the agent. A manager of the options stays open. */
  readonly close: () => Promise<void>
}

const DEFAULT_URL = 'https://agent.test'

/**
 * An agent in memory, with the whole protocol and no server, for tests of code that calls agents.
 *
 * `script` is the response to every message, or a list of responses: the first step serves the first message, and so
 * on, and the last step serves all further messages. When a step is an `Error`, the connection breaks: `fetch` rejects
 * with that error.
 *
 * @example
 * const agent = fakeAgent('Bonjour')
 * const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
 * const result = await client.run('Translate: good day') // { ok: true, type: 'completed', text: 'Bonjour', … }
 */
export function fakeAgent<M extends AnyTasks = TaskManager>(
  script: FakeStep | readonly [FakeStep, ...FakeStep[]],
  options: FakeAgentOptions<M> = {},
): FakeAgent<M> {
  const steps = new Steps(isList(script) ? script : [script])
  const requests: Request[] = []
  requireObject(undefined, options, 'fakeAgent')
  const { card: given = {}, ...others } = options
  const { supportedInterfaces, url = DEFAULT_URL } = given
  const handler = createRequestHandler<Principal, M>({
    // Only the test that made it has its URL.
    anonymous: 'shared',
    ...others,
    card: {
      name: 'Fake agent',
      ...given,
      ...(supportedInterfaces === undefined ? { url } : { supportedInterfaces }),
    },
    execute(run) {
      const step = steps.stepFor(run.message.messageId)
      if (step instanceof Error) throw step
      return typeof step === 'function' ? step(run) : step
    },
  })
  const origins = [
    url,
    ...handler.card.supportedInterfaces.map((agentInterface) => agentInterface.url),
  ].flatMap(originOf)
  const answer = async (request: Request): Promise<Response> => {
    const message = await messageIn(request)
    if (message === undefined) return await handler.fetch(request)
    const release = steps.reserve(message)
    return await handler.fetch(request).finally(release)
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
      return await untilAborted(signal, answer(request))
    },
    close: () => handler.close({ graceMs: 0 }),
  }
}

// TypeScript does not narrow a read-only array by `Array.isArray`.
function isList(script: FakeStep | readonly FakeStep[]): script is readonly FakeStep[] {
  return Array.isArray(script)
}

/** The properties of an incoming message that select a step. */
interface IncomingMessage {
  readonly messageId?: unknown
  readonly taskId?: unknown
}

/** One entry of the script. Two entries may have the same step. */
interface Entry {
  readonly step: FakeStep
}

/**
 * The script. A message reserves its step when it arrives, so that concurrent messages get different steps: other
 * requests may arrive before its run begins.
 */
class Steps {
  readonly #left: Entry[]
  readonly #reserved = new Map<unknown, Entry>()

  constructor(script: readonly FakeStep[]) {
    this.#left = script.map((step) => ({ step }))
  }

  /**
   * Reserves a step. Returns a function to call after the response, which returns an unused step to the script. Throws
   * a step that is an error.
   */
  reserve({ messageId, taskId }: IncomingMessage): () => void {
    const [first] = this.#left
    const isBroken = first?.step instanceof Error
    // A message to an existing task usually begins no run. If it does, the run takes the next step then.
    if (!isBroken && (taskId || this.#reserved.has(messageId))) return () => {}
    const entry = this.#next()
    if (entry.step instanceof Error) throw entry.step
    this.#reserved.set(messageId, entry)
    return () => {
      if (this.#reserved.get(messageId) !== entry) return
      this.#reserved.delete(messageId)
      if (this.#left[0] !== entry) this.#left.unshift(entry)
    }
  }

  stepFor(messageId: string): FakeStep {
    const { step } = this.#reserved.get(messageId) ?? this.#next()
    this.#reserved.delete(messageId)
    return step
  }

  #next(): Entry {
    return (this.#left.length > 1 ? this.#left.shift() : this.#left[0]) ?? { step: '' }
  }
}

/** The origin as a list, which is empty unless the scheme is http or https: other transports have URLs too. */
function originOf(url: string): string[] {
  const { protocol, origin } = parseUrl(url) ?? {}
  return origin !== undefined && (protocol === 'http:' || protocol === 'https:') ? [origin] : []
}

/** The error that Node throws for an unknown host, with the URL of the fake agent added. */
function notFound(requested: string, url: string): Error {
  const { hostname } = new URL(requested)
  const error = new Error(`getaddrinfo ENOTFOUND ${hostname} (the fake agent is at ${url})`)
  return Object.assign(error, { code: 'ENOTFOUND' })
}

const METHODS: readonly unknown[] = ['SendMessage', 'SendStreamingMessage', 'message/send', 'message/stream']

/** The message that a request sends, if it sends one, in either binding of any version. */
async function messageIn(request: Request): Promise<IncomingMessage | undefined> {
  if (request.method !== 'POST') return undefined
  const body = toRecord(parse(await request.clone().text()))
  const isRest = /\/message:(send|stream)$/.test(new URL(request.url).pathname)
  if (!isRest && !METHODS.includes(body['method'])) return undefined
  const params = isRest ? body : toRecord(body['params'])
  // HTTP+JSON of 0.3 names the field `request`.
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

/** The response and its body, until the signal is aborted. Both then fail with its reason, like those of `fetch`. */
async function untilAborted(signal: AbortSignal, answer: Promise<Response>): Promise<Response> {
  let removeListener = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    // The caller of `abort` chooses the reason, of any type.
    removeListener = onAbort(signal, () => reject(signal.reason as Error))
  })
  // Avoids an unhandled rejection when the response has already ended.
  aborted.catch(() => undefined)
  const left = answer.then((late) => (signal.aborted ? late.body?.cancel() : undefined))
  left.catch(() => undefined)
  try {
    const response = await Promise.race([answer, aborted])
    if (response.body === null) removeListener()
    return response.body === null
      ? response
      : new Response(until(aborted, response.body, removeListener), response)
  } catch (error) {
    removeListener()
    throw error
  }
}

/** A body that fails when `aborted` rejects. */
function until(
  aborted: Promise<never>,
  body: ReadableStream<Uint8Array>,
  removeListener: () => void,
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
        removeListener()
        controller.close()
      },
      cancel(reason) {
        removeListener()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}
