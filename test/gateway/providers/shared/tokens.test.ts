import { expect, it } from 'vitest'
import { bearerFrom } from '../../../../src/gateway/providers/shared/tokens.js'
import { agentAt } from '../a2a/support/a2a.js'

it('tokens are loaded once, and again where that has failed', async () => {
  let loads = 0
  const authorize = bearerFrom('The cloud', () => {
    loads += 1
    return loads === 1
      ? Promise.reject(new Error('Not yet up'))
      : Promise.resolve(() => Promise.resolve('token'))
  })
  const headers = new Headers()
  const ask = async (): Promise<void> =>
    authorize(
      { method: 'GET', url: new URL('https://x.test/'), headers, body: undefined },
      agentAt('https://x.test/'),
    )
  const [first, second] = await Promise.allSettled([ask(), ask()])
  expect([first.status, second.status, loads]).toEqual(['rejected', 'rejected', 1])
  await Promise.all([ask(), ask()])
  await ask()
  expect(headers.get('authorization')).toBe('Bearer token')
  expect(loads).toBe(2)
})
