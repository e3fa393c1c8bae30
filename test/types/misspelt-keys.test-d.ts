import { TaskManager, type PartInput } from 'a2a-tasks'
import { buildAgentCard, type AgentCardInput } from 'a2a-tasks/agent-card'
import type { A2AClient } from 'a2a-tasks/client'
import { createRequestHandler, type Run } from 'a2a-tasks/server'
import { expectTypeOf, test } from 'vitest'

const name = 'Echo'
const url = 'https://echo.example'
const execute = (): string => 'x'

test('a card names where the agent is reached', () => {
  expectTypeOf<{ name: string; url: string }>().toExtend<AgentCardInput>()
  expectTypeOf<{ name: string; supportedInterfaces: [] }>().toExtend<AgentCardInput>()
  // @ts-expect-error: no address
  createRequestHandler({ card: { name }, execute })
  // @ts-expect-error: no address
  buildAgentCard({ name })
})

test('a card has no misspelt keys', () => {
  // @ts-expect-error: the key is pushNotifications
  createRequestHandler({ card: { name, url, capabilities: { pushNotification: true } }, execute })
  const skill = { id: 's', name, description: '' }
  // @ts-expect-error: the key is tags
  createRequestHandler({ card: { name, url, skills: [{ ...skill, tag: [] }] }, execute })
  const key = { apiKeySecurityScheme: { in: 'header', name: 'key' } } as const
  // @ts-expect-error: the key is location
  buildAgentCard({ name, url, securitySchemes: { key } })
})

test('a part has one content, and no misspelt keys', () => {
  expectTypeOf<{ text: string; metadata: { any: number } }>().toExtend<PartInput>()
  expectTypeOf<{ data: unknown }>().toExtend<PartInput>()
  expectTypeOf<{ txt: string }>().not.toExtend<PartInput>()
  expectTypeOf<{ text: string; url: string }>().not.toExtend<PartInput>()
  const tasks = new TaskManager()
  // @ts-expect-error: the key is text
  tasks.addMessage('id', { role: 'user', parts: [{ txt: 'x' }] })
  // @ts-expect-error: the key is mediaType
  tasks.appendArtifact('id', { parts: [{ text: 'x', mediatype: 'text/plain' }] })
  const use = (run: Run, client: A2AClient): void => {
    // @ts-expect-error: the key is text
    run.artifact({ parts: [{ txt: 'x' }] })
    // @ts-expect-error: the key is text
    run.complete({ parts: [{ txt: 'x' }] })
    // @ts-expect-error: the key is text
    void client.run({ parts: [{ txt: 'x' }] })
  }
  expectTypeOf(use).toBeFunction()
})
