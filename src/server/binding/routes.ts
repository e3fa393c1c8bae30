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
}

/**
 * Finds routes below the paths of the card's interfaces, and below the ends of these paths, as a framework may have removed
 * the path that the agent is mounted at.
 */
export class Routes {
  readonly #bases: readonly string[]
  readonly #patterns: readonly Pattern[]

  constructor(card: AgentCard, dialects: Dialects) {
    this.#bases = basesOf(card)
    const plain = dialects.flatMap((dialect) => dialect.routes.map((route) => patternOf(dialect, route, '')))
    const tenants = dialects
      .filter(({ hasTenants }) => hasTenants)
      .flatMap((dialect) => dialect.routes.map((route) => patternOf(dialect, route, '/{tenant}')))
    // A tenant may be named `tasks`, so paths without a tenant take precedence.
    this.#patterns = [...plain, ...tenants]
  }

  /** Whether JSON-RPC is served at this path. */
  isRpc(path: string): boolean {
    let end = path.length
    while (path[end - 1] === '/') end -= 1
    return this.#bases.includes(path.slice(0, end))
  }

  /** The routes that match, the best first. They differ in verb or version. */
  match(path: string): RouteMatch[] {
    const rests = this.#bases
      .filter((base) => path.startsWith(`${base}/`))
      .map((base) => path.slice(base.length))
    return this.#patterns.flatMap(({ dialect, route, regExp, names }) =>
      rests.flatMap((rest) => {
        const found = regExp.exec(rest)
        if (found === null) return []
        const params = names.map((name, index) => [name, decode(found[index + 1] ?? '', name)] as const)
        return [{ dialect, route, params: Object.fromEntries(params) }]
      }),
    )
  }
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

/** `/tasks/{id}:cancel` as a regular expression. */
function patternOf(dialect: Dialect, route: Route, prefix: string): Pattern {
  const names: string[] = []
  const source = `${prefix}${route.path}`.replace(/\{(\w+)\}|[.*+?^${}()|[\]\\]/g, (match, name?: string) => {
    if (name === undefined) return `\\${match}`
    names.push(name)
    // A colon starts the verb of a route; in ids it is encoded.
    return '([^/:]+)'
  })
  return { dialect, route, regExp: new RegExp(`^${source}$`), names }
}

/** @throws {A2AError} `INVALID_PARAMS`, of the parameter `name`. */
export function decode(text: string, name: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    throw invalidParams(name, 'is not percent-encoded UTF-8', error)
  }
}
