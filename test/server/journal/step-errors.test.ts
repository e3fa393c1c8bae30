/** Errors of failed steps: what the code reads of them when its turn continues. */
import { A2AError } from 'a2a-tasks'
import type { Execute, Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { begin, get, pass, replicas, settle } from '../durable/support/replicas.js'
import { stateName } from '../spec/support/agent.js'
import { agent, MANAGERS } from './support/managers.js'

const ERRORS: readonly (readonly [string, () => unknown])[] = [
  ['an error of Node', () => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })],
  ['an error of a database', () => Object.assign(new RangeError('Busy'), { code: 14, name: 'GrpcError' })],
  ['an abort', () => new DOMException('Stop', 'AbortError')],
  ['an object that is no error', () => ({ name: 'Busy', message: 'Try later', code: 'EBUSY' })],
  ['an error without a code', () => new TypeError('Wrong')],
  ['a code that is neither text nor number', () => Object.assign(new Error('odd'), { code: { a: 1 } })],
  ['an error of this package', () => new A2AError('REQUEST_TIMED_OUT', 'Too late', { timeoutMs: 10 })],
]

describe.each(MANAGERS)('over %s', (_, open) => {
  test.each(ERRORS)('a later attempt reads the same of %s', async (_name, make) => {
    const read: unknown[] = []
    const { say, reaches } = await agent(
      open,
      async (run) => {
        read.push(await readOf(run, make))
        if (run.attempt === 1) throw new Error('Not yet')
      },
      { retry: { backoff: { initialMs: 1 } } },
    )
    await reaches(await say('go'), 'completed')
    expect(read).toHaveLength(2)
    expect(read[1]).toEqual(read[0])
  })

  test('the code of an error that ends a task is in its failure', async () => {
    const { say, reaches } = await agent(open, () => {
      throw Object.assign(new Error('No'), { code: 'EPIPE' })
    })
    const { failure } = await reaches(await say('go'), 'failed')
    expect(failure?.error).toEqual({ name: 'Error', message: 'No', code: 'EPIPE' })
  })
})

const [[, inMemory]] = MANAGERS as [(typeof MANAGERS)[number]]

test('isRetryable decides alike on the error of a step and on what the history keeps of it', async () => {
  const asked: unknown[] = []
  const { say, reaches } = await agent(
    inMemory,
    async (run) => {
      const failed = await run.step('call', fails).catch((error: unknown) => error)
      if (run.attempt === 1) throw new Error('Not yet')
      throw failed
    },
    {
      retry: {
        attempts: 3,
        backoff: { initialMs: 1 },
        isRetryable: (error) => {
          asked.push(error)
          return (error as { code?: unknown }).code !== 'EACCES'
        },
      },
    },
  )
  await reaches(await say('go'), 'failed')
  expect(asked).toMatchObject([{ message: 'Not yet' }, { message: 'No', name: 'Error', code: 'EACCES' }])

  function fails(): never {
    throw Object.assign(new Error('No'), { code: 'EACCES' })
  }
})

test('without isRetryable, an error of this package that is not tried again is none in a later attempt either', async () => {
  const attempts: number[] = []
  const { say, reaches } = await agent(
    inMemory,
    async (run) => {
      attempts.push(run.attempt)
      const failed = await run.step('call', refuses).catch((error: unknown) => error)
      if (run.attempt === 1) throw new Error('Not yet')
      throw failed
    },
    { retry: { attempts: 5, backoff: { initialMs: 1 } } },
  )
  await reaches(await say('go'), 'failed')
  expect(attempts).toEqual([1, 2])

  function refuses(): never {
    throw new A2AError('INVALID_PARAMS', 'x is wrong', { path: 'x', reason: 'is wrong' })
  }
})

test.each([
  ['large', { path: 'x'.repeat(100_000), reason: 'is long' }],
  ['not JSON', { path: 1n as unknown as string, reason: 'is odd' }],
])('data that are %s are not kept, and the error has its code', async (_name, data) => {
  const read: unknown[] = []
  const { say, reaches } = await agent(
    inMemory,
    async (run) => {
      const failed = await run
        .step('call', () => Promise.reject(new A2AError('INVALID_PARAMS', 'No', data)))
        .catch((error: unknown) => error)
      read.push([A2AError.is(failed), (failed as A2AError).code])
      if (run.attempt === 1) throw new Error('Not yet')
    },
    { retry: { backoff: { initialMs: 1 } } },
  )
  await reaches(await say('go'), 'completed')
  expect(read).toEqual([
    [true, 'INVALID_PARAMS'],
    [false, 'INVALID_PARAMS'],
  ])
})

test('another process takes the same way after an error as the one that died', async () => {
  const ways: string[] = []
  const execute: Execute = async (run) => {
    try {
      await run.step('call', () => {
        throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
      })
    } catch (error) {
      const way = (error as { code?: unknown }).code === 'ECONNRESET' ? 'reconnect' : 'give up'
      ways.push(way)
      await run.step(way, () => undefined)
    }
    await run.sleep('a moment', { ms: 30_000 })
    return 'done'
  }
  const { a, b, clock } = replicas([execute, execute])
  const { id } = await begin(a, 'go')
  await settle()
  a.store.fail()
  await pass(clock, async () => stateName((await get(b, id)).status.state) === 'completed')
  expect(ways).toEqual(['reconnect', 'reconnect'])
})

/** What code may read of the error of a step. */
async function readOf(run: Run, make: () => unknown): Promise<unknown> {
  try {
    await run.step('call', () => Promise.reject(make() as Error))
  } catch (error) {
    const { name, message, code } = error as Error & { readonly code?: unknown }
    const isCode = typeof code === 'string' || typeof code === 'number'
    const data = A2AError.is(error) ? error.data : undefined
    return { name, message, code: isCode ? code : undefined, data }
  }
  return 'no error'
}

describe.each(MANAGERS)('the stack of an error over %s', (_, open) => {
  test.each([
    [true, expect.stringMatching(/^RangeError: Wrong\n +at /)],
    [undefined, undefined],
  ])('is kept with recordStacks: %s', async (recordStacks, stack) => {
    const { say, reaches, journal } = await agent(
      open,
      async (run) => {
        await run.step('fails', () => Promise.reject(new RangeError('Wrong')))
      },
      { recordStacks, retry: { attempts: 2, backoff: { initialMs: 1 } } },
    )
    const id = await say('go')
    await reaches(id, 'failed')
    const errors = (await journal(id)).flatMap(({ entry }) => ('error' in entry ? [entry.error] : []))
    expect(errors.length).toBe(4)
    for (const error of errors) expect(error?.stack).toEqual(stack)
    for (const error of errors) expect(error?.stack?.length ?? 0).toBeLessThanOrEqual(4_000)
  })
})
