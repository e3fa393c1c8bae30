/**
 * Events as stores keep them, and their translation from and to those of a manager.
 *
 * @module
 */
import type { JournalRecorded, TaskEvent } from '../core/events.js'

/** A {@link JournalRecorded} under the type that version 0.1 gave it, so that processes of both versions share a store. */
export interface StoredJournalEntry extends Omit<JournalRecorded, 'type'> {
  readonly type: 'history'
}

/** A {@link TaskEvent} as a store keeps it. */
export type StoredEvent = Exclude<TaskEvent<string>, JournalRecorded> | StoredJournalEntry

export function toStored(events: readonly TaskEvent<string>[]): readonly StoredEvent[] {
  return events.map((event) => (event.type === 'journal' ? { ...event, type: 'history' } : event))
}

export function fromStored(event: StoredEvent): TaskEvent<string> {
  return event.type === 'history' ? { ...event, type: 'journal' } : event
}
