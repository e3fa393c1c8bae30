/**
 * What a processing function returns, as one text.
 *
 * @module
 */
import { describe } from '../../runtime/describe.js'
import { withResult } from '../runs/finish-run.js'

/**
 * @param signal - Leaves the chunks where they are when it aborts.
 * @param refuse - Is told at once of a chunk that is no text: the rest is nothing then, and to leave it may take its time.
 * @throws {TypeError} when it is neither a text nor an async iterable; what the iterable throws; the signal's reason.
 */
export async function joinText(
  outcome: unknown,
  signal: AbortSignal,
  refuse: (error: TypeError) => void,
): Promise<string> {
  if (typeof outcome === 'string') return outcome
  if (typeof outcome !== 'object' || outcome === null || !(Symbol.asyncIterator in outcome)) {
    throw new TypeError(
      `processFn() must return a string or an async iterable of strings, got ${describe(outcome)}`,
    )
  }
  const chunks: string[] = []
  // What it yields is checked one by one.
  for await (const chunk of withResult(outcome as AsyncIterable<unknown, unknown>)) {
    signal.throwIfAborted()
    if (typeof chunk !== 'string') {
      refuse(new TypeError(`processFn() must yield strings, got ${describe(chunk)}`))
      return ''
    }
    chunks.push(chunk)
  }
  return chunks.join('')
}
