import { bearerAuth } from 'a2a-tasks/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { azureAI } from '../../../../src/gateway/providers/azure/provider.js'
import { entraAuthorize } from '../../../../src/gateway/providers/azure/credentials.js'
import type { ServiceRequest } from '../../../../src/gateway/providers/shared/service.js'
import { startAzureStub, type AzureStub } from '../../../services/azure/azure-stub.js'
import { agentAt, asked, calling, fault } from '../a2a/support/a2a.js'

let stub: AzureStub
beforeAll(async () => {
  stub = await startAzureStub()
})
afterAll(() => stub.stop())

const at = () => agentAt(stub.endpoint, { settings: { agentName: 'agent' } })
const request = (): ServiceRequest => ({
  ...{ method: 'GET', body: undefined },
  url: new URL('https://x.test/'),
  headers: new Headers(),
})
const agent = agentAt('https://x.test/')

describe('credentials for Azure AI Foundry', () => {
  it('are those of the agent, else those that are given', async () => {
    const scopes: string[] = []
    const credentials = {
      getToken(scope: string) {
        scopes.push(scope)
        return Promise.resolve({ token: stub.token })
      },
    }
    const provider = azureAI({ credentials })
    expect((await provider.sendTask(at(), asked('hello'), calling())).state).toBe('submitted')
    // One for the conversation, one for the response.
    expect(scopes).toEqual(['https://ai.azure.com/.default', 'https://ai.azure.com/.default'])
    const known = at()
    const own = { ...known, endpoint: { ...known.endpoint, auth: bearerAuth(stub.token) } }
    await provider.sendTask(own, asked('hello'), calling())
    expect(scopes).toHaveLength(2)
  })

  it('are found by @azure/identity, which is loaded once', async () => {
    let loaded = 0
    let made = 0
    const authorize = entraAuthorize(undefined, () => {
      loaded += 1
      class DefaultAzureCredential {
        constructor() {
          made += 1
        }
        getToken = () => Promise.resolve({ token: 'found' })
      }
      return Promise.resolve({ DefaultAzureCredential })
    })
    for (const each of [request(), request()]) {
      await authorize(each, agent)
      expect(each.headers.get('authorization')).toBe('Bearer found')
    }
    expect([loaded, made]).toEqual([1, 1])
  })

  it('are missing without it, and the error says what to do', async () => {
    const cause = new Error('Cannot find package')
    const authorize = entraAuthorize(undefined, () => Promise.reject(cause))
    const provider = azureAI({ authorize })
    const error = await fault(provider.sendTask(at(), asked('hello'), calling()))
    expect(error).toMatchObject({ code: 'PROVIDER_ERROR', data: { retryable: false } })
    expect(error.message).toContain(
      'There are no credentials: install @azure/identity, or set endpoint.auth of the agent, or credentials or authorize of the provider',
    )
    expect(error.cause).toMatchObject({ code: 'UNAUTHENTICATED', cause })
    expect(await provider.healthCheck(at(), calling())).toBe('offline')
  })

  it.each([
    ['no token', () => Promise.resolve(null)],
    ['a token that no header can hold', () => Promise.resolve({ token: 'secret\n' })],
    ['an error', () => Promise.reject(new Error('secret'))],
  ])('may be %s, which no error contains', async (_name, getToken) => {
    const error = await fault(
      azureAI({ credentials: { getToken } }).sendTask(at(), asked('hello'), calling()),
    )
    expect(error.message).toMatch(/There are no credentials: Entra ID gives no token$/)
    expect(JSON.stringify(error.data)).not.toContain('secret')
  })

  it('that are refused are reported as such', async () => {
    const credentials = { getToken: () => Promise.resolve({ token: 'old' }) }
    const error = await fault(azureAI({ credentials }).sendTask(at(), asked('hello'), calling()))
    expect(error).toMatchObject({ code: 'PROVIDER_ERROR', data: { status: 401, retryable: false } })
    expect(error.message).not.toContain('old')
  })
})
