/**
 * Calls that are under way at a server, and what comes of them: progress, requests of the server in their middle, and their end.
 *
 * @module
 */
import { raceAbort } from '../../runtime/abort.js'
import { isRecord, recordOf, type Unread } from '../../runtime/unread.js'
import { isAnswered, send, type McpClient, type McpRequest } from './client.js'

/** A request of the server for its client. */
export interface ServerRequest {
  readonly method: string
  readonly params: Unread
}

/** A request that waits for the answer while its call is under way. */
export interface HeldRequest {
  readonly request: ServerRequest
  readonly reply: (result: object) => void
  /** Aborts when the server no longer waits for the answer. */
  readonly withdrawn: AbortSignal
}

/** What comes of a call. */
export type CallEvent =
  | { readonly type: 'progress'; readonly progress: Unread }
  | { readonly type: 'asked'; readonly held: HeldRequest }
  | { readonly type: 'ended'; readonly result: Unread }
  | { readonly type: 'failed'; readonly error: unknown }

export interface OngoingOptions {
  /** The task that calls. */
  readonly owner: string
  readonly timeoutMs: number
  readonly mayAsk: (request: ServerRequest) => boolean
}

/** The calls of a connection, to which its requests can belong. */
interface Calls {
  readonly underWay: Set<OngoingCall>
  /** The tasks of calls that the server has not ended: it may still work on them, and ask. Two are as many as are of use. */
  readonly left: Set<string>
}

/** By the transport, or the client where it has none. */
const connections = new WeakMap<object, Calls>()

/** The most requests of a call that wait to be read. */
const MAX_WAITING = 20

/** One call. Its end cannot be missed: what comes waits for {@link next}. */
export class OngoingCall {
  readonly owner: string
  readonly mayAsk: OngoingOptions['mayAsk']
  readonly #stop = new AbortController()
  readonly #over = new AbortController()
  readonly #events: CallEvent[] = []
  #wake = (): void => {}

  /** Begins the call. */
  constructor(client: McpClient, request: McpRequest, { owner, timeoutMs, mayAsk }: OngoingOptions) {
    this.owner = owner
    this.mayAsk = mayAsk
    const { underWay, left } = callsOf(client)
    underWay.add(this)
    takeRequests(client)
    const end = (event: CallEvent): void => {
      underWay.delete(this)
      if (event.type === 'failed' && !isAnswered(event.error) && left.size < 2) left.add(owner)
      this.#push(event)
      this.#over.abort()
    }
    const { signal } = this.#stop
    send(client, request, {
      signal,
      timeout: timeoutMs,
      onprogress: (progress) => this.#push({ type: 'progress', progress }),
    }).then(
      (result) => end({ type: 'ended', result }),
      (error: unknown) => end({ type: 'failed', error }),
    )
  }

  /** What comes next. Rejects when the signal aborts. */
  async next(signal: AbortSignal): Promise<CallEvent> {
    for (;;) {
      signal.throwIfAborted()
      const event = this.#events.shift()
      if (event !== undefined) return event
      await raceAbort(signal, new Promise<void>((resolve) => (this.#wake = resolve)))
    }
  }

  /** Tells the server that the call is not wanted. Without effect on a call that is over. */
  cancel(): void {
    if (!this.#over.signal.aborted) this.#stop.abort()
  }

  /**
   * Takes a request of the server, and resolves to the answer.
   *
   * @throws {Error} as {@link callThatAsks}.
   */
  ask(request: ServerRequest, canceled: AbortSignal | undefined): Promise<object> {
    const waiting = this.#events.filter(({ type }) => type === 'asked')
    if (waiting.length >= MAX_WAITING)
      throw refusal(-32_603, `${MAX_WAITING} requests of this call wait already`)
    const signals = canceled === undefined ? [this.#over.signal] : [this.#over.signal, canceled]
    return new Promise((reply) => {
      this.#push({ type: 'asked', held: { request, reply, withdrawn: AbortSignal.any(signals) } })
    })
  }

  #push(event: CallEvent): void {
    // Of progress that nobody has read, the last counts.
    if (event.type === 'progress' && this.#events.at(-1)?.type === 'progress') this.#events.pop()
    this.#events.push(event)
    this.#wake()
  }
}

function callsOf(client: McpClient): Calls {
  const connection = client.transport ?? client
  const known = connections.get(connection) ?? { underWay: new Set(), left: new Set() }
  connections.set(connection, known)
  return known
}

function takeRequests(client: McpClient): void {
  client.fallbackRequestHandler ??= async (request: unknown, context: unknown): Promise<object> => {
    const { method, params } = recordOf(request) ?? {}
    const asked = { method: String(method), params: recordOf(params) ?? {} }
    return await callThatAsks(callsOf(client), asked).ask(asked, signalOf(context))
  }
}

/**
 * The call that a request of a session belongs to. Requests do not name their call: it is certain where all calls that the server
 * may work on are of one task, and then the latest call takes it.
 *
 * @throws {Error} with the code of JSON-RPC that the server gets.
 */
function callThatAsks({ underWay, left }: Calls, request: ServerRequest): OngoingCall {
  const latest = [...underWay].at(-1)
  if (latest === undefined) throw refusal(-32_600, 'No call is under way')
  const owners = new Set([...left, ...[...underWay].map(({ owner }) => owner)])
  if (owners.size > 1)
    throw refusal(-32_603, 'Several tasks share this client, and it is unknown which of them is asked')
  if (!latest.mayAsk(request))
    throw refusal(-32_601, `This client does not offer ${request.method.slice(0, 100)}`)
  return latest
}

function refusal(code: number, message: string): Error {
  return Object.assign(new Error(message), { code })
}

/** Aborts when the server withdraws its request: both generations of clients tell. */
function signalOf(context: unknown): AbortSignal | undefined {
  const { signal, mcpReq } = recordOf(context) ?? {}
  const found = signal ?? (isRecord(mcpReq) ? mcpReq['signal'] : undefined)
  return found instanceof AbortSignal ? found : undefined
}
