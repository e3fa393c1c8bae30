import { bearerAuth } from 'a2a-tasks/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { vertexAI } from '../../../../src/gateway/providers/vertex/provider.js'
import { googleAuthorize } from '../../../../src/gateway/providers/vertex/credentials.js'
import { startVertexStub, type VertexStub } from '../../../services/vertex/vertex-stub.js'
import { agentAt, asked, calling, fault } from '../a2a/support/a2a.js'

let stub: VertexStub
beforeAll(async () => {
  stub = await startVertexStub()
})
afterAll(() => stub.stop())

const at = () => agentAt(stub.url, { settings: { resource: stub.name, protocol: 'query' } })

describe('credentials for Agent Engine', () => {
  it('are those of the agent, else those that are given', async () => {
    let asks = 0
    const getAccessToken = () => Promise.resolve((asks += 1) > 0 ? stub.token : null)
    const provider = vertexAI({ credentials: { getAccessToken } })
    expect((await provider.sendTask(at(), asked('hello'), calling())).state).toBe('completed')
    const known = at()
    const own = { ...known, endpoint: { ...known.endpoint, auth: bearerAuth(stub.token) } }
    await provider.sendTask(own, asked('hello'), calling())
    expect(asks).toBe(1)
  })

  it('are found by google-auth-library, with the scope of the platform', async () => {
    const scopes: string[] = []
    const authorize = googleAuthorize(undefined, () => {
      class GoogleAuth {
        constructor(options: { readonly scopes: string }) {
          scopes.push(options.scopes)
        }
        getAccessToken = () => Promise.resolve(stub.token)
      }
      return Promise.resolve({ GoogleAuth })
    })
    const provider = vertexAI({ authorize })
    for (const text of ['one', 'two']) {
      expect((await provider.sendTask(at(), asked(text), calling())).state).toBe('completed')
    }
    expect(scopes).toEqual(['https://www.googleapis.com/auth/cloud-platform'])
  })

  it('are missing without it, and the error says what to do', async () => {
    const authorize = googleAuthorize(undefined, () => Promise.reject(new Error('Cannot find package')))
    const error = await fault(vertexAI({ authorize }).sendTask(at(), asked('hello'), calling()))
    expect(error).toMatchObject({ code: 'PROVIDER_ERROR', cause: { code: 'UNAUTHENTICATED' } })
    expect(error.message).toContain('install google-auth-library, or set endpoint.auth of the agent')
  })
})
