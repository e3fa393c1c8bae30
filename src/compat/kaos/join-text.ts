/**
 * The answer of a processing function as one text.
 *
 * @module
 */
import { describe } from '../../runtime/describe.js'
import { outputsOf } from '../../server/run/output.js'

/**
 * Joins the result of a processing function to one text.
 *
 * @param signal - Stops reading when it aborts.
 * @param onText - Called with the text, or with each chunk of it.
 * @param refuse - Called at once with the error of a chunk that is not a text, because closing the iterable may take long.
 * @throws {TypeError} As a rejection, when `outcome` is neither a text nor an async iterable; what the iterable throws; the
 *   signal's reason.
 */
export async function joinText(
  outcome: unknown,
  signal: AbortSignal,
  refuse: (error: TypeError) => void,
  onText: (text: string) => void,
): Promise<string> {
  if (typeof outcome === 'string') {
    onText(outcome)
    return outcome
  }
  if (typeof outcome !== 'object' || outcome === null || !(Symbol.asyncIterator in outcome)) {
    throw new TypeError(
      `processFn() must return a string or an async iterable of strings, got ${describe(outcome)}`,
    )
  }
  const chunks: string[] = []
  // The loop checks each element.
  for await (const chunk of outputsOf(outcome as AsyncIterable<unknown, unknown>)) {
    signal.throwIfAborted()
    if (typeof chunk !== 'string') {
      refuse(new TypeError(`processFn() must yield strings, got ${describe(chunk)}`))
      return ''
    }
    chunks.push(chunk)
    onText(chunk)
  }
  return chunks.join('')
}
