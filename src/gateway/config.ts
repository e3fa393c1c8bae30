/**
 * Configuration files of gateways, in YAML.
 *
 * @module
 */
import type * as yaml from 'yaml'
import { type A2AError, invalidParams } from '../core/errors.js'
import { quote } from '../core/json.js'
import type { AgentInput } from './agent.js'
import { suggestion } from './config-hints.js'
import { ConfigNode, configurationError, type Entry, type Position, type Tree } from './config-node.js'
import { readConfig } from './config-read.js'
import type { GatewaySettings } from './options.js'
import { environment } from './platform.js'
import { PROVIDER_NAMES, providerName } from './provider-names.js'
import { requireKnown } from './require.js'

/** A configuration. It shows no secrets when it is printed or made JSON. */
export interface GatewayConfig {
  /** Default is `true`. Where it is `false`, the rest is as it is by default. */
  readonly enabled: boolean
  readonly gateway: GatewaySettings & {
    readonly healthCheckIntervalMs: number
    readonly taskTimeoutMs: number
    readonly maxConcurrentTasks: number
  }
  readonly agents: readonly AgentInput[]
}

export interface LoadGatewayConfigOptions {
  /** Where variables are looked up. Default is the environment of the process. */
  readonly env?:
    Readonly<Record<string, string | undefined>> | ((name: string) => string | undefined) | undefined
  /** What errors call the file. Default is `gateway.yaml`. */
  readonly file?: string | undefined
  /** The providers that there are, or their names. Default are the names of those that come with the library. */
  readonly providers?: readonly string[] | Readonly<Record<string, unknown>> | undefined
}

const MAX_LENGTH = 1_048_576
const MAX_DEPTH = 100

/**
 * The section `a2a` of a YAML text; other sections are somebody else's. Times are in seconds there, and keys in snake_case;
 * so are the first keys of an agent's `settings`: `assistant_id` is `assistantId`.
 *
 * Texts may have variables: `${NAME}`, `${NAME:-default}`, and `$${` for `${`. They are read when the YAML has been: a
 * value is a value, whatever it looks like.
 *
 * @throws {A2AError} `CONFIGURATION_ERROR` with the place of what is wrong: `gateway.yaml:12:14 a2a.agents[1].id: is missing`.
 *   It tells no value of a variable, no token, key or secret.
 */
export async function loadGatewayConfig(
  text: string,
  options: LoadGatewayConfigOptions = {},
): Promise<GatewayConfig> {
  requireKnown(options, ['env', 'file', 'providers'], 'loadGatewayConfig')
  const { env = environment, file = 'gateway.yaml', providers = PROVIDER_NAMES } = options
  // The type says so; not everybody has types.
  if (typeof text !== 'string') throw invalidParams('text', `must be the text of a file, got ${quote(text)}`)
  const lookup =
    typeof env === 'function' ? env : (name: string) => (Object.hasOwn(env, name) ? env[name] : undefined)
  const names: readonly string[] = Array.isArray(providers) ? providers : Object.keys(providers)
  const section = await parse(text, file)
  return readConfig(new ConfigNode(section, 'a2a', { file, lookup }), names.map(providerName))
}

async function parse(text: string, file: string): Promise<Tree> {
  const start = { line: 1, column: 1 }
  if (text.length > MAX_LENGTH)
    throw configurationError(file, start, '', `is longer than ${MAX_LENGTH} characters`)
  const { LineCounter, parseDocument, ...kinds } = await import('yaml')
  const lines = new LineCounter()
  const place = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }
  const document = parseDocument(text, {
    ...{ lineCounter: lines, version: '1.2', schema: 'core' },
    ...{ merge: false, stringKeys: true, resolveKnownTags: false },
  })
  const [problem] = document.errors
  if (problem !== undefined) {
    throw configurationError(
      file,
      place(problem.pos[0]),
      '',
      PROBLEMS[problem.code] ?? `is not YAML: ${problem.code}`,
    )
  }
  return new Trees(kinds, document, file, place).section()
}

/** What the parser has to say itself may repeat what stands there, and that may be a secret. */
const PROBLEMS: Readonly<Record<string, string>> = {
  BAD_ALIAS: 'is an alias of nothing that stands before it',
  BAD_INDENT: 'is not YAML: it is not indented as what stands around it',
  DUPLICATE_KEY: 'is a key that is there already',
  MISSING_CHAR: 'is not YAML: a quote, a bracket or a comma is missing',
  MULTIPLE_DOCS: 'begins a second document',
  NON_STRING_KEY: 'is a key that is no text',
  RESOURCE_EXHAUSTION: 'nests too deep',
  TAB_AS_INDENT: 'is not YAML: tabs do not indent',
}

/** What tells the parser's nodes apart. */
type Kinds = Pick<typeof yaml, 'isAlias' | 'isMap' | 'isNode' | 'isScalar' | 'isSeq'>

/** Makes trees of what the parser gives. */
class Trees {
  readonly #kinds: Kinds
  readonly #document: yaml.Document.Parsed
  readonly #file: string
  readonly #place: (offset: number) => Position
  /** `undefined`: it is being made. */
  readonly #made = new Map<yaml.Node, Tree | undefined>()

  constructor(
    kinds: Kinds,
    document: yaml.Document.Parsed,
    file: string,
    place: (offset: number) => Position,
  ) {
    this.#kinds = kinds
    this.#document = document
    this.#file = file
    this.#place = place
  }

  /** What is made is the section alone: the others may have tags and whatever else. */
  section(): Tree {
    const { contents } = this.#document
    if (!this.#kinds.isMap(contents)) throw this.#error(contents, 'must be a map with the section a2a')
    const names = contents.items.map(({ key }) => this.#nameOf(key))
    const section = contents.items[names.indexOf('a2a')]
    if (section?.value == null)
      throw this.#error(contents, `the section a2a is missing${suggestion('a2a', names)}`)
    return this.#tree(section.value, 0)
  }

  #tree(node: yaml.Node, depth: number): Tree {
    if (depth > MAX_DEPTH) throw this.#error(node, `nests deeper than ${MAX_DEPTH}`)
    if (this.#kinds.isAlias(node)) {
      const target = node.resolve(this.#document)
      if (target === undefined) throw this.#error(node, 'is an alias of nothing that stands before it')
      return this.#tree(target, depth)
    }
    const made = this.#made.get(node)
    if (made !== undefined) return made
    if (this.#made.has(node)) throw this.#error(node, 'contains itself')
    if (node.tag !== undefined) throw this.#error(node, 'has a tag: tags are not taken')
    this.#made.set(node, undefined)
    const tree = { ...this.#at(node), value: this.#value(node, depth) }
    this.#made.set(node, tree)
    return tree
  }

  #value(node: yaml.Node, depth: number): Tree['value'] {
    if (this.#kinds.isSeq<yaml.ParsedNode>(node)) return node.items.map((each) => this.#tree(each, depth + 1))
    if (this.#kinds.isMap<yaml.ParsedNode, yaml.ParsedNode | null>(node)) {
      return new Map(
        node.items.map(({ key, value }): [string, Entry] => {
          const at = this.#at(key)
          const tree = value === null ? { ...at, value: NOTHING } : this.#tree(value, depth + 1)
          return [this.#nameOf(key), { key: at, tree }]
        }),
      )
    }
    // What is neither an alias nor a collection.
    const { value, source = '' } = node as { readonly value?: unknown; readonly source?: string }
    if (
      value === null ||
      typeof value === 'string' ||
      typeof value === 'number' ||
      typeof value === 'boolean'
    ) {
      return { value, source }
    }
    throw this.#error(node, 'is neither a text nor a number')
  }

  #nameOf(key: unknown): string {
    if (this.#kinds.isScalar(key) && typeof key.value === 'string') return key.value
    throw this.#error(this.#kinds.isNode(key) ? key : null, 'is a key that is no text')
  }

  #at(node: yaml.Node | null): Position {
    return this.#place(node?.range?.[0] ?? 0)
  }

  #error(node: yaml.Node | null, reason: string): A2AError {
    return configurationError(this.#file, this.#at(node), '', reason)
  }
}

const NOTHING = { value: null, source: '' }
