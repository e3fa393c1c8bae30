/** Calls of `dispatch`: the caller, the signal, and streams that are read by hand. */
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { collect } from '../support/manager.js'
import { agent, authenticate, call, jsonRpc, taskOf, user } from './spec/support/agent.js'

const rpc = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params })

describe('dispatch', () => {
  test.each([null, undefined])(
    'refuses a caller without a principal if there is an authenticate: %s',
    async (principal) => {
      let runs = 0
      const { handler } = agent(
        () => {
          runs += 1
        },
        { authenticate },
      )
      const answer = await handler.dispatch(rpc('SendMessage', { message: user('x') }), { principal })
      expect(answer).toMatchObject({ error: { message: 'Authentication required' } })
      expect(runs).toBe(0)
    },
  )

  test('ends its stream when the signal has aborted, before or after', async () => {
    const a = agent((run) => void run.requireAuth('Key?'))
    const { id } = taskOf(await call(jsonRpc, a, 'SendMessage', { message: user('x') }))
    const controller = new AbortController()
    for (const signal of [AbortSignal.abort(), controller.signal]) {
      const stream = await a.handler.dispatch(rpc('SubscribeToTask', { id }), { signal })
      if (!(Symbol.asyncIterator in stream)) throw new Error('No stream')
      const read = collect(stream)
      controller.abort()
      await read
    }
  })

  test('answers many next() at once in their order', async () => {
    const a = agent(async (run) => {
      run.artifact('one')
      await turn()
      run.complete('Done')
    })
    const stream = await a.handler.dispatch(rpc('SendStreamingMessage', { message: user('x') }))
    if (!(Symbol.asyncIterator in stream)) throw new Error('No stream')
    const results = await Promise.all(Array.from({ length: 9 }, () => stream.next()))
    expect(results.map((result) => result.done === true)).toEqual(
      [0, 1, 2, 3, 4, 5, 6, 7, 8].map((index) => index > 3),
    )
  })
})
