/** What the store holds and who may change it, as it becomes so: no process sees it that early. */
import type { JournalEntry, TaskEvent } from 'a2a-tasks'
import type { Commit, Creation } from 'a2a-tasks/durable'
import { fromStored } from '../../src/durable/stored-events.js'

type StepEntry = Extract<JournalEntry, { readonly kind: 'step' }>

/** The log of the one task of a simulation. */
export class Ledger {
  readonly events: TaskEvent<string>[] = []
  /** When each was stored, and by which process. */
  readonly #stamps: string[] = []
  /** What should never happen, and has. */
  readonly faults: string[] = []
  /** When the log grew last, in ms. */
  grownAt = 0
  taskId: string | undefined
  readonly signaled = new Map<string, number>()
  /** The names of the steps whose work is done, by key: how often it was done. */
  readonly done = new Map<string, number>()
  readonly #now: () => number
  readonly #failures = new Map<string, number>()
  /** The steps of the present turn that no attempt does again. */
  #stored: readonly StepEntry[] = []

  constructor(now: () => number) {
    this.#now = now
  }

  /** The log to read, a line for each event. */
  get lines(): string[] {
    return this.events.map((event, at) => `${this.#stamps[at] ?? ''} ${lineOf(event)}`)
  }

  onEffect(replica: string, method: string, given: readonly unknown[], result: unknown): void {
    if (method === 'create' && result === true) {
      const { events, head } = given[0] as Creation
      this.taskId ??= head.id
      if (head.id !== this.taskId) this.faults.push('the first message begins a second task')
      if (this.events.length > 0) return
      this.#append(replica, events.map(fromStored))
    } else if (method === 'commit' && result === 'committed') {
      this.#append(replica, (given[0] as Commit).events.map(fromStored))
    }
  }

  /** The work of a step begins, or is done. */
  onStep(key: string, when: 'begins' | 'does'): void {
    if (when === 'does') {
      this.done.set(key, (this.done.get(key) ?? 0) + 1)
      return
    }
    const label = key.slice(key.indexOf('/') + 1).replace(/(#\d+)@[\d.]+$/, '$1')
    if (this.#stored.some(({ name }) => name === label))
      this.faults.push(`step ${label} begins again after its output was stored`)
  }

  /** Counts a failure of this place. Returns whether to fail now. */
  failsNow(place: string, times: number): boolean {
    const count = this.#failures.get(place) ?? 0
    this.#failures.set(place, count + 1)
    return count < times
  }

  #append(replica: string, events: readonly TaskEvent<string>[]): void {
    for (const event of events) {
      const last = this.events.at(-1)?.generation ?? 0
      // A repeated request.
      if (event.generation <= last) continue
      if (event.generation !== last + 1)
        this.faults.push(`the log goes from generation ${last} to ${event.generation}`)
      this.events.push(event)
      this.#stamps.push(`${this.#now()} ${replica}`)
      this.grownAt = this.#now()
      if (event.type === 'journal') this.#record(event.entry)
    }
  }

  #record(entry: JournalEntry): void {
    if (entry.kind === 'turn' || entry.kind === 'end') this.#stored = []
    if (entry.kind === 'step') this.#stored = [...this.#stored, entry]
    if (entry.kind === 'attempt') this.#stored = withoutStep(this.#stored, entry.step)
    if (entry.kind === 'signal') this.signaled.set(entry.name, (this.signaled.get(entry.name) ?? 0) + 1)
  }
}

/** The event without what differs each time: random numbers and ids are the platform's. */
function lineOf(event: TaskEvent<string>): string {
  const { generation, type } = event
  const isValue = event.type === 'journal' && event.entry.kind === 'value'
  const shown = isValue ? { ...event, entry: { ...event.entry, value: '…' } } : event
  const rest = { ...shown, taskId: undefined, timestamp: undefined, generation: undefined, type: undefined }
  return `${generation} ${type} ${JSON.stringify(rest)}`
}

/** The next attempt does the step again whose error ended the last one, and what followed it unless it was parallel. */
function withoutStep(stored: readonly StepEntry[], failed: string | undefined): readonly StepEntry[] {
  const at = stored.findIndex(({ name }) => name === failed)
  if (at === -1) return stored
  const after = stored[at]?.isParallel === true ? stored.slice(at + 1) : []
  return [...stored.slice(0, at), ...after]
}
