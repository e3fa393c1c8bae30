/**
 * Query parameters of the HTTP+JSON binding.
 *
 * @module
 */
import type { Route } from './dialect.js'

/** What is not text, whatever the operation. */
const TYPES = { historyLength: 'integer', pageSize: 'integer', includeArtifacts: 'boolean' } as const

/** `routes` with the types of what a query may hold: only who reads one needs them. */
export function withQuery(routes: readonly Route[]): readonly Route[] {
  return routes.map((route) => (route.verb === 'GET' ? { ...route, query: TYPES } : route))
}
