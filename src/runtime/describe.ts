/**
 * Short descriptions of values, for error texts.
 *
 * @module
 */

/** `value` in two or three words, for the end of "must be a string, got …". Reveals no content. */
export function describe(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (Array.isArray(value)) return 'an array'
  if (typeof value !== 'object') return typeof value === 'bigint' ? 'a BigInt' : `a ${typeof value}`
  const name = classOf(value)
  return typeof name !== 'string' || name === '' || name === 'Object' ? 'an object' : `an instance of ${name}`
}

/** A value that was to be one of several: strings in quotes, which tells them from numbers, and shortened to 80 units. */
export function quote(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : describe(value)
}

/** True for what `{}` creates, false for arrays and instances of classes. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  // Object.prototype of another realm (a vm, an iframe) is another object, whose own prototype is null too.
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null
}

function classOf(value: object): unknown {
  try {
    return typeof value.constructor === 'function' ? value.constructor.name : ''
  } catch {
    return ''
  }
}
