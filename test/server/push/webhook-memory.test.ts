/** The share of the heap that webhooks may take. */
import { expect, test } from 'vitest'
import { WebhookMemory } from '../../../src/server/push/webhook-memory.js'

const LARGE = { url: `https://hook.example/${'u'.repeat(10_000)}` }
const SMALL = { url: 'https://hook.example/' }

test('large configurations leave half of the room to small ones', () => {
  const memory = new WebhookMemory({}, 100_000)
  let count = 0
  for (; memory.hasRoom(LARGE); count += 1) memory.add(LARGE)
  expect(count).toBe(3)
  expect(() => memory.requireRoom(LARGE)).toThrow('The agent keeps too many webhooks; try again later')
  for (count = 0; memory.hasRoom(SMALL); count += 1) memory.add(SMALL)
  expect(count).toBeGreaterThan(10)
  expect(() => memory.requireRoom(SMALL)).toThrow('keeps too many webhooks')
  memory.remove(SMALL)
  memory.requireRoom(SMALL)
})

test('documents in memory take room too', () => {
  const documents = { cost: 0 }
  const memory = new WebhookMemory(documents, 100_000)
  memory.requireRoom(SMALL)
  documents.cost = 99_000
  expect(() => memory.requireRoom(SMALL)).toThrow('keeps too many webhooks')
})
