import { describe, expect, test } from 'vitest'
import { A2AError } from '../../../src/core/errors.js'
import type { AgentInput } from '../../../src/gateway/registry/agent.js'
import { AgentRegistry, type AgentRegistryOptions } from '../../../src/gateway/registry/registry.js'

const URL = 'https://agent.example.com'
const AGENT = { id: 'a', provider: 'custom', capabilities: ['echo'], endpoint: { url: URL } }

/** What registering `given` is refused with, whatever it is. */
function refusal(given: unknown): unknown {
  const registry = new AgentRegistry()
  try {
    registry.register(given as AgentInput)
  } catch (error) {
    expect(registry.list()).toEqual([])
    return A2AError.is(error) ? { code: error.code, message: error.message, ...error.data } : error
  }
  throw new Error('It was taken')
}

const withAuth = (auth: unknown) => ({ ...AGENT, endpoint: { url: URL, auth } })
const OAUTH = { type: 'oauth2', clientId: 'i', clientSecret: 'hush', tokenUrl: 'https://login.example.com' }

describe('an agent is refused', () => {
  test.each<[string, unknown, string, string?]>([
    ['that is none', null, 'params'],
    ['without an id', { ...AGENT, id: undefined }, 'id', 'id is missing'],
    ['with an empty id', { ...AGENT, id: '' }, 'id', 'Agent ID cannot be empty'],
    ['with a blank id', { ...AGENT, id: ' ' }, 'id', 'Agent ID cannot be empty'],
    [
      'that can do nothing',
      { ...AGENT, capabilities: [] },
      'capabilities',
      'Agent must have at least one capability',
    ],
    ['with a nameless capability', { ...AGENT, capabilities: ['x', ''] }, 'capabilities[1].name'],
    ['with a capability that is a number', { ...AGENT, capabilities: [1] }, 'capabilities[0]'],
    [
      'with a schema that is none',
      { ...AGENT, capabilities: [{ name: 'x', inputSchema: [] }] },
      'capabilities[0].inputSchema',
    ],
    ['without a provider', { ...AGENT, provider: '' }, 'provider'],
    ['without an endpoint', { ...AGENT, endpoint: undefined }, 'endpoint', 'endpoint is missing'],
    [
      'with no URL',
      { ...AGENT, endpoint: { url: 'agent' } },
      'endpoint.url',
      'endpoint.url is not an http or https URL: is http:// missing?',
    ],
    [
      'with a URL of something else',
      { ...AGENT, endpoint: { url: 'file:///etc/passwd' } },
      'endpoint.url',
      'endpoint.url is not an http or https URL: is http:// missing?',
    ],
    [
      'with credentials in its URL',
      { ...AGENT, endpoint: { url: 'https://user:hush@example.com' } },
      'endpoint.url',
      'endpoint.url holds credentials: use auth',
    ],
    ['with blanks around its URL', { ...AGENT, endpoint: { url: ` ${URL}` } }, 'endpoint.url'],
    ['that may not take any time', { ...AGENT, endpoint: { url: URL, timeoutMs: 0 } }, 'endpoint.timeoutMs'],
    ['that takes no task', { ...AGENT, maxConcurrentTasks: 0 }, 'maxConcurrentTasks'],
    ['with another status', { ...AGENT, status: 'fine' }, 'status'],
    ['with settings that are no object', { ...AGENT, settings: [] }, 'settings'],
    ['with settings that are no JSON', { ...AGENT, settings: { a: [() => 1] } }, 'settings.a[0]'],
    ['with tags that are no texts', { ...AGENT, metadata: { tags: [1] } }, 'metadata.tags[0]'],
    ['with a date beside it', { ...AGENT, metadata: { extra: { on: new Date(0) } } }, 'metadata.extra.on'],
    ['with unknown credentials', withAuth({ type: 'basic' }), 'endpoint.auth.type'],
    ['with credentials of no type', withAuth('hush'), 'endpoint.auth'],
    ['with an empty token', withAuth({ type: 'bearer', token: '' }), 'endpoint.auth.token'],
    ['with a token of two lines', withAuth({ type: 'bearer', token: 'hush\nx' }), 'endpoint.auth.token'],
    [
      'with a key in no header',
      withAuth({ type: 'api_key', header: 'a b', key: 'hush' }),
      'endpoint.auth.header',
    ],
    [
      'with a key of two lines',
      withAuth({ type: 'api_key', header: 'a', key: 'hush\nx' }),
      'endpoint.auth.key',
    ],
    ['without a secret', withAuth({ ...OAUTH, clientSecret: undefined }), 'endpoint.auth.clientSecret'],
    ['with no URL of tokens', withAuth({ ...OAUTH, tokenUrl: 'login' }), 'endpoint.auth.tokenUrl'],
  ])('%s', (_, given, path, message) => {
    const error = refusal(given)
    expect(error).toMatchObject({ code: 'INVALID_PARAMS', path, ...(message !== undefined && { message }) })
    expect(JSON.stringify(error)).not.toContain('hush')
  })

  test('that is larger than the limit', () => {
    const settings = { text: 'x'.repeat(600_000) }
    expect(refusal({ ...AGENT, settings, metadata: { extra: settings } })).toMatchObject({
      code: 'LIMIT_EXCEEDED',
      max: 1_048_576,
    })
  })
})

describe('a registry is refused', () => {
  test.each<[AgentRegistryOptions, string]>([
    [{ healthTimeoutMs: 0 }, '"healthTimeoutMs" must be a positive integer, got 0'],
    // As an untyped caller may pass it.
    [{ onDuplicate: 'ignore' as 'reject' }, '"onDuplicate" must be \'replace\' or \'reject\', got "ignore"'],
    [{ onDuplicates: 'reject' } as AgentRegistryOptions, 'Unknown option "onDuplicates" of AgentRegistry'],
  ])('with %j', (options, message) => {
    expect(() => new AgentRegistry(options)).toThrow(message)
  })
})
