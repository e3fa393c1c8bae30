/**
 * A YAML value of a configuration file with its position, and typed readers for it.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { JsonObject, JsonValue } from '../../core/json-types.js'
import { knownNames } from '../../runtime/known-names.js'

/** A position in the file. Both numbers count from 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** A parsed value. Aliases are resolved, so one tree may occur in several places. */
export interface Tree extends Position {
  readonly value: Scalar | readonly Tree[] | ReadonlyMap<string, Entry>
}

/** A scalar. `source` is its spelling in the file. */
export interface Scalar {
  readonly source: string
  readonly value: string | number | boolean | null
}

export interface Entry {
  readonly key: Position
  readonly tree: Tree
}

/** Returns the value of a variable, or `undefined` if it is not set. */
type Lookup = (name: string) => string | undefined

/** State that all values of a file share. */
export interface Source {
  readonly file: string
  readonly lookup: Lookup
  /** Texts after substitution, cached because many aliases may refer to one long text. */
  readonly texts: Map<Scalar, string>
  /** Number of values that may still be read: nested aliases can expand to more than fits in memory. */
  remainingValues: number
}

/** Upper limit of `setTimeout`, a signed 32-bit integer. */
const MAX_INT32 = 2_147_483_647
/** Limit for all values of a file, with aliases expanded. */
export const MAX_VALUES = 100_000
export const MAX_DEPTH = 100

/**
 * Matches the escape `$${`, a whole variable, or the beginning of one. An unterminated default extends to the end of
 * the text, so that no character is scanned twice.
 */
const VARIABLE = /\$\$\{|\$\{(?:([A-Za-z_]\w*)(?::-([^}]*))?(\}|$))?/g

export class ConfigNode {
  readonly path: string
  readonly #tree: Tree
  readonly #source: Source
  readonly #depth: number
  /** The agent that the value belongs to, for errors. */
  readonly #agent: string | undefined

  constructor(tree: Tree, path: string, source: Source, depth = 0, agent?: string) {
    this.path = path
    this.#tree = tree
    this.#source = source
    this.#depth = depth
    this.#agent = agent
  }

  /** The same value as one of the agent whose id it has. */
  asAgent(): ConfigNode {
    const { value } = this.#tree
    const id = isMap(value) ? value.get('id')?.tree.value : undefined
    const agent = id !== undefined && isScalar(id) && id.value !== null ? shownId(id.source) : undefined
    return new ConfigNode(this.#tree, this.path, this.#source, this.#depth, agent)
  }

  /** Whether the id of the agent contains variables, so that errors must not show its value. */
  get hasSecretId(): boolean {
    return this.#agent?.includes('${') ?? true
  }

  /** Returns an error at this position. `reason` must not contain the value, which may be a secret. */
  error(reason: string, at: Position = this.#tree, key = this.path): A2AError<'CONFIGURATION_ERROR'> {
    return configurationError(this.#source.file, at, key, reason, this.#agent)
  }

  /** Returns an error about the value at a path of the registry or of a provider, such as `settings.agentId`. */
  errorAt(path: string, reason: string): A2AError<'CONFIGURATION_ERROR'> {
    let at: Position = this.#tree
    let tree: Tree | undefined = this.#tree
    let key = this.path
    for (const step of path.split(/[.[\]]+/).filter(Boolean)) {
      const [name, next] = partOf(tree, step)
      key += /^\d+$/.test(name) ? `[${name}]` : `.${name}`
      tree = next
      // What is missing has the position of what it is missing in.
      at = next ?? at
    }
    return this.error(reason, at, key)
  }

  /** Returns the value of a variable, or `undefined` if it is not set. */
  variable(name: string): string | undefined {
    return this.#source.lookup(name)
  }

  get isNull(): boolean {
    const { value } = this.#tree
    return isScalar(value) && value.value === null
  }

  get isText(): boolean {
    const { value } = this.#tree
    return isScalar(value) && typeof value.value === 'string'
  }

  /** Returns the text with its variables substituted. A number is returned as it is spelled in the file. */
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

  /** Returns the spelling for an error. Variables are not substituted, so it reveals no secret. */
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

  /** Returns a whole number above 0. */
  count(): number {
    const value = this.#scalar()
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_INT32) return value
    throw this.error(`must be a whole number from 1 to ${MAX_INT32}${gotKind(value)}`)
  }

  /** Reads a number of seconds, and returns it in ms. */
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

  /**
   * Returns the values of a map that may have these keys only. Keys without a value are absent. `what` describes the
   * expected value in errors.
   */
  map<K extends string>(known: readonly K[], what?: string): { readonly [N in K]?: ConfigNode } {
    const entries = this.entries(what)
    for (const [name, { key }] of entries) {
      if (known.some((each) => each === name)) continue
      throw this.error(`is unknown${knownNames(name, known)}`, key, `${this.path}.${name.slice(0, 80)}`)
    }
    const nodes = [...entries].flatMap(([name, { node }]) => (node.isNull ? [] : [[name, node] as const]))
    // Unknown keys have been refused above.
    return Object.fromEntries(nodes) as { readonly [N in K]?: ConfigNode }
  }

  entries(what = 'a map'): ReadonlyMap<string, { readonly key: Position; readonly node: ConfigNode }> {
    const { value } = this.#tree
    if (!isMap(value)) throw this.error(`must be ${what}, got ${kindOf(value)}`)
    return new Map(
      [...value].map(([name, { key, tree }]) => [name, { key, node: this.#child(tree, `.${name}`) }]),
    )
  }

  /** Returns a map as JSON, with variables substituted. */
  json(): JsonObject {
    const convert = (node: ConfigNode): JsonValue => {
      const { value } = node.#tree
      if (isList(value)) return node.list().map(convert)
      if (isScalar(value)) return typeof value.value === 'string' ? node.text() : value.value
      return Object.fromEntries([...node.entries()].map(([name, each]) => [name, convert(each.node)]))
    }
    return Object.fromEntries([...this.entries()].map(([name, { node }]) => [name, convert(node)]))
  }

  /** Returns the scalar. The value of a variable becomes a number or a boolean if it is spelled like one. */
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
    return new ConfigNode(tree, `${this.path}${step}`, this.#source, this.#depth + 1, this.#agent)
  }
}

/** Creates an error such as `gateway.yaml:12:14 a2a.agents[1].name of agent "poet": must be a text`. */
export function configurationError(
  file: string,
  { line, column }: Position,
  key: string,
  reason: string,
  agent?: string,
): A2AError<'CONFIGURATION_ERROR'> {
  const what = agent === undefined ? key : `${key} of agent ${JSON.stringify(agent)}`
  const message = `${file}:${line}:${column} ${what === '' ? '' : `${what}: `}${reason}`
  const data = { file, line, column, key, ...(agent !== undefined && { agent }) }
  return new A2AError('CONFIGURATION_ERROR', message, data)
}

/** The id of an agent as the file spells it. Variables are not substituted, so it reveals no secret. */
export function shownId(source: string): string {
  return source.slice(0, 80)
}

/** Returns the part of a value that a step of a path names, and its key in the file. */
function partOf(tree: Tree | undefined, step: string): readonly [key: string, part: Tree | undefined] {
  const value = tree?.value
  if (value !== undefined && isList(value)) return [step, value[Number(step)]]
  const entries = value !== undefined && isMap(value) ? value : undefined
  const key = entries?.has(step) === true ? step : snakeCase(step)
  return [key, entries?.get(key)?.tree]
}

/** `assistantId` is `assistant_id` in a file. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function isScalar(value: Tree['value']): value is Scalar {
  return 'source' in value
}

function isMap(value: Tree['value']): value is ReadonlyMap<string, Entry> {
  return !isScalar(value) && !isList(value)
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

/** Names the kind of a value that is not a number. For a number out of range, the expected range says enough. */
function gotKind(value: Scalar['value']): string {
  return typeof value === 'number' ? '' : `, got ${kindOfScalar(value)}`
}

/**
 * Substitutes variables: `${NAME}`, or `${NAME:-default}` for one that is unset or empty. `$${` becomes `${`. Values
 * are not scanned again.
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
