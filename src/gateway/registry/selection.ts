/**
 * Selection of an agent: load balancing, and capabilities mentioned in a text.
 *
 * @module
 */
import type { RegisteredAgent } from './agent.js'

/** Selects the least loaded agent; of equally loaded ones, the least recently selected. */
export class LeastLoadedSelector {
  readonly #selectedAt = new Map<string, number>()
  #selections = 0

  /** Returns `null` for an empty list. */
  select(agents: readonly RegisteredAgent[], loadOf: (agentId: string) => number): RegisteredAgent | null {
    const selectedAt = (id: string): number => this.#selectedAt.get(id) ?? 0
    const [best = null] = [...agents].sort(
      (a, b) => loadOf(a.id) - loadOf(b.id) || selectedAt(a.id) - selectedAt(b.id),
    )
    if (best !== null) this.#selectedAt.set(best.id, ++this.#selections)
    return best
  }

  /** Removes the record of an agent that was unregistered. */
  forget(agentId: string): void {
    this.#selectedAt.delete(agentId)
  }
}

/** Characters of a text that are searched: a text of a client may have millions of words, which take a second. */
const MAX_SEARCHED = 65_536

/**
 * Returns the names of the capabilities that the first 65,536 characters of a text mention, in the order of the text, each
 * once. Names match as whole words, regardless of case; any character that is neither a letter nor a digit separates words.
 * Of nested names the longest matches. Of several spellings of one name, the first agent's is returned.
 */
export function capabilitiesIn(text: string, agents: readonly RegisteredAgent[]): string[] {
  const names = new Map<string, string>()
  for (const { name } of agents.flatMap(({ capabilities }) => capabilities)) {
    const normalized = wordsOf(name).join(' ')
    if (normalized !== '' && !names.has(normalized)) names.set(normalized, name)
  }
  const lengths = [...new Set([...names.keys()].map((normalized) => normalized.split(' ').length))]
  lengths.sort((a, b) => b - a)
  const words = wordsOf(text.slice(0, MAX_SEARCHED))
  const found = new Set<string>()
  for (let at = 0; at < words.length;) {
    const length = lengths.find((count) => names.has(words.slice(at, at + count).join(' ')))
    if (length !== undefined) found.add(names.get(words.slice(at, at + length).join(' ')) ?? '')
    at += length ?? 1
  }
  return [...found]
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
}
