/** HTTP requests whose answers keep what was sent. */

import { Mismatch } from './mismatch.mjs'
import { parseEvents } from './sse.mjs'

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
export async function ask(url, init = {}) {
  const { sent, response } = await open(url, init)
  return await readAnswer(sent, response)
}

/**
 * Sends a request whose answer may be a stream. `events` yields its events as they come and is `undefined` for other
 * answers, which are read as by {@link ask}.
 */
export async function askForStream(url, init = {}) {
  const controller = new AbortController()
  const { sent, response } = await open(url, init, controller)
  if (!isEventStream(response)) return { ...(await readAnswer(sent, response)), close: () => undefined }
  const { status, headers } = response
  const answer = { sent, status, headers, text: '(a stream)', close: () => controller.abort() }
  return { ...answer, events: eventsOf(answer, response, controller) }
}

/** All events of a stream, until the agent closes it. */
export async function collect(stream) {
  const events = []
  for await (const event of eventsIn(stream)) events.push(event)
  return events
}

export function eventsIn(stream) {
  if (stream.events !== undefined) return stream.events
  throw new Mismatch(
    stream,
    'a stream (text/event-stream)',
    `${stream.headers.get('content-type')}: ${stream.text}`,
  )
}

async function open(url, { method = 'GET', headers = {}, body }, controller = new AbortController()) {
  const text =
    typeof body === 'string' || body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body)
  const shownHeaders = Object.entries(headers).map(([name, value]) => `${name}: ${shownValue(name, value)}`)
  const sent = [`${method} ${url}`, ...shownHeaders, ...(text === undefined ? [] : [String(text)])].join(
    ' | ',
  )
  const timer = setTimeout(() => controller.abort(), TIMEOUT_MS)
  try {
    const { signal } = controller
    const response = await fetch(url, { method, headers, body: text, signal, redirect: 'manual' })
    return { sent, response }
  } catch (error) {
    const got = controller.signal.aborted
      ? 'none'
      : `a connection error: ${error.cause?.message ?? error.message}`
    throw new Mismatch({ sent }, `an answer within ${TIMEOUT_MS / 1_000} s`, got)
  } finally {
    clearTimeout(timer)
  }
}

async function readAnswer(sent, response) {
  const { status, headers } = response
  const text = await withTimeout({ sent }, readText(sent, response), 'the whole body')
  return { sent, status, headers, text, json: parse(text) }
}

/** The value of a header, unless it may be a secret. */
export function shownValue(name, value) {
  return SHOWN_HEADERS.test(name) ? value : '…'
}

async function readText(sent, { body }) {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new Mismatch({ sent }, `an answer of at most ${MAX_BYTES} bytes`, 'more')
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

async function* eventsOf(answer, response, controller) {
  const reader = response.body.getReader()
  const read = () => withTimeout(answer, reader.read(), 'another event or the end of the stream')
  try {
    yield* parseEvents(read)
  } finally {
    controller.abort()
  }
}

async function withTimeout(answer, promise, expected) {
  let timer
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(
      () => reject(new Mismatch(answer, `${expected} within ${TIMEOUT_MS / 1_000} s`, 'none')),
      TIMEOUT_MS,
    )
  })
  try {
    return await Promise.race([promise, timeout])
  } catch (error) {
    if (error instanceof Mismatch) throw error
    throw new Mismatch(answer, expected, `a connection error: ${error.message}`)
  } finally {
    clearTimeout(timer)
  }
}

export function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isEventStream({ headers }) {
  return headers.get('content-type')?.startsWith('text/event-stream') === true
}
