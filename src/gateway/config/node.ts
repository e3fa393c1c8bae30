/**
 * A value of a configuration file, and where it stands. It is read as what is wanted of it.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { JsonObject, JsonValue } from '../../core/json-types.js'
import { suggestion } from './suggestions.js'

/** Both count from 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** What stands in the file: aliases are what they stand for, so that one tree may be at several places. */
export interface Tree extends Position {
  readonly value: Scalar | readonly Tree[] | ReadonlyMap<string, Entry>
}

/** `source`: as it is written, for whoever wants a text. */
export interface Scalar {
  readonly source: string
  readonly value: string | number | boolean | null
}

export interface Entry {
  readonly key: Position
  readonly tree: Tree
}

/** The value of a variable. `undefined` where it is not set. */
type Lookup = (name: string) => string | undefined

/** What all values of a file have in common. */
export interface Source {
  readonly file: string
  readonly lookup: Lookup
  /** Texts with their variables: many aliases may stand for a long one. */
  readonly texts: Map<Scalar, string>
  /** How many values may still be read. An alias of aliases of aliases stands for more than anybody can hold. */
  remainingValues: number
}

/** setTimeout takes 31 bits. */
const MAX_INT32 = 2_147_483_647
/** Of all values of a file, those that aliases stand for as often as they do. */
export const MAX_VALUES = 100_000
export const MAX_DEPTH = 100

/**
 * The two signs for themselves, or the beginning of a variable, and the whole of it if it is one. A default that does not end
 * is taken to the end of the text: nothing is looked at twice.
 */
const VARIABLE = /\$\$\{|\$\{(?:([A-Za-z_]\w*)(?::-([^}]*))?(\}|$))?/g

export class ConfigNode {
  readonly path: string
  readonly #tree: Tree
  readonly #source: Source
  readonly #depth: number

  constructor(tree: Tree, path: string, source: Source, depth = 0) {
    this.path = path
    this.#tree = tree
    this.#source = source
    this.#depth = depth
  }

  /** What is wrong here. `reason` says nothing of the value: it may be a secret. */
  error(reason: string, at: Position = this.#tree, key = this.path): A2AError<'CONFIGURATION_ERROR'> {
    return configurationError(this.#source.file, at, key, reason)
  }

  get isNull(): boolean {
    const { value } = this.#tree
    return isScalar(value) && value.value === null
  }

  get isText(): boolean {
    const { value } = this.#tree
    return isScalar(value) && typeof value.value === 'string'
  }

  /** A text, with its variables. What is written as a number is the text that is written. */
  text(): string {
    const { value } = this.#tree
    if (!isScalar(value) || value.value === null) throw this.error(`must be a text, got ${kindOf(value)}`)
    const { texts, lookup } = this.#source
    const known = texts.get(value)
    if (known !== undefined) return known
    const written = typeof value.value === 'string' ? value.value : value.source
    const text = substituteVariables(written, lookup, (reason) => this.error(reason))
    texts.set(value, text)
    return text
  }

  /** A text of which something can be said: it is as it is written, and no variable's value. */
  quoted(): string {
    const { value } = this.#tree
    return isScalar(value) ? JSON.stringify(value.source.slice(0, 80)) : ''
  }

  get isFalse(): boolean {
    return isScalar(this.#tree.value) && this.#scalar() === false
  }

  flag(): boolean {
    const value = this.#scalar()
    if (typeof value === 'boolean') return value
    throw this.error(`must be true or false, got ${kindOfScalar(value)}`)
  }

  /** A whole number above 0. */
  count(): number {
    const value = this.#scalar()
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_INT32) return value
    throw this.error(`must be a whole number from 1 to ${MAX_INT32}${gotKind(value)}`)
  }

  /** A number of seconds, in ms. */
  milliseconds(): number {
    const value = this.#scalar()
    const ms = typeof value === 'number' ? Math.round(value * 1_000) : NaN
    if (ms >= 1 && ms <= MAX_INT32) return ms
    throw this.error(`must be a number of seconds from 0.001 to ${MAX_INT32 / 1_000}${gotKind(value)}`)
  }

  list(): ConfigNode[] {
    const { value } = this.#tree
    if (!isList(value)) throw this.error(`must be a list, got ${kindOf(value)}`)
    return value.map((tree, index) => this.#child(tree, `[${index}]`))
  }

  /** The values of a map that knows these keys. Those without a value are absent. `what` may stand there. */
  map<K extends string>(known: readonly K[], what?: string): { readonly [N in K]?: ConfigNode } {
    const entries = this.entries(what)
    for (const [name, { key }] of entries) {
      if (known.some((each) => each === name)) continue
      const reason =
        name === '<<'
          ? 'merge keys are not taken'
          : `is unknown${suggestion(name, known)}; known are ${known.join(', ')}`
      throw this.error(reason, key, `${this.path}.${name.slice(0, 80)}`)
    }
    const nodes = [...entries].flatMap(([name, { node }]) => (node.isNull ? [] : [[name, node] as const]))
    // It has no other keys.
    return Object.fromEntries(nodes) as { readonly [N in K]?: ConfigNode }
  }

  entries(what = 'a map'): ReadonlyMap<string, { readonly key: Position; readonly node: ConfigNode }> {
    const { value } = this.#tree
    if (isScalar(value) || isList(value)) throw this.error(`must be ${what}, got ${kindOf(value)}`)
    return new Map(
      [...value].map(([name, { key, tree }]) => [name, { key, node: this.#child(tree, `.${name}`) }]),
    )
  }

  /** An object that means nothing to us. */
  json(): JsonObject {
    const convert = (node: ConfigNode): JsonValue => {
      const { value } = node.#tree
      if (isList(value)) return node.list().map(convert)
      if (isScalar(value)) return typeof value.value === 'string' ? node.text() : value.value
      return Object.fromEntries([...node.entries()].map(([name, each]) => [name, convert(each.node)]))
    }
    return Object.fromEntries([...this.entries()].map(([name, { node }]) => [name, convert(node)]))
  }

  /** A variable's value is a number, or `true`, where that is wanted. */
  #scalar(): string | number | boolean | null {
    const { value } = this.#tree
    if (!isScalar(value)) throw this.error(`must be a single value, got ${kindOf(value)}`)
    if (typeof value.value !== 'string' || !value.value.includes('${')) return value.value
    const text = this.text().trim()
    if (text === 'true' || text === 'false') return text === 'true'
    return /^\d+(\.\d+)?$/.test(text) ? Number(text) : text
  }

  #child(tree: Tree, step: string): ConfigNode {
    this.#source.remainingValues -= 1
    if (this.#source.remainingValues < 0)
      throw this.error(`with its aliases, the file holds more than ${MAX_VALUES} values`)
    if (this.#depth === MAX_DEPTH) throw this.error(`nests deeper than ${MAX_DEPTH}`)
    return new ConfigNode(tree, `${this.path}${step}`, this.#source, this.#depth + 1)
  }
}

/** Reads as `gateway.yaml:12:14 a2a.agents[1].id: must be a text`. */
export function configurationError(
  file: string,
  { line, column }: Position,
  key: string,
  reason: string,
): A2AError<'CONFIGURATION_ERROR'> {
  const where = `${file}:${line}:${column}`
  return new A2AError('CONFIGURATION_ERROR', `${where} ${key === '' ? '' : `${key}: `}${reason}`, {
    file,
    line,
    column,
    key,
  })
}

function isScalar(value: Tree['value']): value is Scalar {
  return 'source' in value
}

function isList(value: Tree['value']): value is readonly Tree[] {
  return Array.isArray(value)
}

function kindOf(value: Tree['value']): string {
  if (isList(value)) return 'a list'
  return isScalar(value) ? kindOfScalar(value.value) : 'a map'
}

function kindOfScalar(value: Scalar['value']): string {
  return value === null ? 'nothing' : `a ${typeof value === 'string' ? 'text' : typeof value}`
}

/** A number that is none of those that are wanted says so itself. */
function gotKind(value: Scalar['value']): string {
  return typeof value === 'number' ? '' : `, got ${kindOfScalar(value)}`
}

/**
 * `text` with the values of its variables: `${NAME}`, or `${NAME:-default}` for one that is not set, or empty. `$${` is
 * `${`. Values are taken as they are: what they hold is no variable again.
 */
function substituteVariables(text: string, lookup: Lookup, toError: (reason: string) => Error): string {
  return text.replace(VARIABLE, (whole: string, name?: string, byDefault?: string, end?: string) => {
    if (whole === '$${') return '${'
    if (name === undefined || !end) {
      throw toError('has ${ without a variable: write ${NAME}, ${NAME:-default}, or $${ for the two signs')
    }
    const set = lookup(name)
    const value = byDefault === undefined ? set : set || byDefault
    if (value === undefined) throw toError(`the variable ${name} is not set`)
    return value
  })
}
