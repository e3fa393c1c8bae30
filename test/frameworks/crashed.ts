/**
 * Agents whose processes die.
 *
 * @module
 */
import type { Execute } from 'a2a-tasks/server'
import { testDurable, type DurableReport } from 'a2a-tasks/testing'
import { expect } from 'vitest'

/** What comes of a conversation whose process dies before and after each write, and after each entry of the journal. */
export async function crashed(execute: Execute, messages: [string, ...string[]]): Promise<DurableReport> {
  const report = await testDurable(execute, { messages })
  expect(report.crashPoints).toBeGreaterThan(10)
  return report
}
