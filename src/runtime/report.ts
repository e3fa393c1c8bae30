/**
 * Reports to the process of errors that no caller can catch.
 *
 * @module
 */

/** The operation during which an error occurred. */
export interface ErrorSource {
  readonly during: string
  readonly taskId?: string | undefined
  readonly agentId?: string | undefined
}

interface Platform {
  readonly process?: {
    readonly emitWarning?: (warning: string, options: { type: string; detail: string }) => void
  }
}

/** Reports an error, with its chain of causes, as a warning of the process. */
export function reportError(
  error: unknown,
  { during, taskId, agentId }: ErrorSource,
  advice = 'Pass "onError" to handle it',
): void {
  const task = taskId === undefined ? '' : `, task ${taskId}`
  const agent = agentId === undefined ? '' : `, agent ${agentId}`
  const errors = withCauses(error)
  emitWarning(
    `${during}${task}${agent}: ${errors.map(textOf).join(', caused by: ')}. ${advice}`,
    errors.map((each) => (each instanceof Error ? each.stack : textOf(each))).join('\ncaused by: '),
  )
}

/** Emits a process warning on Node, Bun and Deno: visible in development, never fatal. Does nothing elsewhere. */
export function emitWarning(text: string, detail: string): void {
  const { process } = globalThis as Platform
  process?.emitWarning?.(text, { type: 'A2ATasksWarning', detail })
}

/** The error and its chain of causes. A cycle ends the list. */
function withCauses(error: unknown): unknown[] {
  const errors = [error]
  for (;;) {
    const last = errors.at(-1)
    const cause = last instanceof Error ? last.cause : undefined
    if (cause === undefined || errors.includes(cause)) return errors
    errors.push(cause)
  }
}

/** `String()` throws for some values, such as objects without a prototype. */
function textOf(error: unknown): string {
  try {
    return String(error)
  } catch {
    return 'an error that has no text'
  }
}
