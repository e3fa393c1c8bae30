/**
 * Tools that delegate by their run: steps cannot contain them.
 *
 * @module
 */
const delegating = new WeakSet<object>()

/** Notes that the tool with this function or schema delegates. Frameworks copy tools, and keep these. */
export function noteDelegating(part: object): void {
  delegating.add(part)
}

/**
 * Requires that a tool may be called in a step: a delegation in one would wait for itself when the turn continues.
 *
 * @param part - The function of the tool, or its schema.
 * @throws {TypeError} for a tool that delegates.
 */
export function refuseDelegating(name: string, part: unknown): void {
  const isObject = (typeof part === 'object' && part !== null) || typeof part === 'function'
  if (!isObject || !delegating.has(part)) return
  throw new TypeError(
    `The tool "${name}" has a "run", and delegates by itself: leave it out of ai.tools(), and pass it beside what that returns`,
  )
}
