/**
 * Differences between two cards.
 *
 * @module
 */

export interface Difference {
  readonly kind: 'added' | 'removed' | 'changed'
  /** The field, such as `skills[translate].tags`. */
  readonly path: string
  readonly before?: unknown
  readonly after?: unknown
}

const MAX_DIFFERENCES = 1_000
const MAX_DEPTH = 64

/** Differences in the order of the fields. Items of lists are matched by their ids, where they have them. */
export function cardDifferences(before: unknown, after: unknown): Difference[] {
  const found: Difference[] = []
  compare('', before, after, 0, found)
  return found
}

function compare(path: string, before: unknown, after: unknown, depth: number, found: Difference[]): void {
  if (found.length >= MAX_DIFFERENCES || JSON.stringify(before) === JSON.stringify(after)) return
  const [old, young] = [fieldsOf(before), fieldsOf(after)]
  if (old === undefined || young === undefined || depth > MAX_DEPTH) {
    if (before === undefined) found.push({ kind: 'added', path, after })
    else if (after === undefined) found.push({ kind: 'removed', path, before })
    else found.push({ kind: 'changed', path, before, after })
    return
  }
  const isList = Array.isArray(before) || Array.isArray(after)
  for (const field of new Set([...old.keys(), ...young.keys()])) {
    const inner = isList ? `${path}[${field}]` : path === '' ? field : `${path}.${field}`
    compare(inner, old.get(field), young.get(field), depth + 1, found)
  }
}

/** The parts of an object or a list by their names; `undefined` for a value without parts. */
function fieldsOf(value: unknown): Map<string, unknown> | undefined {
  if (Array.isArray(value)) return new Map(value.map((item, index) => [nameOf(item) ?? String(index), item]))
  if (typeof value !== 'object' || value === null) return undefined
  return new Map(Object.entries(value))
}

/** What identifies an item of a card among its neighbours: the id of a skill, the address of an interface, a text itself. */
function nameOf(item: unknown): string | undefined {
  if (typeof item === 'string') return item
  if (typeof item !== 'object' || item === null) return undefined
  const { id, uri, url, protocolBinding, protocolVersion, tenant } = item as Record<string, unknown>
  if (typeof id === 'string') return id
  if (typeof uri === 'string') return uri
  if (typeof url !== 'string') return undefined
  return [protocolBinding, protocolVersion, tenant, url].filter((each) => typeof each === 'string').join(' ')
}
