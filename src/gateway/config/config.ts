/**
 * Gateway configuration files in YAML.
 *
 * @module
 */
import type * as yaml from 'yaml'
import { type A2AError, invalidParams } from '../../core/errors.js'
import { quote } from '../../runtime/describe.js'
import { environment } from '../../runtime/environment.js'
import { suggestion } from '../../runtime/known-names.js'
import {
  ConfigNode,
  configurationError,
  MAX_DEPTH,
  MAX_VALUES,
  shownId,
  type Entry,
  type Position,
  type Tree,
} from './yaml-node.js'
import { readConfig } from './sections.js'
import type { GatewayConfig } from './types.js'
import { PROVIDER_NAMES, providerName } from '../registry/provider-names.js'
import { requireKnown } from '../../runtime/options.js'

/** Options of {@link loadGatewayConfig}. */
export interface LoadGatewayConfigOptions {
  /** Source of variables. Default is the environment of the process. */
  readonly env?:
    Readonly<Record<string, string | undefined>> | ((name: string) => string | undefined) | undefined
  /** Name of the file in errors. Default is `gateway.yaml`. */
  readonly file?: string | undefined
  /** The available providers, or their names. Default is the names of the providers in this library. */
  readonly providers?: readonly string[] | Readonly<Record<string, unknown>> | undefined
}

const MAX_LENGTH = 262_144
/** Lists, maps and what they contain that are open at a time, of all sections. */
const MAX_OPEN = 2 * MAX_DEPTH

/**
 * Reads the section `a2a` of a YAML text, and ignores other sections. The file has times in seconds and keys in
 * snake_case. The top-level keys of an agent's `settings` are converted: `assistant_id` becomes `assistantId`.
 *
 * Texts may contain variables: `${NAME}`, `${NAME:-default}`, and `$${` for a literal `${`. They are substituted after
 * the YAML is parsed, so the value of a variable cannot change the structure.
 *
 * The text may have up to 262,144 characters and, with aliases expanded, 100,000 values.
 *
 * @throws {A2AError} `CONFIGURATION_ERROR` with the position and key of the fault: `gateway.yaml:12:14
 *   a2a.agents[1].id: is missing`. It never contains the value of a variable, a token, a key or a secret.
 * @throws {A2AError} `INVALID_PARAMS` when `text` is not a string.
 * @throws {TypeError} for an unknown option.
 */
export async function loadGatewayConfig(
  text: string,
  options: LoadGatewayConfigOptions = {},
): Promise<GatewayConfig> {
  requireKnown(options, ['env', 'file', 'providers'], 'loadGatewayConfig')
  const { env = environment, file = 'gateway.yaml', providers = PROVIDER_NAMES } = options
  // Callers without types may pass anything.
  if (typeof text !== 'string') throw invalidParams('text', `must be the text of a file, got ${quote(text)}`)
  const lookup =
    typeof env === 'function' ? env : (name: string) => (Object.hasOwn(env, name) ? env[name] : undefined)
  const names: readonly string[] = Array.isArray(providers) ? providers : Object.keys(providers)
  const section = await parse(text, file)
  const source = { file, lookup, texts: new Map(), remainingValues: MAX_VALUES }
  return readConfig(new ConfigNode(section, 'a2a', source), names.map(providerName))
}

async function parse(text: string, file: string): Promise<Tree> {
  const start = { line: 1, column: 1 }
  if (text.length > MAX_LENGTH)
    throw configurationError(file, start, '', `is longer than ${MAX_LENGTH} characters`)
  const { Composer, Lexer, LineCounter, Parser, ...kinds } = await import('yaml')
  const lines = new LineCounter()
  lines.addNewLine(0)
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }
  const tokens = function* (): Generator<yaml.CST.Token> {
    const parser = new Parser(lines.addNewLine)
    for (const lexeme of new Lexer().lex(text)) {
      yield* parser.next(lexeme)
      // The composer calls itself for each level. Where the stack ends within a regular expression, the process ends.
      if (parser.stack.length > MAX_OPEN)
        throw configurationError(file, positionAt(parser.offset), '', 'nests too deep')
    }
    yield* parser.end()
  }
  const composer = new Composer<yaml.ParsedNode>({
    version: '1.2',
    schema: 'core',
    merge: false,
    stringKeys: true,
    resolveKnownTags: false,
    // These checks take quadratic time in the parser and may print values; duplicate keys are detected below.
    uniqueKeys: false,
    prettyErrors: false,
  })
  const documents = composer.compose(tokens(), true, text.length)
  // An empty text has a document, too.
  const { value: document } = documents.next() as IteratorYieldResult<yaml.Document.Parsed>
  const [problem] = document.errors
  if (problem !== undefined) {
    throw configurationError(
      file,
      positionAt(problem.pos[0]),
      '',
      PARSER_ERRORS[problem.code] ?? `is not YAML: ${problem.code}`,
    )
  }
  const { value: another } = documents.next()
  if (another !== undefined)
    throw configurationError(file, positionAt(another.range[0]), '', 'begins a second document')
  return new TreeBuilder(kinds, document, file, positionAt).section()
}

/** Replaces the parser's messages, which may quote the file and so reveal a secret. */
const PARSER_ERRORS: Readonly<Record<string, string>> = {
  BAD_ALIAS: 'is an alias of nothing that stands before it',
  BAD_DQ_ESCAPE: 'is not YAML: in double quotes a \\ is written as two; in single quotes as it is',
  BAD_INDENT:
    'is not YAML: it is not indented as what stands around it, or a bracket before it is not closed',
  BAD_SCALAR_START: 'is not YAML: a text that begins with this sign is to be quoted',
  BLOCK_AS_IMPLICIT_KEY:
    'is not YAML: a text with a colon is to be quoted, or a line here is not indented as those around it',
  BLOCK_IN_FLOW: 'is not YAML: a comma or a bracket is missing',
  MISSING_CHAR:
    'is not YAML: a quote, a bracket, a comma or a dash is missing, or it is not indented as what stands around it',
  MULTILINE_IMPLICIT_KEY: 'is not YAML: a colon is missing, or the blank after it',
  NON_STRING_KEY: 'is a key that is not a string',
  RESOURCE_EXHAUSTION: 'nests too deep',
  TAB_AS_INDENT: 'is not YAML: tabs do not indent',
  UNEXPECTED_TOKEN:
    'is not YAML: nothing can stand here; a text with { } or [ ] is to be quoted, as in key: "${NAME}"',
}

/** Type guards of the parser's nodes. */
type Kinds = Pick<typeof yaml, 'isAlias' | 'isMap' | 'isNode' | 'isScalar' | 'isSeq'>

type Items = yaml.YAMLMap<yaml.ParsedNode, yaml.ParsedNode | null>

/** The way to a value, for errors: each step with the value that it leads to. */
interface Place {
  readonly parent?: Place
  readonly step: string
  readonly node: yaml.Node
}

/** The key that takes the entries of another map, as in `<<: *defaults`. */
const MERGE = '<<'

/** Converts the parser's document to trees. */
class TreeBuilder {
  readonly #kinds: Kinds
  readonly #document: yaml.Document.Parsed
  readonly #file: string
  readonly #positionAt: (offset: number) => Position
  /** `undefined` while the tree is being built. */
  readonly #built = new Map<yaml.Node, Tree | undefined>()
  #remainingMerges = MAX_VALUES
  /** Targets of aliases. */
  readonly #targets = new Map<yaml.Node, yaml.Node | undefined>()

  constructor(
    kinds: Kinds,
    document: yaml.Document.Parsed,
    file: string,
    positionAt: (offset: number) => Position,
  ) {
    this.#kinds = kinds
    this.#document = document
    this.#file = file
    this.#positionAt = positionAt
  }

  /** Converts only the section `a2a`: other sections may contain tags and other things that are refused here. */
  section(): Tree {
    const { contents } = this.#document
    if (!this.#kinds.isMap<yaml.ParsedNode, yaml.ParsedNode | null>(contents)) {
      const hint = ', got a text: loadGatewayConfig takes the text of the file, not its path'
      const isText = this.#kinds.isScalar(contents) && typeof contents.value === 'string'
      throw this.#error(contents, `must be a map with the section a2a${isText ? hint : ''}`)
    }
    const pairs = this.#pairsOf(contents)
    const section = pairs.get('a2a')
    if (section?.value == null)
      throw this.#error(contents, `the section a2a is missing${suggestion('a2a', [...pairs.keys()])}`)
    this.#resolveAliases(contents)
    return this.#tree(section.value, 0, { step: 'a2a', node: section.value })
  }

  /**
   * Resolves each alias to the last anchor of its name before it. One pass: the parser's own resolution walks through
   * the whole file for each alias.
   */
  #resolveAliases(contents: yaml.ParsedNode): void {
    const anchors = new Map<string, yaml.Node>()
    const open: (yaml.ParsedNode | null)[] = [contents]
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (this.#kinds.isAlias(node)) this.#targets.set(node, anchors.get(node.source))
      else if (node?.anchor !== undefined) anchors.set(node.anchor, node)
      // Reversed, so that the stack returns the nodes in document order.
      for (const child of this.#childrenOf(node).reverse()) open.push(child)
    }
  }

  #childrenOf(node: yaml.ParsedNode | null): (yaml.ParsedNode | null)[] {
    if (this.#kinds.isSeq<yaml.ParsedNode>(node)) return [...node.items]
    if (!this.#kinds.isMap<yaml.ParsedNode, yaml.ParsedNode | null>(node)) return []
    return node.items.flatMap(({ key, value }) => [key, value])
  }

  #tree(node: yaml.Node, depth: number, place: Place): Tree {
    if (depth > MAX_DEPTH) throw this.#error(node, `nests deeper than ${MAX_DEPTH}`, place)
    if (this.#kinds.isAlias(node)) {
      const target = this.#targets.get(node)
      if (target === undefined) throw this.#error(node, 'is an alias of nothing that stands before it', place)
      return this.#tree(target, depth, place)
    }
    const built = this.#built.get(node)
    if (built !== undefined) return built
    if (this.#built.has(node)) throw this.#error(node, 'contains itself', place)
    if (node.tag !== undefined) throw this.#error(node, 'has a tag: tags are not taken', place)
    this.#built.set(node, undefined)
    const tree = { ...this.#positionOf(node), value: this.#value(node, depth, place) }
    this.#built.set(node, tree)
    return tree
  }

  #value(node: yaml.Node, depth: number, place: Place): Tree['value'] {
    if (this.#kinds.isSeq<yaml.ParsedNode>(node)) {
      return node.items.map((each, at) => this.#tree(each, depth + 1, stepFrom(place, `[${at}]`, each)))
    }
    if (this.#kinds.isMap<yaml.ParsedNode, yaml.ParsedNode | null>(node)) {
      return this.#entries(node, depth, place)
    }
    // The node is neither an alias nor a collection.
    const { value, source = '' } = node as { readonly value?: unknown; readonly source?: string }
    if (
      value === null ||
      typeof value === 'string' ||
      typeof value === 'number' ||
      typeof value === 'boolean'
    ) {
      return { value, source }
    }
    throw this.#error(node, 'is neither a text nor a number', place)
  }

  /** Returns the entries of a map: its own, and those that it merges. */
  #entries(node: Items, depth: number, place: Place): ReadonlyMap<string, Entry> {
    const entries = new Map<string, Entry>()
    const pairs = this.#pairsOf(node, place)
    for (const [name, { key, value }] of pairs) {
      if (name === MERGE) continue
      const at = this.#positionOf(key)
      const tree =
        value === null
          ? { ...at, value: EMPTY }
          : this.#tree(value, depth + 1, stepFrom(place, `.${name}`, value))
      entries.set(name, { key: at, tree })
    }
    const merged = pairs.get(MERGE)
    if (merged !== undefined) this.#merge(entries, merged.value ?? merged.key, depth, place)
    return entries
  }

  /** Adds the entries of a map, or of each map in a list, whose names are not there yet. They keep their positions. */
  #merge(entries: Map<string, Entry>, node: yaml.Node, depth: number, place: Place): void {
    const at = stepFrom(place, `.${MERGE}`, node)
    const { value } = this.#tree(node, depth + 1, at)
    for (const source of Array.isArray(value)
      ? (value as readonly Tree[]).map((tree) => tree.value)
      : [value]) {
      if (!(source instanceof Map)) throw this.#error(node, 'must be a map, or a list of maps', at)
      for (const [name, entry] of source as ReadonlyMap<string, Entry>) {
        this.#remainingMerges -= 1
        if (this.#remainingMerges < 0)
          throw this.#error(node, `the file merges more than ${MAX_VALUES} values`, at)
        if (!entries.has(name)) entries.set(name, entry)
      }
    }
  }

  /** Returns the pairs of a map by key, and throws for a duplicate key. */
  #pairsOf({ items }: Items, place?: Place): ReadonlyMap<string, Items['items'][number]> {
    const pairs = new Map<string, Items['items'][number]>()
    for (const pair of items) {
      const name = this.#nameOf(pair.key, place)
      const first = pairs.get(name)
      if (first !== undefined) {
        const { line } = this.#positionOf(first.key)
        throw this.#error(pair.key, `the key ${quote(name)} is there already, in line ${line}`, place)
      }
      pairs.set(name, pair)
    }
    return pairs
  }

  #nameOf(key: unknown, place: Place | undefined): string {
    if (this.#kinds.isScalar(key) && typeof key.value === 'string') return key.value
    throw this.#error(this.#kinds.isNode(key) ? key : null, 'is a key that is not a string', place)
  }

  #positionOf(node: yaml.Node | null): Position {
    return this.#positionAt(node?.range?.[0] ?? 0)
  }

  #error(node: yaml.Node | null, reason: string, place?: Place): A2AError {
    const places: Place[] = []
    for (let each = place; each !== undefined; each = each.parent) places.unshift(each)
    const key = places.map(({ step }) => step).join('')
    const [, agents, agent] = places
    const id = agents?.step === '.agents' && agent !== undefined ? this.#idOf(agent.node) : undefined
    return configurationError(this.#file, this.#positionOf(node), key, reason, id)
  }

  /** Returns the id of an agent, as far as it can be read. */
  #idOf(node: yaml.Node): string | undefined {
    const agent = this.#kinds.isAlias(node) ? this.#targets.get(node) : node
    if (!this.#kinds.isMap<yaml.ParsedNode, yaml.ParsedNode | null>(agent)) return undefined
    const isId = ({ key }: Items['items'][number]): boolean => this.#kinds.isScalar(key) && key.value === 'id'
    const id = agent.items.find(isId)?.value
    return this.#kinds.isScalar(id) && id.value !== null ? shownId(id.source) : undefined
  }
}

function stepFrom(parent: Place, step: string, node: yaml.Node): Place {
  return { parent, step: step.slice(0, 82), node }
}

const EMPTY = { value: null, source: '' }
