/**
 * Matching of paths to the agent's endpoints.
 *
 * @module
 */
import { invalidParams } from '../../core/errors.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import type { Dialect, Route } from '../../wire/dialect.js'
import type { Dialects } from '../negotiation.js'
import { parseUrl } from '../../runtime/url.js'

/** A route that a path matches. */
export interface RouteMatch {
  readonly dialect: Dialect
  readonly route: Route
  /** The variables in the path, and the tenant. */
  readonly params: Readonly<Record<string, string>>
}

interface Pattern {
  readonly dialect: Dialect
  readonly route: Route
  readonly regExp: RegExp
  readonly names: readonly string[]
  readonly hasTenant: boolean
}

/**
 * Finds routes below the paths of the card's interfaces, and below the ends of these paths, as a framework may have removed
 * the path that the agent is mounted at.
 */
export class Routes {
  readonly #bases: readonly string[]
  readonly #dialects: Dialects
  #known: readonly Pattern[] | undefined

  constructor(card: AgentCard, dialects: Dialects) {
    this.#bases = basesOf(card)
    this.#dialects = dialects
  }

  /** Made for the first request that needs them: JSON-RPC does not. */
  get #patterns(): readonly Pattern[] {
    return (this.#known ??= patternsOf(this.#dialects))
  }

  /** Whether JSON-RPC is served at this path. */
  isRpc(path: string): boolean {
    let end = path.length
    while (path[end - 1] === '/') end -= 1
    return this.#bases.includes(path.slice(0, end))
  }

  /**
   * The routes that match, the best first. They differ in verb or version. A proxy may have replaced the path of the card, so
   * below other paths the end of the path decides; a tenant has no place there.
   */
  match(path: string): RouteMatch[] {
    const rests = this.#bases
      .filter((base) => path.startsWith(`${base}/`))
      .map((base) => path.slice(base.length))
    const matches = this.#patterns.flatMap((pattern) => rests.flatMap((rest) => matchOf(pattern, rest)))
    if (matches.length > 0) return matches
    const ends = endsOf(path)
    return this.#patterns
      .filter(({ hasTenant }) => !hasTenant)
      .flatMap((pattern) => ends.flatMap((end) => matchOf(pattern, end)))
  }
}

function patternsOf(dialects: Dialects): Pattern[] {
  const plain = dialects.flatMap((dialect) => dialect.routes.map((route) => patternOf(dialect, route, false)))
  const tenants = dialects
    .filter(({ hasTenants }) => hasTenants)
    .flatMap((dialect) => dialect.routes.map((route) => patternOf(dialect, route, true)))
  // A tenant may be named `tasks`, so paths without a tenant take precedence.
  return [...plain, ...tenants]
}

/** For `/a/b`: `/a/b`, `/b` and the empty path, the longest first. */
function basesOf({ supportedInterfaces }: AgentCard): string[] {
  const bases = new Set([''])
  for (const { url } of supportedInterfaces) {
    const segments = pathOf(url).split('/').filter(Boolean)
    for (let first = 0; first < segments.length; first += 1) bases.add(`/${segments.slice(first).join('/')}`)
  }
  return [...bases].sort((a, b) => b.length - a.length)
}

function pathOf(url: string): string {
  return parseUrl(url)?.pathname ?? ''
}

function matchOf({ dialect, route, regExp, names }: Pattern, rest: string): RouteMatch[] {
  const found = regExp.exec(rest)
  if (found === null) return []
  const params = names.map((name, index) => [name, decode(found[index + 1] ?? '', name)] as const)
  return [{ dialect, route, params: Object.fromEntries(params) }]
}

/** The most segments that a route has. */
const MAX_SEGMENTS = 6

/** For `/a/b`: `/a/b` and `/b`, as far as a route may have them. */
function endsOf(path: string): string[] {
  const segments = path.split('/').slice(-MAX_SEGMENTS)
  return segments.map((_, index) => `/${segments.slice(index).join('/')}`)
}

/** The path, with the characters decoded that need no encoding (RFC 3986 §6.2.2.2). What stays encoded is decoded in ids. */
export function normalPath(path: string): string {
  return path.replace(/%([2-7][0-9a-f])/gi, (encoded, digits: string) => {
    const character = String.fromCharCode(parseInt(digits, 16))
    return /[\w.~-]/.test(character) ? character : encoded
  })
}

/** `/tasks/{id}:cancel` as a regular expression. */
function patternOf(dialect: Dialect, route: Route, hasTenant: boolean): Pattern {
  const names: string[] = []
  const path = `${hasTenant ? '/{tenant}' : ''}${route.path}`
  const source = path.replace(/\{(\w+)\}|[:.*+?^${}()|[\]\\]/g, (match, name?: string) => {
    // Some clients and proxies encode the colon of a verb.
    if (match === ':') return '(?::|%3[Aa])'
    if (name === undefined) return `\\${match}`
    names.push(name)
    // In ids a colon is encoded.
    return '([^/:]+)'
  })
  return { dialect, route, regExp: new RegExp(`^${source}$`), names, hasTenant }
}

/** @throws {A2AError} `INVALID_PARAMS`, of the parameter `name`. */
export function decode(text: string, name: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    throw invalidParams(name, 'is not percent-encoded UTF-8', error)
  }
}
