/** Failing A2A agents: errors, and the end of polling. */
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { bearerAuth } from 'a2a-tasks/client'
import { a2a } from '../../../../src/gateway/providers/a2a/provider.js'
import { pydanticAI } from '../../../../src/gateway/providers/pydantic.js'
import { site } from '../../../http/support/http.js'
import { agentAt, asked, calling, fault } from './support/a2a.js'

describe('an error of an agent', () => {
  it('has the code of the agent, and its text only in the data, without credentials', async () => {
    const { url } = await site(({ method, headers: { host, authorization } }) => ({
      body:
        method === 'GET'
          ? {
              ...{ name: 'Peer', version: '1' },
              supportedInterfaces: [
                { url: `http://${host}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
              ],
            }
          : { jsonrpc: '2.0', id: 1, error: { code: -32603, message: `No luck with ${authorization}\n!` } },
    }))
    const endpoint = { url, timeoutMs: 5_000, auth: bearerAuth('s3cret') }
    const error = await fault(a2a().sendTask(agentAt(url, { endpoint }), asked('Hi'), calling()))
    expect(error).toMatchObject({
      message: 'Provider a2a of agent agent-1: it answers with INTERNAL',
      data: { reason: 'it answers with INTERNAL: No luck with … !' },
    })
    expect(inspect(error.data)).not.toContain('s3cret')
  })
})

describe('a health check', () => {
  it.each([
    ['a2a', a2a],
    ['pydantic_ai', pydanticAI],
  ])('of %s that no caller waits for is ended', async (_, provider) => {
    const ended: boolean[] = []
    const controller = new AbortController()
    const check = provider({
      fetch: (_url, { signal }) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => {
            ended.push(true)
            reject(signal.reason as Error)
          })
          controller.abort(new Error('Too late'))
        }),
    }).healthCheck(agentAt('http://agent.test'), { signal: controller.signal })
    await expect(check).rejects.toThrow('Too late')
    expect(ended).toEqual([true])
  })
})
