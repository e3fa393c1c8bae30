/**
 * Script of a run or a response of the Azure stub, and its interpreter.
 *
 * @module
 */
import type { DISCONNECT, Pause } from '../stub-server.js'

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** JSON, as text. */
  readonly arguments: string
}

/**
 * One step. A status is an event of the stream and, without a stream, what the next GET finds; what is not a status
 * comes with the status after it. A promise holds a stream, and lets GETs find no change, until it is settled.
 */
export type Step =
  /** Any status; also one that the service does not have, for what an adapter makes of it. */
  | { readonly status: string }
  | 'queued'
  | 'in_progress'
  | 'completed'
  | 'expired'
  | 'cancelling'
  | 'cancelled'
  /** A piece of the agent's message; the pieces up to the next status are one message. */
  | { readonly text: string }
  /** The agent asks for tools: `requires_action` of a run, `function_call` items of a response (then complete it). */
  | { readonly calls: readonly ToolCall[] }
  /** Any other output item of a response, such as an `mcp_approval_request`. Threads know none. */
  | { readonly item: Readonly<Record<string, unknown>> }
  | { readonly failed: { readonly code: string; readonly message: string } }
  | { readonly incomplete: string }
  /** An `error` event, and the end of the stream. Not for GETs. */
  | { readonly error: { readonly code: string; readonly message: string } }
  | Pause
  | typeof DISCONNECT

export const DEFAULT_SCRIPT: readonly Step[] = ['in_progress', { text: 'Hello' }, 'completed']

/** The steps of one run that are still to come. */
export class Cursor {
  #steps: Step[]
  #interrupt: () => void = () => {}
  readonly #settled = new WeakSet<Promise<unknown>>()

  constructor(steps: readonly Step[]) {
    this.#steps = [...steps]
    for (const step of steps) {
      if (step instanceof Promise) void step.catch(() => {}).then(() => this.#settled.add(step))
    }
  }

  /** What comes now instead; a stream that waits continues with it. */
  replace(steps: readonly Step[]): void {
    this.#steps = [...steps]
    this.#interrupt()
  }

  /** The next step for a GET: none at the end, and none while a promise is open. */
  poll(): Exclude<Step, Pause> | undefined {
    const [step, ...rest] = this.#steps
    if (step instanceof Promise && !this.#settled.has(step)) return undefined
    this.#steps = rest
    return step instanceof Promise ? this.poll() : step
  }

  /** The next step for a stream, which waits for promises. */
  async next(): Promise<Exclude<Step, Pause> | undefined> {
    const [step, ...rest] = this.#steps
    this.#steps = rest
    if (!(step instanceof Promise)) return step
    const interrupted = new Promise<void>((resolve) => (this.#interrupt = resolve))
    await Promise.race([step, interrupted])
    return this.next()
  }
}
