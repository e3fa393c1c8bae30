/**
 * Draft features of A2A 1.1 that clients opt into.
 *
 * @module
 */
import { readOptions } from '../runtime/options.js'
import { describe } from '../runtime/describe.js'
import { v1_1 } from '../wire/v1/preview.js'
import type { Dialect } from '../wire/dialect.js'
import type { Dialects } from './negotiation.js'

/** Drafts of the protocol to serve. They may change with any release of this library. */
export interface PreviewOptions {
  /** Whether to serve the generations of the A2A 1.1 draft to clients that request 1.1. Default is `false`. */
  readonly generation?: boolean | undefined
}

/**
 * Adds the dialects of drafts after `dialects`.
 *
 * @throws {TypeError} naming the invalid option.
 */
export function withPreview([first, ...others]: Dialects, preview: PreviewOptions = {}): Dialects {
  const { generation = false } = readOptions(
    preview,
    ['generation'],
    'createRequestHandler',
    'preview',
    'an object: { generation: true }',
  )
  if (typeof generation !== 'boolean') {
    throw new TypeError(`"preview.generation" must be a boolean, got ${describe(generation)}`)
  }
  if (!generation) return [first, ...others]
  const draft: Dialect = v1_1()
  const versions = [first, ...others].map(({ version }) => version)
  // The draft has the methods of 1.0; requests that name no version are 1.0.
  if (!versions.includes('1.0') || versions.includes(draft.version)) {
    throw new TypeError('"preview.generation" requires v1() among the "dialects", and adds 1.1 itself')
  }
  return [first, ...others, draft]
}
