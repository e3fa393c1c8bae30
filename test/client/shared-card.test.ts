/** The card of a client: read once, frozen, and shared with the clients that are made of it. */
import { AgentCard } from 'a2a-tasks/agent-card'
import { A2AClient } from 'a2a-tasks/client'
import { fakeAgent } from 'a2a-tasks/testing'
import { expect, test } from 'vitest'

const agent = fakeAgent('Hi', { card: { name: 'Shared' } })

test('clients that are made of the card of another one share it', () => {
  const { card } = new A2AClient({ card: agent.card })
  expect(card).toBeInstanceOf(AgentCard)
  expect(() => Object.assign(card.skills[0] ?? {}, { name: 'Other' })).toThrow(TypeError)
  expect(new A2AClient({ card }).card).toBe(card)
})

test('a card that may change is copied', () => {
  const given = structuredClone({ ...agent.card })
  const client = new A2AClient({ card: given })
  given.name = 'Other'
  expect(client.card.name).toBe('Shared')
  expect(client.card).toBe(client.card)
})

test('a card without an interface is refused, also one that was read', () => {
  const card = new AgentCard({ name: 'Nowhere' })
  expect(() => new A2AClient({ card })).toThrow('card.supportedInterfaces')
})
