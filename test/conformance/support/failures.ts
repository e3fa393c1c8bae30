import type { Report } from '../../../src/conformance/suite.js'

/** What both servers of the tests offer. */
export const INTERFACES = ['JSONRPC 1.0', 'HTTP+JSON 1.0', 'JSONRPC 0.3', 'HTTP+JSON 0.3']

export function failuresOf({ results }: Report): unknown[] {
  return results
    .filter(({ outcome }) => outcome === 'failed')
    .map(({ target, check, sent, expected, got }) => ({ target, check, sent, expected, got }))
}
