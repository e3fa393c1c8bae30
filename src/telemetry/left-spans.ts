/**
 * Spans of tasks that a process has released before their end, stored beside the tasks for the next process.
 *
 * @module
 */
import type { TaskDocuments } from '../core/managers.js'
import type { TaskKey } from '../core/task.js'
import { TRACE } from '../runtime/document-kinds.js'
import type { OtelSpan, OtelSpanContext } from './api.js'
import type { Telemetry } from './telemetry.js'

/** Telemetry must not break what it observes: failures of the store are ignored, and a link is missing then. */
export class LeftSpans {
  readonly #documents: TaskDocuments
  readonly #telemetry: Telemetry

  constructor(documents: TaskDocuments, telemetry: Telemetry) {
    this.#documents = documents
    this.#telemetry = telemetry
  }

  /** Stores which span a task had, unless an earlier one is stored. */
  leave(task: TaskKey, span: OtelSpan): void {
    const value = this.#telemetry.traceOf(span)
    if (value === undefined) return
    void this.#documents.putDocument({ key: keyOf(task), kind: TRACE, id: TRACE, value }, 0).catch(ignore)
  }

  /** Calls `onFound` with the span that was stored, if there is one. */
  link(task: TaskKey, onFound: (span: OtelSpanContext) => void): void {
    const read = async (): Promise<void> => {
      const [found] = await this.#documents.documents(keyOf(task), TRACE)
      const span = this.#telemetry.readSpan(found?.value)
      if (span !== undefined) onFound(span)
    }
    void read().catch(ignore)
  }
}

function keyOf({ id, createdAt }: TaskKey): TaskKey {
  return { id, createdAt }
}

function ignore(): void {
  // The next process has a span without this link.
}
