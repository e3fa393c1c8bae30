/** A client that asks whichever replica is next, and records what its streams send. */
import { createParser } from 'eventsource-parser'
import type { Cluster } from './cluster.js'

/** An event of a stream, with its id. */
export interface ReceivedEvent {
  readonly id: number
  readonly kind: string
}

/** One reader of a task, over as many connections as it took. */
export interface Reading {
  taskId: string | undefined
  readonly received: ReceivedEvent[]
  /** The state in the last status received. */
  state: string | undefined
}

interface Task {
  readonly id: string
  readonly status: { readonly state: string }
}

const TERMINAL = ['completed', 'failed', 'canceled', 'rejected'].map(
  (state) => `TASK_STATE_${state.toUpperCase()}`,
)

export function hasEnded(state: string | undefined): boolean {
  return state !== undefined && TERMINAL.includes(state)
}

export class RefusedError extends Error {}

export class Client {
  readonly #cluster: Cluster

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /**
   * @returns What was answered; `undefined` when no answer came: whether it was done is not known then.
   * @throws {RefusedError} when the request was refused for what it is.
   */
  async ask(method: string, params: object): Promise<{ readonly task: Task } | undefined> {
    try {
      const response = await this.#post(method, params)
      const { result, error } = (await response.json()) as {
        result?: { task?: Task } & Task
        error?: { code: number; message: string }
      }
      if (error !== undefined) {
        if (error.code === -32603) return undefined
        throw new RefusedError(`${error.code} ${error.message}`)
      }
      return result === undefined ? undefined : { task: result.task ?? result }
    } catch (error) {
      if (error instanceof RefusedError) throw error
      return undefined
    }
  }

  /** Reads one stream to its end, or until its connection breaks. */
  async read(reading: Reading, method: string, params: object): Promise<void> {
    const last = reading.received.at(-1)?.id
    try {
      const headers = last === undefined ? {} : { 'last-event-id': String(last) }
      const response = await this.#post(method, params, { accept: 'text/event-stream', ...headers })
      const { body } = response
      if (body === null || !response.headers.get('content-type')?.includes('event-stream')) return
      const parser = createParser({ onEvent: ({ id, data }) => note(reading, id, data) })
      const decoder = new TextDecoder()
      for await (const chunk of body) parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }))
    } catch {
      // Its replica was killed: another one continues.
    }
  }

  async #post(method: string, params: object, headers: Record<string, string> = {}): Promise<Response> {
    return await fetch(await this.#cluster.url(), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
  }
}

function note(reading: Reading, id: string | undefined, data: string): void {
  const { result, error } = JSON.parse(data) as {
    result?: {
      task?: Task
      statusUpdate?: { taskId: string; status: { state: string } }
      artifactUpdate?: object
    }
    error?: { message: string }
  }
  // The stream ends with it, and the next one continues.
  if (error !== undefined || result === undefined) return
  const [kind = ''] = Object.keys(result)
  reading.taskId ??= result.task?.id ?? result.statusUpdate?.taskId
  reading.state = result.task?.status.state ?? result.statusUpdate?.status.state ?? reading.state
  reading.received.push({ id: Number(id), kind })
}
