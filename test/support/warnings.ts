/**
 * Warnings of the process, which tests assert instead of printing.
 *
 * @module
 */
import { afterEach, expect, onTestFinished } from 'vitest'

// A test may replace the global with a fake timer.
const { setImmediate } = globalThis

let expected: Error[] | undefined
const unexpected: Error[] = []

function record(warning: Error): void {
  // Node's own, of `node:sqlite` and of what the test runner uses; and that of AWS' client, which wants a later Node.
  if (warning.name === 'ExperimentalWarning' || /NodeVersionSupportWarning/.test(warning.message)) return
  const list = expected ?? unexpected
  list.push(warning)
}

/**
 * Expects warnings of this library until the test ends, at least one, and each with this text.
 *
 * @returns The list that they are added to, in the turn after their cause.
 */
export function expectWarnings(text: RegExp): readonly Error[] {
  const warnings: Error[] = (expected = [])
  onTestFinished(() => {
    expected = undefined
    expect(warnings, 'warnings that the test expects').not.toEqual([])
    for (const { name, message } of warnings) {
      expect(name).toBe('A2ATasksWarning')
      expect(message).toMatch(text)
    }
  })
  return warnings
}

/** Fails each test during which the process emits a warning that it does not expect. */
export function refuseWarnings(): void {
  // Node's own listener prints.
  process.removeAllListeners('warning')
  process.on('warning', record)
  afterEach(async () => {
    // A warning is emitted in the turn after its cause.
    await new Promise((resolve) => setImmediate(resolve))
    expect(unexpected.splice(0).map(String), 'warnings that the test does not expect').toEqual([])
  })
}
