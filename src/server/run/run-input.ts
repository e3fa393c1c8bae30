/**
 * The properties of a run that come from the request that began it.
 *
 * @module
 */
import type { JsonObject } from '../../core/json-types.js'
import type { Message, TaskSnapshot } from '../../core/task.js'
import { textOf } from '../../wire/text.js'
import type { Principal } from '../caller.js'
import type { RunContext } from './run-context.js'

/** Stands between a run and its `QueuedMessage`: a run shows these properties, and holds no copies of them. */
export class RunInput<P extends Principal> {
  readonly message: Message
  readonly #context: RunContext<P>

  constructor(context: RunContext<P>) {
    this.#context = context
    this.message = context.message.request.message
  }

  get text(): string {
    return textOf(this.message)
  }

  get referenceTasks(): readonly TaskSnapshot[] {
    return this.#context.referenceTasks()
  }

  get principal(): P | undefined {
    return this.#context.message.caller.principal
  }

  get tenant(): string | undefined {
    return this.#context.message.request.tenant
  }

  get metadata(): JsonObject {
    return this.#context.message.request.metadata ?? {}
  }

  get extensions(): readonly string[] {
    return this.#context.message.caller.extensions
  }

  get acceptedOutputModes(): readonly string[] {
    return this.#context.message.request.acceptedOutputModes
  }
}
