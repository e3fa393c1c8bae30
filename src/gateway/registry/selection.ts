/**
 * Which agent gets a task that is for any of several.
 *
 * @module
 */
import type { RegisteredAgent } from './agent.js'

/** Chooses who has least to do; of several such, the one chosen longest ago. */
export class LeastLoaded {
  readonly #turns = new Map<string, number>()
  #turn = 0

  /** `null` when there is none. */
  select(agents: readonly RegisteredAgent[], loadOf: (agentId: string) => number): RegisteredAgent | null {
    const turnOf = (id: string): number => this.#turns.get(id) ?? 0
    const [best = null] = [...agents].sort(
      (a, b) => loadOf(a.id) - loadOf(b.id) || turnOf(a.id) - turnOf(b.id),
    )
    if (best !== null) this.#turns.set(best.id, ++this.#turn)
    return best
  }

  /** For an agent that is gone. */
  forget(agentId: string): void {
    this.#turns.delete(agentId)
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
    const plain = wordsOf(name).join(' ')
    if (plain !== '' && !names.has(plain)) names.set(plain, name)
  }
  const lengths = [...new Set([...names.keys()].map((plain) => plain.split(' ').length))]
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
