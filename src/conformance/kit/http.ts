/** HTTP requests whose answers keep what was sent. */

import { Mismatch, type Sent } from './mismatch.js'
import { parseEvents, type SseEvent } from './sse.js'
import type { WireBody } from './wire.js'

export interface Request {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON, unless it is text or bytes. */
  readonly body?: unknown
}

export interface Answer {
  readonly sent: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** `undefined` if the body is no JSON. */
  readonly json?: WireBody | undefined
}

export interface StreamAnswer extends Answer {
  /** Absent where the answer is no stream. */
  readonly events?: AsyncGenerator<SseEvent, undefined>
  readonly close: () => void
}

const TIMEOUT_MS = 10_000
/** Bytes of an answer that are read. */
const MAX_BYTES = 16_777_216
/** Headers whose values reports may show. The others can be credentials. */
const SHOWN_HEADERS =
  /^(a2a-.*|accept.*|connection|content-.*|host|if-none-match|last-event-id|transfer-encoding)$/i

/**
 * Sends a request and reads the whole answer: `status`, `headers`, `text`, and `json`, which is `undefined` if the body
 * is no JSON. A body that is not a string is sent as JSON.
 */
export async function ask(url: string, init: Request = {}): Promise<Answer> {
  const { sent, response } = await open(url, init)
  return await readAnswer(sent, response)
}

/**
 * Sends a request whose answer may be a stream. `events` yields its events as they come and is `undefined` for other
 * answers, which are read as by {@link ask}.
 */
export async function askForStream(url: string, init: Request = {}): Promise<StreamAnswer> {
  const controller = new AbortController()
  const { sent, response } = await open(url, init, controller)
  if (!isEventStream(response)) return { ...(await readAnswer(sent, response)), close: () => undefined }
  const { status, headers } = response
  const answer = { sent, status, headers, text: '(a stream)', close: (): void => controller.abort() }
  return { ...answer, events: eventsOf(answer, response, controller) }
}

/** All events of a stream, until the agent closes it. */
export async function collect(stream: StreamAnswer): Promise<SseEvent[]> {
  const events: SseEvent[] = []
  for await (const event of eventsIn(stream)) events.push(event)
  return events
}

export function eventsIn(stream: StreamAnswer): AsyncGenerator<SseEvent, undefined> {
  if (stream.events !== undefined) return stream.events
  throw new Mismatch(
    stream,
    'a stream (text/event-stream)',
    `${stream.headers.get('content-type') ?? 'no type'}: ${stream.text}`,
  )
}

async function open(
  url: string,
  { method = 'GET', headers = {}, body }: Request,
  controller = new AbortController(),
): Promise<{ readonly sent: string; readonly response: Response }> {
  const text =
    body === undefined ? undefined : typeof body === 'string' || isBytes(body) ? body : JSON.stringify(body)
  const shownHeaders = Object.entries(headers).map(([name, value]) => `${name}: ${shownValue(name, value)}`)
  const sent = [`${method} ${url}`, ...shownHeaders, ...(text === undefined ? [] : [String(text)])].join(
    ' | ',
  )
  const timer = setTimeout(() => controller.abort(), TIMEOUT_MS)
  try {
    const { signal } = controller
    const response = await fetch(url, {
      ...{ method, headers, signal, redirect: 'manual' },
      ...(text !== undefined && { body: text }),
    })
    return { sent, response }
  } catch (error) {
    const got = controller.signal.aborted ? 'none' : `a connection error: ${causeOf(error)}`
    throw new Mismatch({ sent }, `an answer within ${TIMEOUT_MS / 1_000} s`, got)
  } finally {
    clearTimeout(timer)
  }
}

function isBytes(body: unknown): body is Uint8Array<ArrayBuffer> {
  return body instanceof Uint8Array
}

/** What went wrong, in the words of the error below if there is one. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? error.cause.message : error.message
}

async function readAnswer(sent: string, response: Response): Promise<Answer> {
  const { status, headers } = response
  const text = await withTimeout({ sent }, readText(sent, response), 'the whole body')
  return { sent, status, headers, text, json: parse(text) ?? undefined }
}

/** The value of a header, unless it may be a secret. */
export function shownValue(name: string, value: string): string {
  return SHOWN_HEADERS.test(name) ? value : '…'
}

async function readText(sent: string, response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  const body: ReadableStream<Uint8Array> | null = response.body
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new Mismatch({ sent }, `an answer of at most ${MAX_BYTES} bytes`, 'more')
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

async function* eventsOf(
  answer: Answer,
  response: Response,
  controller: AbortController,
): AsyncGenerator<SseEvent, undefined> {
  const reader = response.body?.getReader()
  if (reader === undefined) return undefined
  const read = () => withTimeout(answer, reader.read(), 'another event or the end of the stream')
  try {
    yield* parseEvents(read)
    return undefined
  } finally {
    controller.abort()
  }
}

async function withTimeout<T>(answer: Sent, promise: Promise<T>, expected: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Mismatch(answer, `${expected} within ${TIMEOUT_MS / 1_000} s`, 'none')),
      TIMEOUT_MS,
    )
  })
  try {
    return await Promise.race([promise, timeout])
  } catch (error) {
    if (error instanceof Mismatch) throw error
    throw new Mismatch(answer, expected, `a connection error: ${causeOf(error)}`)
  } finally {
    clearTimeout(timer)
  }
}

export function parse(text: string): WireBody | null | undefined {
  try {
    // What an agent sends is checked where it is read.
    return JSON.parse(text) as WireBody | null
  } catch {
    return undefined
  }
}

function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') === true
}
