/**
 * What an executor returns, where it is more than a text.
 *
 * @module
 */
import { describe } from '../../runtime/describe.js'
import type { Run } from './run.js'

/**
 * Adds texts as they come to one artifact.
 *
 * @throws {TypeError} when they are no texts; what the iterable throws, and what the run throws when its task has ended:
 *   the iterable is left then.
 */
export async function streamTexts(
  run: Pick<Run, 'artifact'>,
  texts: unknown,
  artifactId: string,
): Promise<void> {
  if (typeof texts !== 'object' || texts === null || !(Symbol.asyncIterator in texts)) {
    throw new TypeError(
      `execute() must return a string, an async iterable of strings, or nothing, got ${describe(texts)}`,
    )
  }
  for await (const text of withResult(texts as AsyncIterable<unknown, unknown>)) {
    if (typeof text !== 'string') throw new TypeError(`execute() must yield strings, got ${describe(text)}`)
    run.artifact({ artifactId, parts: [{ text }] })
  }
}

/** A generator may return its last text instead of yielding it. */
export async function* withResult(
  texts: AsyncIterable<unknown, unknown>,
): AsyncGenerator<unknown, undefined> {
  const iterator = texts[Symbol.asyncIterator]()
  let isOver = false
  try {
    while (!isOver) {
      // One that throws is over.
      isOver = true
      const result = await iterator.next()
      isOver = result.done ?? false
      if (!isOver || result.value !== undefined) yield result.value
    }
  } finally {
    if (!isOver) await iterator.return?.()
  }
}
