/**
 * Values of options and cards, read field by field.
 *
 * @module
 */
import { invalidParams } from '../../core/errors.js'
import type { JsonObject } from '../../core/json-types.js'

type Present<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] }
type Maybe<T> = { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> }

/** `value` without what is `undefined`. */
export function compact<T extends object>(value: T): Present<T> & Maybe<T> {
  const entries = Object.entries(value).filter(([, child]) => child !== undefined)
  // Only what may be absent has gone.
  return Object.fromEntries(entries) as Present<T> & Maybe<T>
}

/**
 * An object, and where it stands. What is `null` counts as absent, as in ProtoJSON. Methods throw `INVALID_PARAMS` with
 * the path of what is missing or of another type.
 */
export class Fields {
  readonly #value: Readonly<Record<string, unknown>>
  readonly path: string

  constructor(value: unknown, path: string) {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw wrong(path, 'object', value)
    this.path = path
    // What is neither null nor an array has texts for keys.
    this.#value = value as Readonly<Record<string, unknown>>
  }

  get(key: string): unknown {
    return Object.hasOwn(this.#value, key) ? (this.#value[key] ?? undefined) : undefined
  }

  at(key: string): string {
    return this.path === '' ? key : `${this.path}.${key}`
  }

  text(key: string): string | undefined {
    return this.#typed(key, 'string')
  }

  /** A text with something in it, of whole characters: it may have to stand in a URL. */
  id(key: string): string {
    const value = this.text(key)
    if (value && !/\p{Cs}/u.test(value)) return value
    const reason = value ? 'must be well-formed' : 'must not be empty'
    throw invalidParams(this.at(key), value === undefined ? 'is missing' : reason)
  }

  count(key: string): number | undefined {
    return this.#typed(key, 'number')
  }

  object(key: string): Fields | undefined {
    const value = this.get(key)
    return value === undefined ? undefined : new Fields(value, this.at(key))
  }

  /** An object that is kept as it is. */
  json(key: string): JsonObject | undefined {
    const object = this.object(key)
    // It came as JSON.
    return object === undefined ? undefined : (object.#value as JsonObject)
  }

  texts(key: string): string[] | undefined {
    return this.#elements(key)?.map((element, index) => {
      if (typeof element === 'string') return element
      throw wrong(`${this.at(key)}[${index}]`, 'string', element)
    })
  }

  #typed<T extends keyof Types>(key: string, type: T): Types[T] | undefined {
    const value = this.get(key)
    // The table says what is of that type.
    if (value === undefined || typeof value === type) return value as Types[T] | undefined
    throw wrong(this.at(key), type, value)
  }

  #elements(key: string): readonly unknown[] | undefined {
    const value = this.get(key)
    if (value === undefined) return undefined
    if (Array.isArray(value)) return value as readonly unknown[]
    throw wrong(this.at(key), 'array', value)
  }
}

interface Types {
  string: string
  number: number
}

function wrong(path: string, expected: string, value: unknown): Error {
  const got = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  return invalidParams(
    path,
    value === undefined ? 'is missing' : `must be ${withArticle(expected)}, got ${withArticle(got)}`,
  )
}

function withArticle(type: string): string {
  return type === 'null' ? type : `${/^[ao]/.test(type) ? 'an' : 'a'} ${type}`
}
