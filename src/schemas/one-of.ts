/**
 * Oneof of the protocol: an object with exactly one of several members.
 *
 * @module
 */
import type * as z from 'zod/mini'
import { refine } from './scalars.js'
import type { Schema } from './schema.js'

/** `T` with exactly one of its members `K`, as a union with one object type per member. */
export type ExactlyOne<T, K extends keyof T, Each extends K = K> = Each extends K
  ? Plain<Omit<T, K> & Required<Pick<T, Each>> & { [P in Exclude<K, Each>]?: never }>
  : never
type Plain<T> = { [P in keyof T]: T[P] }

/** The schema of such an object. As an interface, declarations name it instead of repeating each type of its union. */
export interface OneOfSchema<S extends z.ZodMiniObject, K extends keyof z.output<S>> extends z.ZodMiniType<
  ExactlyOne<z.output<S>, K>,
  ExactlyOne<z.output<S>, K>
> {}

/** `schema` with the check that exactly one of its optional `members` is present, whatever its value. */
export function exactlyOneOf<Z extends z.ZodMiniObject, K extends keyof z.output<Z> & string>(
  schema: Schema<Z>,
  members: readonly K[],
): Schema<OneOfSchema<Z, K>> {
  const present = (value: object): K[] => members.filter((member) => Reflect.get(value, member) !== undefined)
  const checked = refine<Schema<Z>>(
    schema,
    (value) => {
      let count = 0
      for (const member of members) if (value[member] !== undefined) count++
      return count === 1
    },
    (value) => {
      // What the object schema has read.
      const got = list(present(value as object))
      return `must have exactly one of ${list(members)}, got ${got === '' ? 'none' : got}`
    },
  )
  // The type states what the check holds. One object with a check, not a union of objects: it is read once, and its errors
  // are about the member that is present.
  return checked as unknown as Schema<OneOfSchema<Z, K>>
}

/** `a, b and c`. */
function list(names: readonly string[]): string {
  return names.join(', ').replace(/, ([^,]*)$/, ' and $1')
}
