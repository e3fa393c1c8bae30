/**
 * Another agent to hand work to.
 *
 * @module
 */
import { A2AError, invalidParams } from '../core/errors.js'
import { parseAgentCard } from '../agent-card/parse.js'
import { invalidAnswer } from '../wire/client/answer.js'
import { A2AClient } from './a2a-client.js'
import { Abortion } from '../http/abort.js'
import type { Authenticator } from '../http/auth.js'
import { loadKaosCard } from './cards/cards.js'
import { aborted, badStatus, ExternalServiceError } from '../http/errors.js'
import { request, toHttpSettings, type HttpOptions, type HttpSettings } from '../http/request.js'
import { withoutPlainHttp } from './connection/interfaces.js'
import { fieldsOf, parseJson, asText, type Unread } from '../http/json.js'
import { requireKnown, requirePositive } from './options.js'
import { shownUrl, trimSlashes } from '../http/url.js'

export interface RemoteAgentOptions extends HttpOptions {
  /** How errors call it; the `model` of chat completions. */
  readonly name: string
  /** Its base URL. An agent of KAOS is there, wherever its card says that it is. */
  readonly cardUrl: string
  /** How long each request may take, in ms; of A2A, all of the task. Default is 60,000. */
  readonly timeoutMs?: number | undefined
  /** Adds headers to each request, as `(headers) => propagation.inject(context.active(), headers)` does. */
  readonly injectHeaders?: ((headers: Record<string, string>) => void) | undefined
  /** Told why a message went by chat completions although the agent's card offers A2A. */
  readonly onFallback?: ((error: unknown) => void) | undefined
}

/** As in chat completions. */
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
const CANCEL_TIMEOUT_MS = 10_000
const FAILED_STATES = ['failed', 'canceled', 'cancelled', 'rejected']

interface Agent {
  readonly card: Unread
  /** By A2A. */
  readonly sendText: SendText | undefined
}

type SendText = (text: string, signal: AbortSignal | undefined) => Promise<string>

/**
 * An agent that is reached by A2A where its card offers it, else, or when that fails, by chat completions.
 *
 * @example
 * const agent = new RemoteAgent({ name: 'analyst', cardUrl: 'http://analyst:8000' })
 * const answer = await agent.processMessage([{ role: 'user', content: 'Analyze this data' }])
 */
export class RemoteAgent {
  readonly name: string
  /** Without slashes at its end. */
  readonly cardUrl: string
  readonly #options: RemoteAgentOptions
  readonly #http: HttpSettings
  readonly #timeoutMs: number
  #agent: Promise<Agent> | undefined

  /**
   * @throws {A2AError} `INVALID_PARAMS`: `card_url is required`.
   * @throws {TypeError | RangeError} naming the option that makes no sense.
   */
  constructor(options: RemoteAgentOptions) {
    requireKnown(options, KEYS, 'RemoteAgent')
    const { name, cardUrl, timeoutMs = 60_000, injectHeaders, auth } = options
    if (!cardUrl) throw invalidParams('cardUrl', 'is required', undefined, 'card_url is required')
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
   * Its card as it wrote it, `url` and all, fetched when it is needed first, and anew after a failure.
   *
   * @throws {A2AError} `EXTERNAL_SERVICE_ERROR`: `Agent … unavailable at …`.
   */
  async card(): Promise<Unread> {
    return structuredClone((await this.#init()).card)
  }

  /**
   * The agent's answer to the last message of the user, by A2A, or to all messages, by chat completions.
   *
   * @throws {A2AError} `EXTERNAL_SERVICE_ERROR`: `Agent … unavailable at …`, or what went wrong with the chat;
   *   `REQUEST_ABORTED`.
   */
  async processMessage(
    messages: readonly ChatMessage[],
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<string> {
    const { sendText } = await this.#init(signal)
    const text = messages.findLast(({ role }) => role === 'user')?.content
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
    const abortion = new Abortion(this.#http.clock, signal)
    try {
      this.#agent ??= this.#discover()
      const agent = this.#agent
      return await abortion.race(() => agent)
    } finally {
      abortion.dispose()
    }
  }

  /** Not ended by a caller who is gone: others may wait for it. */
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
    const abortion = new Abortion(this.#http.clock, signal)
    try {
      // The run of whoever aborts cancels its task, which would go on beside the chat.
      abortion.arm(this.#timeoutMs)
      const result = await client.run(text, { signal: abortion.signal })
      if (signal?.aborted) throw aborted(signal)
      // What the agent asks is what it has to say.
      if (result.ok || result.type === 'input-required') return result.text
      abortion.signal.throwIfAborted()
      const taskId = 'handle' in result ? result.handle.taskId : undefined
      if (taskId !== undefined) {
        abortion.arm(CANCEL_TIMEOUT_MS)
        await client.cancelTask(taskId, { signal: abortion.signal }).catch(() => {
          // There is nothing else to be done about it.
        })
      }
      throw 'error' in result ? result.error : this.#failed(`task ${result.type}: ${result.text}`)
    } finally {
      abortion.dispose()
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
    throw invalidAnswer('choices[0].message.content is no text')
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

/** Its artifacts, else its output, else the agent's last message, else the status. */
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

/** The headers go where the credentials go: to the agent, not along with a redirect. */
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
