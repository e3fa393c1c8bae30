/**
 * Conversion of the event stream of a LangGraph run to updates.
 *
 * @module
 */
import { onAbort } from '../../../runtime/abort.js'
import { isInterrupted, isTerminal } from '../../../core/lifecycle.js'
import type { ProviderCall, TaskUpdate } from '../../provider.js'
import type { Service, ServiceCall } from '../shared/service.js'
import { codeOf, RetainedSize, parseAnswer } from '../shared/answers.js'
import {
  asking,
  failed,
  fieldsOf,
  InterruptsSchema,
  isFromModel,
  response,
  RESPONSE_ID,
  textOf,
  type Interrupt,
} from './answers.js'

/** An event of a run. `metadata` contains the run's id; `end` ends the stream. */
export interface RunEvent {
  readonly event: string
  readonly data: unknown
}

/**
 * Yields the events of a run. If the response headers contain the run's id, it is the first event: a queued run sends
 * no other for a while.
 */
export async function* runEvents(
  service: Service,
  call: ServiceCall,
  { signal }: ProviderCall,
): AsyncGenerator<RunEvent, undefined> {
  const closing = new AbortController()
  const ignore = onAbort(signal, () => closing.abort(signal.reason))
  try {
    let onOpen: ServiceCall['onOpen']
    const opened = new Promise<Headers>((resolve) => (onOpen = resolve))
    const events = service.events({ ...call, onOpen }, { signal: closing.signal })
    const first = events.next()
    const headers = await Promise.race([opened, first.then(() => new Headers())])
    // Awaited below, unless the caller leaves the loop before.
    first.catch(() => {})
    const runId = /\/runs\/([^/?#]+)$/.exec(headers.get('content-location') ?? '')?.[1]
    if (runId !== undefined) yield { event: 'metadata', data: { run_id: runId } }
    for (let next = await first; next.value !== undefined; next = await events.next()) {
      const { event = 'message', data } = next.value
      yield { event, data: data === '' ? undefined : parse(service, data) }
    }
  } finally {
    ignore()
    closing.abort()
  }
}

/** A faulty event is retryable, since the task can still be polled. */
function parse(service: Service, data: string): unknown {
  try {
    return service.parse(data)
  } catch (cause) {
    throw service.error('its stream has an event that is not JSON', { retryable: true, cause })
  }
}

/** Accumulates the events of one run. */
export class RunEventReader {
  readonly #service: Service
  readonly #interrupts: Interrupt[] = []
  readonly #started = new Set<unknown>()
  readonly #retained: RetainedSize
  #current: unknown
  /** Text of the current message. */
  #text = ''
  #error: string | undefined
  runId: string | undefined

  constructor(service: Service) {
    this.#service = service
    this.#retained = new RetainedSize(service)
  }

  /** Returns the update for an event. Unknown events have none. */
  read({ event, data }: RunEvent): TaskUpdate | undefined {
    if (event === 'metadata') this.#readRunId(fieldsOf(data)['run_id'])
    if (event === 'messages') return this.#readMessage(data)
    if (event === 'updates') return this.#readStep(data)
    if (event === 'custom') return toProgress(data)
    if (event === 'error') this.#error = errorNameOf(data)
    return undefined
  }

  /**
   * Returns the final update. `now` is the server's report at the end of the stream. Text that was streamed is not
   * repeated.
   */
  end(now: TaskUpdate): TaskUpdate {
    const { state } = now
    const hasEnded = state !== undefined && (isTerminal(state) || isInterrupted(state))
    if (!hasEnded && this.#error !== undefined) return failed(this.#error)
    if (!hasEnded && this.#interrupts.length > 0) return asking(this.#interrupts)
    if (state === 'failed' && this.#error !== undefined) return { ...now, ...failed(this.#error) }
    const [artifact] = now.artifacts ?? []
    const [part] = artifact?.parts ?? []
    if (this.#text === '' || part?.text !== this.#text) return now
    return { ...now, artifacts: [] }
  }

  #readRunId(runId: unknown): void {
    if (typeof runId === 'string' && runId !== '') this.runId = runId
  }

  /** Parallel nodes may write several messages at the same time. Only the one that began last is reported. */
  #readMessage(data: unknown): TaskUpdate | undefined {
    const message: unknown = Array.isArray(data) ? data[0] : undefined
    const text = isFromModel(message) ? textOf(message) : ''
    if (text === '') return undefined
    const { id } = fieldsOf(message)
    const parts = [{ text }]
    if (this.#started.size > 0 && id === this.#current) {
      this.#text += text
      return { state: 'working', chunk: { artifactId: RESPONSE_ID, parts } }
    }
    if (this.#started.has(id)) return undefined
    this.#retain(id)
    this.#started.add(id)
    this.#current = id
    this.#text = text
    return { state: 'working', artifacts: [response(parts)] }
  }

  #readStep(data: unknown): TaskUpdate | undefined {
    const { __interrupt__: interrupts, ...nodes } = fieldsOf(data)
    if (interrupts !== undefined) {
      for (const interrupt of parseAnswer(this.#service, InterruptsSchema, interrupts)) {
        this.#retain(interrupt)
        this.#interrupts.push(interrupt)
      }
    }
    const names = Object.keys(nodes).filter((name) => !name.startsWith('__'))
    return names.length === 0 ? undefined : { state: 'working', message: `Done: ${names.join(', ')}` }
  }

  #retain(json: unknown): void {
    this.#retained.add(JSON.stringify([json]))
  }
}

/** Reads an event that a node wrote itself: only a text, `message` and `progress` have a meaning. */
function toProgress(data: unknown): TaskUpdate | undefined {
  const { message = data, progress } = fieldsOf(data)
  const update = {
    ...(typeof message === 'string' && message !== '' && { message }),
    ...(typeof progress === 'number' && progress >= 0 && progress <= 1 && { progress }),
  }
  return Object.keys(update).length === 0 ? undefined : { state: 'working', ...update }
}

/** Returns the error's name, such as `ValueError`. Its message may contain anything, and is ignored. */
export function errorNameOf(data: unknown): string {
  return codeOf(fieldsOf(data)['error'])
}
