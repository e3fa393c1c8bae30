import { expect, test } from 'vitest'
import type { JournalEntry, TaskEvent } from '../../../src/core/events.js'
import { writtenIn } from '../../../src/core/history/undone-artifacts.js'
import { cpuMs } from '../../support/cpu-time.js'

const ID = 'a'

type Change =
  | { readonly text: string; readonly append?: boolean; readonly restored?: boolean }
  | { readonly entry: JournalEntry }

/** The log of a task whose turn makes these changes. */
function logOf(changes: readonly Change[]): readonly TaskEvent[] {
  const begin = { type: 'message', message: { messageId: 'm', role: 'user', parts: [] } } as const
  const events = changes.map((change) => {
    if ('entry' in change) return { type: 'journal', ...change } as const
    const { text, append = true, restored } = change
    const artifact = { artifactId: ID, parts: [{ text }] }
    return { type: 'artifact', artifact, append, lastChunk: false, restored } as const
  })
  return [begin, ...events].map((event, index) => ({
    ...event,
    ...{ taskId: 't', generation: index + 1, timestamp: '2026-01-01T00:00:00.000Z' },
  }))
}

function leftOf(changes: readonly Change[]): unknown {
  const events = logOf(changes)
  return writtenIn(
    { events, restored: undefined },
    events.filter((event) => event.type === 'journal'),
  ).stale.get(ID)
}

const begun: readonly Change[] = [
  { text: 'éx', append: false },
  { text: '\ud83d\ude00' },
  { entry: { kind: 'turn', messageId: 'm' } },
  { entry: { kind: 'step', name: 's', attempts: 1 } },
]

/** Chunks of an attempt that died, and the next attempt, which has set the artifact back and died too. */
function died(chunks: number): readonly Change[] {
  return [
    ...begun,
    ...Array.from({ length: chunks }, () => ({ text: 'tok ' })),
    { text: 'éx\ud83d\ude00', append: false, restored: true },
    { text: 'tok ' },
  ]
}

test('an artifact that an attempt has set back is what it was before', () => {
  expect(leftOf(died(3))).toEqual({ artifactId: ID, parts: [{ text: 'éx\ud83d\ude00' }] })
})

test('the time to read a log is in proportion to the chunks that were undone', async () => {
  await cpuMs(() => leftOf(died(1_000)))
  const short = await cpuMs(() => leftOf(died(2_000)))
  expect(await cpuMs(() => leftOf(died(20_000)))).toBeLessThan(40 * Math.max(short, 5))
})
