/**
 * Tools whose calls the journal of a run records already: steps cannot contain them.
 *
 * @module
 */
const recording = new WeakSet<object>()

/** Notes that the tool with this function or schema records its calls. Frameworks copy tools, and keep these. */
export function noteRecording(part: object): void {
  recording.add(part)
}

/**
 * Requires that a tool may be called in a step: a question or a delegation in one would wait for itself when the turn continues.
 *
 * @param part - The function of the tool, or its schema.
 * @throws {TypeError} for a tool that records its calls.
 */
export function refuseRecording(name: string, part: unknown): void {
  const isObject = (typeof part === 'object' && part !== null) || typeof part === 'function'
  if (!isObject || !recording.has(part)) return
  throw new TypeError(
    `The tool "${name}" has a "run", and records its calls by itself: leave it out of ai.tools(), and pass it beside what that returns`,
  )
}
