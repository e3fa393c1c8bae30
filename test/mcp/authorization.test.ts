/** Where a client gets a token: the metadata of the protected resource, and the challenge that names it. */
import { describe, expect, it } from 'vitest'
import type { AgentCardInput } from 'a2a-tasks/agent-card'
import { createMcpHandler, type McpOptions } from 'a2a-tasks/mcp'
import { createRequestHandler } from 'a2a-tasks/server'
import { statelessRequest } from './kit.js'

type Schemes = AgentCardInput['securitySchemes']

const AT = 'https://agent.test/.well-known/oauth-protected-resource'
const CONNECT: Schemes = {
  sso: {
    openIdConnectSecurityScheme: {
      openIdConnectUrl: 'https://sso.test/acme/.well-known/openid-configuration',
    },
  },
}
const CODE = { authorizationUrl: 'https://auth.test/authorize', tokenUrl: 'https://auth.test/token' }
const flows = { authorizationCode: { ...CODE, scopes: { read: 'Reads', write: 'Writes' } } }
const OAUTH: Schemes = { oauth: { oauth2SecurityScheme: { flows } } }
const METADATA: Schemes = {
  oauth: {
    oauth2SecurityScheme: {
      flows,
      oauth2MetadataUrl: 'https://auth.test/.well-known/oauth-authorization-server/acme',
    },
  },
}
const KEY: Schemes = { key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } } }

function mcpOf(securitySchemes: Schemes, options: McpOptions = { url: 'https://agent.test/mcp' }) {
  const handler = createRequestHandler({
    card: { name: 'Agent', url: 'https://agent.test', ...(securitySchemes && { securitySchemes }) },
    authenticate: () => null,
    execute: () => 'Done',
  })
  return createMcpHandler(handler, options)
}

const challengeOf = async (mcp: ReturnType<typeof mcpOf>): Promise<string | null> => {
  const params = { name: 'default', arguments: { message: 'x' } }
  return (await mcp(statelessRequest(1, 'tools/call', params))).headers.get('www-authenticate')
}

describe('a client that has no token', () => {
  it.each<[Schemes, string, string[] | undefined]>([
    [CONNECT, 'https://sso.test/acme', undefined],
    [OAUTH, 'https://auth.test', ['read', 'write']],
    [METADATA, 'https://auth.test/acme', ['read', 'write']],
  ])('finds the server that gives one: %j', async (schemes, server, scopes) => {
    const mcp = mcpOf({ ...schemes, ...KEY })
    const challenge = (await challengeOf(mcp)) ?? ''
    expect(challenge).toContain(`Bearer resource_metadata="${AT}/mcp", realm="Agent"`)
    for (const at of [AT, `${AT}/mcp`]) {
      const response = await mcp(new Request(at, { headers: { origin: 'https://app.test' } }))
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      expect(await response.json()).toEqual({
        resource: 'https://agent.test/mcp',
        resource_name: 'Agent',
        authorization_servers: [server],
        bearer_methods_supported: ['header'],
        ...(scopes && { scopes_supported: scopes }),
      })
    }
  })

  it.each<[string, Schemes, McpOptions]>([
    ['a card that names none', KEY, { url: 'https://agent.test/mcp' }],
    ['no url', OAUTH, {}],
  ])('finds none with %s', async (_, schemes, options) => {
    const mcp = mcpOf(schemes, options)
    expect(await challengeOf(mcp)).not.toContain('resource_metadata')
    expect((await mcp(new Request(AT))).status).toBe(405)
  })
})

it.each([['mcp'], ['ftp://agent.test'], ['https://agent.test/mcp?x'], [1]])('refuses the url %j', (url) => {
  expect(() => mcpOf(KEY, { url: url as string })).toThrow('"url" must be an http or https URL')
})
