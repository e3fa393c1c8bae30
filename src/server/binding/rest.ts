/**
 * Parameters of requests in the HTTP+JSON binding.
 *
 * @module
 */
import { A2AError, invalidParams } from '../../core/errors.js'
import type { Route } from '../../wire/dialect.js'
import { protoNameOf } from '../../wire/proto-json.js'

/** The parameters of a request. Those in the path override those in the body or the query. */
export function paramsOf(
  route: Route,
  query: URLSearchParams,
  body: unknown,
  path: Readonly<Record<string, string>>,
  header: (name: string) => string | null = () => null,
): Record<string, unknown> {
  if (route.verb !== 'POST') return withPath(queryParams(route, query), path)
  if (body !== undefined && body !== null && (typeof body !== 'object' || Array.isArray(body))) {
    throw invalidParams('body', 'must be a JSON object')
  }
  return withPath({ ...body, ...headerParams(route, header) }, path)
}

function headerParams({ headers = {} }: Route, header: (name: string) => string | null): object {
  const known = Object.entries(headers).map(([name, param]) => [param, header(name)] as const)
  return Object.fromEntries(known.filter(([, value]) => value))
}

/** A parameter in the path overrides one in the body by either of its names. */
function withPath(params: object, path: Readonly<Record<string, string>>): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...params, ...path }
  for (const name in path) {
    const protoName = protoNameOf(name)
    if (protoName !== name) Reflect.deleteProperty(merged, protoName)
  }
  return merged
}

/** Converts the query to the types of the route. Invalid values stay strings, which the schema refuses. */
function queryParams({ query: types = {} }: Route, query: URLSearchParams): Record<string, unknown> {
  const params: Record<string, unknown> = {}
  for (const [name, text] of query) {
    if (name.toLowerCase() === 'a2a-version' || text === '') continue
    if (types[name] === 'integer' && /^-?\d{1,15}$/.test(text)) params[name] = Number(text)
    else if (types[name] === 'boolean' && /^(true|false)$/.test(text)) params[name] = text === 'true'
    else
      Object.defineProperty(params, name, {
        value: text,
        enumerable: true,
        configurable: true,
        writable: true,
      })
  }
  return params
}

export function noRoute(method: string, path: string, allowed: readonly string[], hint: string): A2AError {
  const shown = `${method} ${path.slice(0, 100)}`
  const advice = allowed.length === 0 ? '' : `: use ${allowed.join(' or ')}`
  return new A2AError('METHOD_NOT_FOUND', `Nothing is served at ${shown}${advice}${hint}`, { method: shown })
}
