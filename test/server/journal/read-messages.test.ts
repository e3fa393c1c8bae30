/** The messages of the user that a turn has read before it continued as another one. */
import type { JournalEntry, Message } from 'a2a-tasks'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { continuedEntry, readBy } from '../../../src/server/journal/continuation.js'

type TurnEntry = Extract<JournalEntry, { kind: 'turn' }>

const conversationOf = (ids: readonly string[]): { readonly messages: Message[] } => ({
  messages: ids.flatMap((messageId): Message[] => [
    { role: 'user', messageId, parts: [{ text: messageId }] },
    { role: 'agent', messageId: `answer to ${messageId}`, parts: [{ text: 'yes' }] },
  ]),
})
const NEXT = { parts: [{ text: 'next' }] }
const IDS = ['before', 'begun', 'a', 'b', 'c', 'd', 'e'] as const
const SENT = IDS.slice(2)

test('are the same in each round, with and without gaps', () => {
  const rounds = fc.array(fc.subarray(SENT), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(rounds, (answers) => {
      const task = conversationOf(IDS)
      const read = new Set<string>(['begun'])
      let turn: TurnEntry = { kind: 'turn', messageId: 'begun' }
      for (const round of answers) {
        for (const id of round) read.add(id)
        turn = continuedEntry(turn, task, NEXT, round)
        expect(new Set(readBy(turn, task))).toEqual(read)
      }
    }),
  )
})

test('take no room if they were read in order, and the others do', () => {
  const task = conversationOf(IDS)
  const begun: TurnEntry = { kind: 'turn', messageId: 'begun' }
  const inOrder = continuedEntry(begun, task, NEXT, ['a', 'b'])
  expect(inOrder.continued).toMatchObject({ readTo: 'b', read: [] })
  const withGap = continuedEntry(inOrder, task, NEXT, ['d'])
  expect(withGap.continued).toMatchObject({ round: 2, readTo: 'b', read: ['d'] })
  expect(continuedEntry(withGap, task, NEXT, ['c']).continued).toMatchObject({ readTo: 'd', read: [] })
})

test('are read from a history that lists all of them', () => {
  const task = conversationOf(IDS)
  const message = { ...NEXT, messageId: 'next' }
  const listed: TurnEntry = {
    kind: 'turn',
    messageId: 'begun',
    continued: { round: 3, message, read: ['a', 'b', 'd'] },
  }
  expect(readBy(listed, task)).toEqual(['begun', 'a', 'b', 'd'])
  const next = continuedEntry(listed, task, NEXT, ['c'])
  expect(next.continued).toMatchObject({ round: 4, readTo: 'd', read: [] })
  expect(readBy(next, task)).toEqual(['begun', 'begun', 'a', 'b', 'c', 'd'])
})
