/**
 * Checks of JSON in requests: depth, valid UTF-8, and keys that would change a prototype.
 *
 * @module
 */
import { A2AError, invalidParams } from '../../core/errors.js'
import { hasLoneSurrogate } from '../../core/json.js'

/** Keys that change the prototype when an object is copied carelessly. */
const FORBIDDEN = ['__proto__', 'constructor']

/** A fault in a value; without a `reason` the value is too deep. */
interface Fault {
  readonly path: string
  readonly reason: string | undefined
}

/**
 * Checks a request before any work begins, for what the core would refuse later.
 *
 * @throws {A2AError} `LIMIT_EXCEEDED` when `value` nests deeper than `maxDepth`; `INVALID_PARAMS` with the path of a string
 *   with a lone surrogate, of a number that is too large, or of a forbidden key.
 */
export function requireSafeJson(value: unknown, maxDepth: number): void {
  const fault = faultOf(value, maxDepth)
  if (fault === undefined) return
  // Paths are relative to the parameters, not to the envelope of JSON-RPC.
  const path = fault.path.replace(/^\.params(?=[.[])/, '').replace(/^\./, '')
  if (fault.reason !== undefined) throw invalidParams(path || 'params', fault.reason)
  throw new A2AError('LIMIT_EXCEEDED', `The request nests deeper than maxDepth (${maxDepth})`, {
    limit: 'maxDepth',
    max: maxDepth,
    actual: maxDepth + 1,
  })
}

/** Builds the path while unwinding, so that valid values pay nothing for it. */
function faultOf(value: unknown, depth: number): Fault | undefined {
  if (typeof value === 'string') return hasLoneSurrogate(value) ? { path: '', reason: SURROGATE } : undefined
  if (typeof value === 'number' && !Number.isFinite(value))
    return { path: '', reason: 'is too large a number' }
  if (typeof value !== 'object' || value === null) return undefined
  if (depth === 0) return { path: '', reason: undefined }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const fault = faultOf(value[index], depth - 1)
      if (fault !== undefined) return { ...fault, path: `[${index}]${fault.path}` }
    }
    return undefined
  }
  for (const key of Object.keys(value)) {
    const fault = faultOfKey(key) ?? faultOf((value as Record<string, unknown>)[key], depth - 1)
    if (fault !== undefined) return { ...fault, path: `.${key}${fault.path}` }
  }
  return undefined
}

const SURROGATE = 'has a lone surrogate, which UTF-8 cannot hold'

function faultOfKey(key: string): Fault | undefined {
  if (FORBIDDEN.includes(key)) return { path: '', reason: 'is not allowed as a property name' }
  return hasLoneSurrogate(key) ? { path: '', reason: SURROGATE } : undefined
}
