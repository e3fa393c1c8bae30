import { afterEach, describe, expect, test, vi } from 'vitest'
import { A2AError } from 'a2a-tasks'
import {
  buildAgentCard,
  parseAgentCard,
  toHybridCard,
  toV03Card,
  urlFromEnvironment,
} from 'a2a-tasks/agent-card'
import { thrown } from '../support/manager.js'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
})

function pathOf(run: () => unknown): string | undefined {
  const error = thrown(run)
  return A2AError.is(error, 'INVALID_PARAMS') ? error.data.path : undefined
}

describe('urlFromEnvironment', () => {
  test.each([
    [{}, 'http://127.0.0.1:3000'],
    [{ PORT: '8080' }, 'http://127.0.0.1:8080'],
    [{ BIND_HOST: '0.0.0.0', PORT: '1' }, 'http://0.0.0.0:1'],
    [{ BIND_HOST: 'agent.example', PORT: '65535' }, 'http://agent.example:65535'],
    [{ BIND_HOST: '::1' }, 'http://[::1]:3000'],
    [{ BIND_HOST: '[fd00::1]' }, 'http://[fd00::1]:3000'],
    [{ BIND_HOST: '', PORT: '' }, 'http://127.0.0.1:3000'],
  ])('%j is %s', (variables: Record<string, string>, url) => {
    for (const name of ['PORT', 'BIND_HOST']) vi.stubEnv(name, variables[name])
    expect(urlFromEnvironment()).toBe(url)
  })

  test.each(['0', '65536', '-1', '80.5', 'http', '1e3', '123456', ' 80'])('refuses the port %j', (port) => {
    vi.stubEnv('PORT', port)
    expect(thrown(urlFromEnvironment)).toMatchObject({ data: { path: 'PORT' } })
    expect(String(thrown(urlFromEnvironment))).toContain(`from 1 to 65535, got ${port}`)
  })

  test.each(['a/b', 'a@b', 'a b', 'a:80/x'])('refuses the host %j', (host) => {
    vi.stubEnv('BIND_HOST', host)
    expect(pathOf(urlFromEnvironment)).toBe('BIND_HOST')
  })

  test('takes an environment that may not be read for none, and Deno has one of its own', () => {
    const denied = {
      get env(): never {
        throw new Error('Requires env access')
      },
    }
    vi.stubGlobal('process', denied)
    expect(urlFromEnvironment()).toBe('http://127.0.0.1:3000')
    vi.stubGlobal('process', undefined)
    expect(urlFromEnvironment()).toBe('http://127.0.0.1:3000')
    vi.stubGlobal('Deno', { env: { get: (name: string) => (name === 'PORT' ? '9' : undefined) } })
    expect(urlFromEnvironment()).toBe('http://127.0.0.1:9')
  })

  test('is read when a card is made, and only where it is asked for', () => {
    vi.stubEnv('PORT', 'nonsense')
    expect(buildAgentCard({ name: 'A', url: 'https://a.example' }).supportedInterfaces[0]?.url).toBe(
      'https://a.example',
    )
    expect(pathOf(() => buildAgentCard({ name: 'A' } as never))).toBe('card.url')
    expect(pathOf(() => buildAgentCard({ name: 'A', url: urlFromEnvironment() }))).toBe('PORT')
    vi.stubEnv('PORT', '81')
    const card = buildAgentCard({ name: 'A', url: urlFromEnvironment() })
    expect(card.supportedInterfaces[0]?.url).toBe('http://127.0.0.1:81')
  })
})

describe('buildAgentCard', () => {
  test('removes slashes at the end of a URL, so that paths can follow', () => {
    for (const url of ['https://a.example', 'https://a.example/', 'https://a.example//']) {
      const { supportedInterfaces } = buildAgentCard({ name: 'A', url })
      expect(new Set(supportedInterfaces.map((each) => each.url))).toEqual(new Set(['https://a.example']))
    }
    const { supportedInterfaces } = buildAgentCard({ name: 'A', url: 'https://a.example/agents/1/' })
    expect(supportedInterfaces[0]?.url).toBe('https://a.example/agents/1')
  })

  test.each([
    ['card.name', { name: undefined }],
    ['card.url', { url: 'a.example' }],
    ['card.nmae', { nmae: 'A' }],
    ['card.nmae', { nmae: undefined }],
    [
      'card.skills[0].exmaples',
      { skills: [{ id: 's', name: 'S', description: '', tags: ['s'], exmaples: undefined }] },
    ],
    ['card.version', { version: 1 }],
    ['card.skills[0].id', { skills: [{ name: 'S', description: '', tags: ['s'] }] }],
    ['card.skills[0].tags', { skills: [{ id: 's', name: 'S', description: '', tags: [] }] }],
    ['card.defaultInputModes', { defaultInputModes: [] }],
    [
      'card.supportedInterfaces[0].protocolVersion',
      { supportedInterfaces: [{ url: 'x', protocolBinding: 'y' }] },
    ],
  ])('names %s as the invalid option', (path, fault) => {
    expect(pathOf(() => buildAgentCard({ name: 'A', url: 'https://a.example', ...fault } as never))).toBe(
      path,
    )
  })
})

describe('toHybridCard', () => {
  const card = buildAgentCard({
    name: 'A',
    url: 'https://a.example',
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'bearer' } } },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
  })

  test('is the card of 1.0 for clients of 1.0, and the card of 0.3 for all others', () => {
    const hybrid = toHybridCard(card)
    expect(hybrid).toMatchObject(card)
    expect(hybrid).toMatchObject(toV03Card(card))
    expect(parseAgentCard(hybrid)).toEqual(card)
    expect(parseAgentCard(toV03Card(card)).securitySchemes).toEqual(card.securitySchemes)
  })

  test('uses the value of the first encoder where two differ', () => {
    const one = { encodeCard: () => ({ name: 'one', deep: { a: 1 }, list: [1, 2], same: [{ a: 1 }] }) }
    const two = {
      encodeCard: () => ({ name: 'two', deep: { a: 2, b: 2 }, list: [3], same: [{ b: 2 }], own: null }),
    }
    const merged = { deep: { a: 1, b: 2 }, list: [1, 2], same: [{ a: 1, b: 2 }], own: null }
    expect(toHybridCard(card, [one, two])).toEqual({ ...merged, name: 'one' })
    expect(toHybridCard(card, [two, one])).toMatchObject({ name: 'two', list: [3], deep: { a: 2 } })
    expect(toHybridCard(card, [one])).toEqual(one.encodeCard())
  })
})

test('fields that are undefined are absent', () => {
  const bare = { name: 'A', url: 'https://a.example' }
  const fields = Object.keys(buildAgentCard(bare)).filter((field) => !(field in bare))
  const optional = ['provider', 'documentationUrl', 'iconUrl', 'securitySchemes', 'protocolVersions']
  const empty = Object.fromEntries([...fields, ...optional].map((field) => [field, undefined]))
  expect(buildAgentCard({ ...bare, ...empty })).toStrictEqual(buildAgentCard(bare))
  const card = buildAgentCard({
    ...bare,
    capabilities: { streaming: true, extensions: undefined },
    skills: [{ id: 'a', name: 'A', description: 'A', tags: ['a'], examples: undefined }],
  })
  expect(card.capabilities).toStrictEqual({ streaming: true })
  expect(card.skills).toStrictEqual([{ id: 'a', name: 'A', description: 'A', tags: ['a'] }])
})
