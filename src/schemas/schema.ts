/**
 * Schemas: data that describes a kind of value, and the function that reads one.
 *
 * The library reads with these functions and needs no zod. `zod.ts` makes the public schemas from the same data.
 *
 * @module
 */
import type * as z from 'zod/mini'

/** Why a value is refused. */
export class Fault {
  /** The keys from the value to what is at fault. */
  readonly path: PropertyKey[]
  readonly reason: string

  constructor(reason: string, path: PropertyKey[] = []) {
    this.reason = reason
    this.path = path
  }

  /** The same fault, seen from the parent that has the value under `key`. */
  in(key: PropertyKey): this {
    this.path.unshift(key)
    return this
  }
}

/** A schema whose form as one of zod has the type `Z`. */
export interface Schema<Z extends z.ZodMiniType = z.ZodMiniType> {
  /** Returns the value without unknown fields, or the first fault. */
  readonly read: (value: unknown) => z.output<Z> | Fault
  readonly definition: Definition
  /** Conditions beyond the type, in the order in which they are checked. */
  readonly checks: readonly Check[]
  /** For types only. Never set. */
  readonly zod?: Z
}

export type Definition =
  | { readonly type: 'string' | 'number' | 'boolean' | 'unknown'; readonly error?: string | undefined }
  | { readonly type: 'dateTime'; readonly local: boolean; readonly error: string }
  | { readonly type: 'enum' | 'literal'; readonly values: readonly string[] }
  | { readonly type: 'custom'; readonly test: (value: unknown) => boolean; readonly error: string }
  | { readonly type: 'list'; readonly element: Schema; readonly whenEmpty: string | undefined }
  | { readonly type: 'record'; readonly member: Schema }
  | { readonly type: 'object'; readonly shape: Shape }
  | { readonly type: 'optional' | 'nullable'; readonly inner: Schema }

export type Shape = Readonly<Record<string, Schema>>

export interface Check {
  // A method, so that a schema with a check of its own type is a schema.
  test(value: unknown): boolean
  readonly error: string | ((value: unknown) => string)
  readonly path: readonly PropertyKey[]
}

/** What the schema reads, or `undefined` for a value that it refuses. */
export function tryRead<T>(schema: SchemaOf<T>, value: unknown): T | undefined {
  const read = schema.read(value)
  return read instanceof Fault ? undefined : read
}

/** The schema of zod that `S` describes. */
export type ZodOf<S extends Schema> = NonNullable<S['zod']>

/** A schema of values of the type `T`. */
export type SchemaOf<T> = Schema<z.ZodMiniType<T>>

/** What `S` accepts and returns. */
export type Infer<S extends Schema> = z.output<ZodOf<S>>
