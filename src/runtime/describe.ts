/**
 * Short descriptions of values, for error texts.
 *
 * @module
 */

/** The kind of `value`, for the end of "must be a string, got …". Reveals no content. */
export function describe(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (Array.isArray(value)) return 'an array'
  if (typeof value !== 'object') return typeof value === 'bigint' ? 'a BigInt' : `a ${typeof value}`
  const name = classOf(value)
  return typeof name !== 'string' || name === '' || name === 'Object' ? 'an object' : `an instance of ${name}`
}

/** The value itself if it is a string (in quotes, at most 80 UTF-16 units), a number or a boolean; else its kind. */
export function quote(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : describe(value)
}

/** True for objects like `{}`, false for arrays and instances of classes. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  // Object.prototype of another realm (a vm, an iframe) is a different object, whose own prototype is null as well.
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null
}

function classOf(value: object): unknown {
  try {
    return typeof value.constructor === 'function' ? value.constructor.name : ''
  } catch {
    return ''
  }
}
