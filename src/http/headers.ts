/**
 * Headers of requests, from objects.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'

type Given = Readonly<Record<string, string>>

/** The headers of a request. Later ones replace earlier ones. */
export function headersOf(all: readonly (Given | undefined)[]): Headers {
  const sent = new Headers()
  for (const headers of all) addHeaders(sent, headers)
  return sent
}

/** Throws without quoting the values, which may be secrets. */
function addHeaders(sent: Headers, headers: Given = {}): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw invalidParams('headers', `has an invalid name or value: ${JSON.stringify(name)}`)
    }
    sent.set(name, value)
  }
}
