/**
 * Removal of undefined properties.
 *
 * @module
 */

type Present<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] }
type Maybe<T> = { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> }

/** A copy of `value` without properties that are `undefined`. */
export function compact<T extends object>(value: T): Present<T> & Maybe<T> {
  const entries = Object.entries(value).filter(([, child]) => child !== undefined)
  // Only properties that may be absent were removed.
  return Object.fromEntries(entries) as Present<T> & Maybe<T>
}
