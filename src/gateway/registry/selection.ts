/**
 * Which agent gets a task that is for any of several.
 *
 * @module
 */
import type { RegisteredAgent } from './agent.js'

/** Chooses who has least to do; of several such, the one chosen longest ago. */
export class LeastLoadedSelector {
  readonly #selectedAt = new Map<string, number>()
  #selections = 0

  /** `null` when there is none. */
  select(agents: readonly RegisteredAgent[], loadOf: (agentId: string) => number): RegisteredAgent | null {
    const selectedAt = (id: string): number => this.#selectedAt.get(id) ?? 0
    const [best = null] = [...agents].sort(
      (a, b) => loadOf(a.id) - loadOf(b.id) || selectedAt(a.id) - selectedAt(b.id),
    )
    if (best !== null) this.#selectedAt.set(best.id, ++this.#selections)
    return best
  }

  /** For an agent that is gone. */
  forget(agentId: string): void {
    this.#selectedAt.delete(agentId)
  }
}

/**
 * The names of capabilities that a text mentions, in its order, each once: as whole words, whatever the case, with anything that is
 * neither letter nor digit taken for a blank. Of names within each other the longest counts; of different spellings of
 * one name, that of the agent that comes first.
 */
export function capabilitiesIn(text: string, agents: readonly RegisteredAgent[]): string[] {
  const names = new Map<string, string>()
  for (const { name } of agents.flatMap(({ capabilities }) => capabilities)) {
    const normalized = wordsOf(name).join(' ')
    if (normalized !== '' && !names.has(normalized)) names.set(normalized, name)
  }
  const lengths = [...new Set([...names.keys()].map((normalized) => normalized.split(' ').length))]
  lengths.sort((a, b) => b - a)
  const words = wordsOf(text)
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
