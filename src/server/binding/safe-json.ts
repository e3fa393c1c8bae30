/**
 * JSON that may be looked into.
 *
 * @module
 */
import { A2AError, invalidParams } from '../../core/errors.js'
import { hasLoneSurrogate } from '../../core/json.js'

/** Names that change what an object is when it is copied carelessly. */
const FORBIDDEN = ['__proto__', 'constructor']

/** Where in a value what is wrong. */
interface Harm {
  readonly path: string
  readonly reason: string | undefined
}

/**
 * Refuses what the core would refuse once work has begun: JSON that nests too deep, texts that UTF-8 cannot hold, and
 * names that do harm.
 *
 * @throws {A2AError} `LIMIT_EXCEEDED`; `INVALID_PARAMS` with the path.
 */
export function requireHarmless(value: unknown, maxDepth: number): void {
  const harm = harmOf(value, maxDepth)
  if (harm === undefined) return
  // The envelope of JSON-RPC is no part of the parameters.
  const path = harm.path.replace(/^\.params(?=[.[])/, '').replace(/^\./, '')
  if (harm.reason !== undefined) throw invalidParams(path || 'params', harm.reason)
  throw new A2AError('LIMIT_EXCEEDED', `The request nests deeper than maxDepth (${maxDepth})`, {
    limit: 'maxDepth',
    max: maxDepth,
    actual: maxDepth + 1,
  })
}

/** The path is put together on the way back, so that what is harmless pays nothing for it. */
function harmOf(value: unknown, depth: number): Harm | undefined {
  if (typeof value === 'string') return hasLoneSurrogate(value) ? { path: '', reason: SURROGATE } : undefined
  if (typeof value === 'number' && !Number.isFinite(value))
    return { path: '', reason: 'is too large a number' }
  if (typeof value !== 'object' || value === null) return undefined
  if (depth === 0) return { path: '', reason: undefined }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const harm = harmOf(value[index], depth - 1)
      if (harm !== undefined) return { ...harm, path: `[${index}]${harm.path}` }
    }
    return undefined
  }
  for (const key of Object.keys(value)) {
    const harm = harmOfName(key) ?? harmOf((value as Record<string, unknown>)[key], depth - 1)
    if (harm !== undefined) return { ...harm, path: `.${key}${harm.path}` }
  }
  return undefined
}

const SURROGATE = 'has a lone surrogate, which UTF-8 cannot hold'

function harmOfName(key: string): Harm | undefined {
  if (FORBIDDEN.includes(key)) return { path: '', reason: 'is no name for a property' }
  return hasLoneSurrogate(key) ? { path: '', reason: SURROGATE } : undefined
}
