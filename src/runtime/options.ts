/**
 * Checks of options. They throw a `TypeError` for an unknown option or a wrong type, and a `RangeError` for a number out of
 * range. The error names the option, its valid values and the value received.
 *
 * @module
 */
import { MAX_DELAY_MS } from './clock.js'
import { describe, isPlain, quote } from './describe.js'
import { knownNames } from './known-names.js'

/**
 * Refuses options that do not exist: a misspelt option would otherwise be ignored, and its default used.
 *
 * @param where The function or class that receives the options.
 * @param path The option that holds these options, if it is not the argument itself: `limits`.
 * @throws {TypeError}
 */
export function requireKnown(options: object, known: readonly string[], where: string, path?: string): void {
  requireObject(path, options, where)
  for (const key of Object.keys(options)) {
    if (known.includes(key)) continue
    const name = path === undefined ? key : `${path}.${key}`
    throw new TypeError(`Unknown option "${name}" of ${where}${knownNames(key, known)}`)
  }
}

/**
 * A copy of options, for which each property is read once.
 *
 * @param wanted The valid value, for errors: `an object: { maxDepth: 100 }`.
 * @throws {TypeError} for an unknown option, and for anything but a plain object: a copy of a promise or a Map is empty.
 */
export function readOptions<T extends object>(
  options: T,
  known: readonly string[],
  where: string,
  path?: string,
  wanted?: string,
): T {
  requireObject(path, options, where, wanted, isPlain)
  const copy = { ...options }
  requireKnown(copy, known, where, path)
  return copy
}

/** @throws {TypeError} for anything but an object that `isAccepted`. */
export function requireObject(
  path: string | undefined,
  options: unknown,
  where: string,
  wanted = 'an object',
  isAccepted: (value: object) => boolean = (value) => !Array.isArray(value),
): asserts options is object {
  if (typeof options === 'object' && options !== null && isAccepted(options)) return
  const subject = path === undefined ? `The options of ${where}` : `"${path}"`
  throw new TypeError(`${subject} must be ${wanted}, got ${describe(options)}`)
}

/** @throws {TypeError} */
export function requireFunction(option: string, value: unknown): void {
  if (typeof value !== 'function')
    throw new TypeError(`"${option}" must be a function, got ${describe(value)}`)
}

/** Checks optional functions among `options`. @throws {TypeError} */
export function requireFunctions(options: object, names: readonly string[], path?: string): void {
  for (const name of names) {
    const value: unknown = Reflect.get(options, name)
    if (value !== undefined) requireFunction(path === undefined ? name : `${path}.${name}`, value)
  }
}

/** Whether `value` is an object with all of these methods. */
export function hasMethods<M extends string>(
  value: unknown,
  ...methods: readonly M[]
): value is Record<M, () => unknown> {
  if (typeof value !== 'object' || value === null) return false
  return methods.every((method) => typeof Reflect.get(value, method) === 'function')
}

/**
 * Requires an object with all of `methods`.
 *
 * @param wanted The valid value, for errors: `be a TaskManager`.
 * @throws {TypeError}
 */
export function requireMethods(
  option: string,
  value: unknown,
  methods: readonly string[],
  wanted = `have the methods ${methods.join(' and ')}`,
): void {
  if (hasMethods(value, ...methods)) return
  throw wrongValue(option, wanted, value)
}

function wrongValue(option: string, wanted: string, value: unknown): TypeError {
  return new TypeError(`"${option}" must ${wanted}, got ${quote(value)}`)
}

/** @throws {TypeError} */
export function requireClock(clock: unknown): void {
  requireMethods('clock', clock, ['now', 'schedule'])
}

/** @throws {TypeError} */
export function requireBoolean(option: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw wrongValue(option, 'be a boolean', value)
}

/** A text that is not empty. The error does not contain the value, which may be a secret. @throws {TypeError | RangeError} */
export function requireText(option: string, value: unknown): asserts value is string {
  if (typeof value !== 'string') throw new TypeError(`"${option}" must be a string, got ${describe(value)}`)
  if (value === '') throw new RangeError(`"${option}" must not be empty`)
}

/** @throws {TypeError} */
export function requireStrings(option: string, value: unknown): void {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return
  throw wrongValue(option, 'be an array of strings', value)
}

/** @throws {TypeError} for anything but one of `known`. */
export function requireOneOf(option: string, value: unknown, known: readonly unknown[]): void {
  if (known.includes(value)) return
  throw wrongValue(option, `be one of ${known.map(quote).join(', ')}`, value)
}

/** A number above 0, `Infinity` included. @throws {TypeError | RangeError} */
export function requirePositive(option: string, value: unknown): number {
  if (typeof value === 'number' && value > 0) return value
  throw outOfRange(option, 'a positive number', value)
}

/** A finite number above 0. @throws {TypeError | RangeError} */
export function requireFinite(option: string, value: unknown): number {
  if (typeof value === 'number' && value > 0 && value < Infinity) return value
  throw outOfRange(option, 'a positive number', value)
}

/** A delay that timers accept, in ms: from `min` to 2^31 - 1. @throws {TypeError | RangeError} */
export function requireDelay(option: string, value: unknown, min = 1): number {
  if (typeof value === 'number' && value >= min && value <= MAX_DELAY_MS) return value
  throw outOfRange(option, `a number from ${min} to ${MAX_DELAY_MS} ms`, value)
}

/** An integer of at least `min`, or `Infinity` for no bound. @throws {TypeError | RangeError} */
export function requireBound(option: string, value: unknown, min = 1): number {
  return value === Infinity ? value : requireWhole(option, value, min, undefined, ' or Infinity')
}

/**
 * An integer from `min` to `max`.
 *
 * @param alternative What the caller accepts besides, for errors: ` or Infinity`.
 * @throws {TypeError | RangeError}
 */
export function requireWhole(
  option: string,
  value: unknown,
  min = 1,
  max: number = Number.MAX_SAFE_INTEGER,
  alternative = '',
): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
  const lowest = min === 1 ? 'a positive integer' : `an integer from ${min}`
  const range = max === Number.MAX_SAFE_INTEGER ? lowest : `an integer from ${min} to ${max}`
  throw outOfRange(option, range + alternative, value)
}

function outOfRange(option: string, wanted: string, value: unknown): TypeError | RangeError {
  const Misuse = typeof value === 'number' ? RangeError : TypeError
  return new Misuse(`"${option}" must be ${wanted}, got ${quote(value)}`)
}
