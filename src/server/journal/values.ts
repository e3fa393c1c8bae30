/**
 * Values that code gets from outside, which are recorded so that a replay gets the same ones.
 *
 * @module
 */
import type { TaskSnapshot } from '../../core/task.js'
import type { NamedEntry } from '../../core/history/named-entry.js'
import { platformRandom } from '../../runtime/crypto.js'
import { randomId } from '../../runtime/ids.js'
import type { Journal } from './journal.js'
import { placeOf, requireName } from './names.js'
import type { TurnPort } from './turn-port.js'

export class Values {
  readonly #port: TurnPort
  readonly #journal: Journal
  readonly #changes = new Map<string, boolean>()

  constructor(port: TurnPort, journal: Journal) {
    this.#port = port
    this.#journal = journal
  }

  readonly now = (): number => this.#value('now', () => this.#port.settings.clock.now())
  readonly random = (): number => this.#value('random', platformRandom)
  readonly uuid = (): string => this.#value('uuid', randomId)

  /** See `Run.changed`. */
  readonly changed = (name: string): boolean => {
    requireName('change', name)
    this.#journal.scopes.requireOutside('changed')
    const known = this.#changes.get(name)
    if (known !== undefined) return known
    const isLive = !this.#journal.isReplaying
    const isNew = this.#journal.pass('change', name) !== undefined || isLive
    if (isLive) this.#record({ kind: 'change', name })
    this.#changes.set(name, isNew)
    return isNew
  }

  /** The part of the conversation that the code sees. */
  conversation(messages: TaskSnapshot['messages']): TaskSnapshot['messages'] {
    try {
      // Code that has an answer may read what came before it. Earlier releases did not record that.
      const least = placeOf(messages, this.#journal.latestAnswer ?? this.#port.origin) + 1
      const count = Math.max(least, this.#journal.see(messages.length, least))
      return count < messages.length ? messages.slice(0, count) : messages
    } catch {
      // The task has ended, or was lost.
      return messages
    }
  }

  #value<T extends string | number>(name: string, make: () => T): T {
    // The journal keeps the output of the step, and a replay does not call its work.
    if (this.#journal.scopes.likely !== undefined) return make()
    const label = this.#journal.nameOf('value', name)
    const recorded = this.#journal.pass('value', label)
    // An earlier call of `make` returned it.
    if (recorded !== undefined) return recorded.value as T
    const value = make()
    this.#record({ kind: 'value', name: label, value })
    return value
  }

  /** Code whose run is over records nothing new: it may come from a step that was cut off, which a replay does not come from. */
  #record(entry: NamedEntry): void {
    this.#port.signal().throwIfAborted()
    this.#journal.record(entry)
  }
}
