/**
 * Entries of the journal that code asks for by their kind and name.
 *
 * @module
 */
import type { JournalEntry, SpentInStep } from '../events.js'

const UNNAMED = ['turn', 'signal', 'read', 'grant', 'attempt', 'failure', 'end'] as const

/** An entry that code asks for by its kind and name. */
export type NamedEntry = Exclude<JournalEntry, { readonly kind: (typeof UNNAMED)[number] } | SpentInStep>

export function isNamed(entry: JournalEntry): entry is NamedEntry {
  return !UNNAMED.some((kind) => kind === entry.kind) && !isSpentInStep(entry)
}

export function isSpentInStep(entry: JournalEntry): entry is JournalEntry & SpentInStep {
  return entry.kind === 'spend' && 'step' in entry
}

/** Whether code that has come to the entry has passed all that came before it. */
export function isPassed(entry: JournalEntry): boolean {
  return !['signal', 'read', 'grant'].includes(entry.kind) && !isSpentInStep(entry)
}

/** Whether a process that adds the entry gets the code further: a step that dies each time may spend each time, and be granted it. */
export function isProgress(entry: JournalEntry): boolean {
  return entry.kind !== 'grant' && !isSpentInStep(entry)
}
