/**
 * Query parameters of the HTTP+JSON binding.
 *
 * @module
 */
import type { Route } from './dialect.js'

/** Parameters that are not text, in all operations. */
const TYPES = {
  historyLength: 'integer',
  pageSize: 'integer',
  includeArtifacts: 'boolean',
  // A state may be given by its number in the proto. Its name stays a text.
  status: 'integer',
  history_length: 'integer',
  page_size: 'integer',
  include_artifacts: 'boolean',
} as const

/** Adds the types of query parameters to `routes`. Kept apart because only servers read queries. */
export function withQuery(routes: readonly Route[]): readonly Route[] {
  return routes.map((route) => (route.verb === 'GET' ? { ...route, query: TYPES } : route))
}
