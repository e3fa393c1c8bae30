/** Misspelt keys of an agent in the registry, and of a search for one. */
import { AgentRegistry } from 'a2a-tasks/gateway'
import { describe, expect, test } from 'vitest'
import { thrown } from '../../support/manager.js'

const input = {
  id: 'echo',
  provider: 'a2a',
  capabilities: [{ name: 'echo' }],
  endpoint: { url: 'https://echo.example' },
}

describe('register refuses', () => {
  test.each<[string, object]>([
    ['capability', { capability: 'echo' }],
    ['endpoint.timeout', { endpoint: { ...input.endpoint, timeout: 5 } }],
    ['metadata.tag', { metadata: { tag: 'x' } }],
    ['capabilities[0].schema', { capabilities: [{ name: 'echo', schema: {} }] }],
  ])('%s', (path, misspelt) => {
    const registry = new AgentRegistry()
    const error = thrown(() => registry.register({ ...input, ...misspelt }))
    expect(error).toBeInstanceOf(TypeError)
    expect(String(error)).toContain(`Unknown option "${path}" of AgentRegistry.register`)
    expect(registry.list()).toEqual([])
  })

  test('no keys of settings, schemas and extra metadata, and takes an agent that it has returned', () => {
    const registry = new AgentRegistry()
    const capabilities = [{ name: 'echo', inputSchema: { any: 1 } }]
    const open = { settings: { any: 1 }, metadata: { extra: { any: 1 } }, capabilities }
    const agent = registry.register({ ...input, ...open })
    expect(registry.register(agent)).toMatchObject({ ...input, ...open })
  })
})

test('find refuses a key that it does not know, instead of matching all agents', () => {
  const registry = new AgentRegistry()
  registry.register(input)
  const error = thrown(() => registry.find({ capability: 'poems' } as never))
  expect(error).toEqual(
    new TypeError(
      'Unknown option "capability" of AgentRegistry.find; known are capabilities, tags, provider, status',
    ),
  )
})
