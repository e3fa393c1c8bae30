/**
 * Agent of KAOS or A2A that answers chat messages.
 *
 * @module
 */
import type { Authenticator } from '../http/authenticator.js'
import { A2AError, invalidAnswer } from '../core/errors.js'
import { parseAgentCard } from '../agent-card/parse.js'
import { A2AClient } from './a2a-client.js'
import { AbortScope } from '../http/abort.js'
import { loadKaosCard } from './cards/cards.js'
import { aborted, badStatus, ExternalServiceError } from '../http/errors.js'
import { request, toHttpSettings, type HttpOptions, type HttpSettings } from '../http/request.js'
import { withoutPlainHttp } from './connection/interfaces.js'
import type { Unread } from '../runtime/unread.js'
import { fieldsOf, parseJson, asText } from '../http/json.js'
import { requireFunctions, requireKnown, requirePositive, requireText } from '../runtime/options.js'
import { shownUrl, trimSlashes } from '../http/url.js'

/** Options of {@link RemoteAgent}. */
export interface RemoteAgentOptions extends HttpOptions {
  /** The name of the agent in errors, and the `model` of chat completions. */
  readonly name: string
  /** The agent's base URL. Requests to a KAOS agent go to it, whatever URL its card has. */
  readonly cardUrl: string
  /** Time limit of each request, in ms; for A2A, of the whole task. Default is 60,000. */
  readonly timeoutMs?: number | undefined
  /** Adds headers to each request, such as `(headers) => propagation.inject(context.active(), headers)`. */
  readonly injectHeaders?: ((headers: Record<string, string>) => void) | undefined
  /** Called with the error of A2A when a message is sent by chat completions instead. */
  readonly onFallback?: ((error: unknown) => void) | undefined
}

/** A message of the chat completions API. */
export interface ChatMessage {
  readonly role: string
  readonly content: unknown
  readonly [field: string]: unknown
}

const KEYS = [
  ...['name', 'cardUrl', 'timeoutMs', 'injectHeaders', 'onFallback'],
  ...['fetch', 'headers', 'auth', 'urlGuard', 'clock'],
]
const MAX_ANSWER_BYTES = 16_777_216
const MAX_DEPTH = 100
/** The roles of what an agent works on. A `task-delegation` is a task that the model of another agent has delegated. */
const PROMPT_ROLES = ['user', 'task-delegation']
const CANCEL_TIMEOUT_MS = 10_000
const FAILED_STATES = ['failed', 'canceled', 'cancelled', 'rejected']

interface Agent {
  readonly card: Unread
  /** Sends a text by A2A. Absent if the card does not offer A2A. */
  readonly sendText: SendText | undefined
}

type SendText = (text: string, signal: AbortSignal | undefined) => Promise<string>

/**
 * A client for one agent, such as a KAOS agent, that takes chat messages and returns a text. Uses A2A if the agent's card
 * offers it. Otherwise, or if A2A fails, it uses the chat completions API.
 *
 * @example
 * const agent = new RemoteAgent({ name: 'analyst', cardUrl: 'http://analyst:8000' })
 * const answer = await agent.processMessage([{ role: 'user', content: 'Analyze this data' }])
 */
export class RemoteAgent {
  readonly name: string
  /** The base URL without trailing slashes. */
  readonly cardUrl: string
  readonly #options: RemoteAgentOptions
  readonly #http: HttpSettings
  readonly #timeoutMs: number
  #agent: Promise<Agent> | undefined

  /**
   * @throws {TypeError | RangeError} for an invalid option; the message names it.
   */
  constructor(options: RemoteAgentOptions) {
    requireKnown(options, KEYS, 'RemoteAgent')
    const { name, cardUrl, timeoutMs = 60_000, injectHeaders, auth } = options
    requireFunctions(options, ['injectHeaders', 'onFallback'])
    requireText('cardUrl', cardUrl)
    this.name = name
    this.cardUrl = trimSlashes(cardUrl)
    this.#timeoutMs = requirePositive('timeoutMs', timeoutMs)
    this.#options = {
      ...options,
      auth: injectHeaders === undefined ? auth : injectingAuthenticator(injectHeaders, auth),
    }
    this.#http = toHttpSettings(this.#options, MAX_ANSWER_BYTES)
  }

  /**
   * Returns a copy of the card as the agent wrote it. Fetched on first use, and again after a failure.
   *
   * @throws {A2AError} `EXTERNAL_SERVICE_ERROR`: `Agent … unavailable at …`.
   */
  async card(): Promise<Unread> {
    return structuredClone((await this.#init()).card)
  }

  /**
   * Sends the last message of the user, or the task after it that is delegated (`role: 'task-delegation'`), by A2A, or all messages by chat completions, and returns the text of the answer. A
   * question of the agent is an answer. If A2A fails, a task that is still running is canceled before the chat starts.
   *
   * @throws {A2AError} `EXTERNAL_SERVICE_ERROR`: `Agent … unavailable at …`, or the failure of chat completions;
   *   `REQUEST_ABORTED`.
   */
  async processMessage(
    messages: readonly ChatMessage[],
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<string> {
    requireKnown(options, ['signal'], 'processMessage')
    const { signal } = options
    const { sendText } = await this.#init(signal)
    const text = messages.findLast(({ role }) => PROMPT_ROLES.includes(role))?.content
    if (sendText !== undefined && typeof text === 'string' && text !== '') {
      try {
        return await sendText(text, signal)
      } catch (error) {
        if (A2AError.is(error, 'REQUEST_ABORTED')) throw error
        this.#options.onFallback?.(error)
      }
    }
    try {
      return await this.#chat(messages, signal)
    } catch (error) {
      if (A2AError.is(error, 'REQUEST_ABORTED')) throw error
      this.#agent = undefined
      const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
      throw this.#failed(reason, error)
    }
  }

  async #init(signal?: AbortSignal): Promise<Agent> {
    const scope = new AbortScope(this.#http.clock, signal)
    try {
      this.#agent ??= this.#discover()
      const agent = this.#agent
      return await scope.race(() => agent)
    } finally {
      scope.dispose()
    }
  }

  /** Independent of any caller's signal, because several callers may wait for it. */
  async #discover(): Promise<Agent> {
    try {
      const card = await loadKaosCard(this.#http, this.cardUrl, { timeoutMs: this.#timeoutMs })
      return { card, sendText: this.#senderFor(card) }
    } catch (cause) {
      this.#agent = undefined
      const { name, cardUrl: url } = this
      const text = `Agent ${name} unavailable at ${shownUrl(url)}`
      throw new A2AError(
        'EXTERNAL_SERVICE_ERROR',
        text,
        { service: `Agent ${name}`, url: shownUrl(url) },
        { cause },
      )
    }
  }

  #senderFor(card: Unread): SendText | undefined {
    const { supportedProtocols, supportedInterfaces, additionalInterfaces, preferredTransport } = card
    if (Array.isArray(supportedProtocols) && supportedProtocols.includes('jsonrpc')) {
      return (text, signal) => this.#sendToKaos(text, signal)
    }
    const interfaces = [supportedInterfaces, additionalInterfaces].flat().map(fieldsOf)
    const bindings = interfaces.map(({ protocolBinding, transport }) => protocolBinding ?? transport)
    const offersA2A = [preferredTransport, ...bindings].some((one) =>
      /^(jsonrpc|http\+json)$/i.test(asText(one)),
    )
    return offersA2A ? (text, signal) => this.#sendByA2A(card, text, signal) : undefined
  }

  async #sendByA2A(card: Unread, text: string, signal: AbortSignal | undefined): Promise<string> {
    const { fetch, headers, auth, urlGuard, clock } = this.#options
    const parsed = parseAgentCard(card)
    const client = new A2AClient({
      ...{ fetch, headers, auth, urlGuard, clock },
      card: auth === undefined && headers === undefined ? parsed : withoutPlainHttp(parsed, this.cardUrl),
    })
    const scope = new AbortScope(this.#http.clock, signal)
    try {
      // An aborted run cancels its task, which would otherwise continue beside the chat.
      scope.arm(this.#timeoutMs)
      const result = await client.run(text, { signal: scope.signal })
      if (signal?.aborted) throw aborted(signal)
      // A question of the agent counts as its answer.
      if (result.ok || result.type === 'input-required') return result.text
      scope.signal.throwIfAborted()
      const taskId = 'handle' in result ? result.handle.taskId : undefined
      if (taskId !== undefined) {
        scope.arm(CANCEL_TIMEOUT_MS)
        await client.cancelTask(taskId, { signal: scope.signal }).catch(() => {
          // The chat follows, whether or not the agent confirms.
        })
      }
      throw 'error' in result ? result.error : this.#failed(`task ${result.type}: ${result.text}`)
    } finally {
      scope.dispose()
    }
  }

  async #sendToKaos(text: string, signal: AbortSignal | undefined): Promise<string> {
    const parts = [{ type: 'text', text }]
    const { result, error } = await this.#post('/', signal, {
      jsonrpc: '2.0',
      method: 'SendMessage',
      id: 1,
      params: { message: { role: 'user', parts, metadata: { delegation: true } } },
    })
    if (error) throw this.#failed(`A2A error: ${asText(fieldsOf(error)['message'])}`)
    const task = fieldsOf(result)
    const state = asText(fieldsOf(task['status'])['state'])
    const answer = textOfKaos(task)
    if (FAILED_STATES.includes(state)) throw this.#failed(`task ${state}: ${answer}`)
    return answer
  }

  async #chat(messages: readonly ChatMessage[], signal: AbortSignal | undefined): Promise<string> {
    const body = { model: this.name, messages, stream: false }
    const { choices } = await this.#post('/v1/chat/completions', signal, body)
    const { content } = fieldsOf(fieldsOf(listOf(choices)[0])['message'])
    if (typeof content === 'string') return content
    throw invalidAnswer('choices[0].message.content is not a string')
  }

  async #post(path: string, signal: AbortSignal | undefined, json: object): Promise<Unread> {
    const url = this.cardUrl + path
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    const call = { method: 'POST', url, headers, body: JSON.stringify(json) } as const
    const { status, statusText, text } = await request(this.#http, call, {
      signal,
      timeoutMs: this.#timeoutMs,
    })
    if (status < 200 || status > 299) throw badStatus(url, status, statusText)
    return fieldsOf(parseJson(text, MAX_DEPTH))
  }

  #failed(reason: string, cause?: unknown): ExternalServiceError {
    return new ExternalServiceError(`Agent ${this.name}`, reason, { url: shownUrl(this.cardUrl), cause })
  }
}

/** The text of a KAOS task: its artifacts, else its output, else the agent's last message, else its status message. */
function textOfKaos({ artifacts, output, history, status }: Unread): string {
  const agentMessages = listOf(history).filter(({ role }) => role === 'agent')
  const { message } = fieldsOf(status)
  const texts = [firstText(listOf(artifacts)), output, firstText(agentMessages.reverse()), message]
  return texts.find((text): text is string => typeof text === 'string' && text !== '') ?? ''
}

function firstText(messages: readonly Unread[]): unknown {
  const parts = messages.flatMap(({ parts }) => listOf(parts))
  return parts.map(({ text }) => text).find((text) => typeof text === 'string' && text !== '')
}

function listOf(value: unknown): Unread[] {
  return Array.isArray(value) ? value.map(fieldsOf) : []
}

/** Injects headers as an authenticator, so that they are not sent along with redirects to other origins. */
function injectingAuthenticator(
  inject: (headers: Record<string, string>) => void,
  auth?: Authenticator,
): Authenticator {
  return {
    async apply(sent) {
      const headers: Record<string, string> = {}
      inject(headers)
      for (const [name, value] of Object.entries(headers)) sent.headers.set(name, value)
      await auth?.apply(sent)
    },
    renew: async (refused) => (await auth?.renew?.(refused)) ?? false,
  }
}
