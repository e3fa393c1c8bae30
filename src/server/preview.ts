/**
 * What no version of the protocol has yet.
 *
 * @module
 */
import { readOptions } from '../runtime/options.js'
import { describe } from '../runtime/describe.js'
import { v1_1 } from '../wire/v1/preview.js'
import type { Dialect } from '../wire/dialect.js'
import type { Dialects } from './negotiation.js'

/** Drafts of the protocol. They may change with any release of this library. */
export interface PreviewOptions {
  /** Speak A2A 1.1, as far as its draft is about generations, with those who ask for it. Default is `false`. */
  readonly generation?: boolean | undefined
}

/**
 * `dialects`, and after them those of the drafts that are wanted.
 *
 * @throws {TypeError} naming the option that makes no sense.
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
  // It has the methods of 1.0: whoever names no version means that one.
  if (!versions.includes('1.0') || versions.includes(draft.version)) {
    throw new TypeError('"preview.generation" requires v1() among the "dialects", and adds 1.1 itself')
  }
  return [first, ...others, draft]
}
