/** Tasks that wait for the user: each question is answered once. */
import { describe, expect, test } from 'vitest'
import { clientOf, scripted, status, stream, task, type Asked } from './scripted.js'

/** Answers polls from a list, the last for ever; what a message is answered with, too. */
function inTurn(answers: readonly object[]): () => object {
  const left = [...answers]
  return () => (left.length > 1 ? left.shift() : left[0]) ?? {}
}

const textsOf = (asked: readonly Asked[]): string[] =>
  asked.flatMap(({ params }) => {
    const { parts = [] } = (params.message ?? {}) as { parts?: { text: string }[] }
    return parts.map(({ text }) => text)
  })

describe('a question', () => {
  test('and another one are answered one after the other, in one task and conversation', async () => {
    const next = inTurn([
      task('input-required', { says: 'q1', at: '1' }),
      task('input-required', { says: 'q2', at: '2' }),
      task('completed', { text: 'done' }),
    ])
    let now = {}
    const agent = await scripted(({ method }) => {
      if (method === 'SendMessage') now = next()
      return method === 'SendMessage' ? { task: now } : now
    }, false)
    const questions: unknown[] = []
    const result = await clientOf(agent).run('hi', {
      onInputRequired: ({ message }) => {
        questions.push(message?.messageId)
        return `answer to ${message?.messageId}`
      },
    })
    expect(result).toMatchObject({ type: 'completed', text: 'done' })
    expect(questions).toEqual(['q1', 'q2'])
    expect(textsOf(agent.asked)).toEqual(['hi', 'answer to q1', 'answer to q2'])
    const answers = agent.asked.filter(({ params }) => params.message?.taskId !== undefined)
    expect(answers.map(({ params: { message } }) => [message?.taskId, message?.contextId])).toEqual([
      ['t-1', 'c-1'],
      ['t-1', 'c-1'],
    ])
  })

  test.each([true, false])(
    'that is still seen after the answer is not asked again (streams: %s)',
    async (streaming) => {
      const asks = task('input-required', { says: 'q1', at: '1' })
      const next = inTurn([
        asks,
        asks,
        asks,
        task('working', { at: '2' }),
        task('completed', { text: 'done', at: '3' }),
      ])
      let sends = 0
      const agent = await scripted((asked) => {
        if (asked.method === 'SendMessage') return { task: asks }
        if (asked.method === 'GetTask') return next()
        if (asked.method === 'SendStreamingMessage') sends += 1
        return stream(asked, [{ task: asks }])
      }, streaming)
      let questions = 0
      const result = await clientOf(agent).run('hi', {
        pollIntervalMs: 1,
        onInputRequired: () => `answer ${(questions += 1)}`,
      })
      expect(result.type).toBe('completed')
      expect(questions).toBe(1)
      expect(sends).toBe(streaming ? 2 : 0)
    },
  )

  test('without time or text is distinguished from the next by the changes between them', async () => {
    const bare = task('input-required')
    let sends = 0
    const agent = await scripted((asked) => {
      if (asked.method !== 'SendStreamingMessage')
        return sends === 3 ? task('completed', { text: 'done' }) : bare
      sends += 1
      const between = sends === 1 ? [{ task: task('submitted') }] : [{ task: bare }, status('working')]
      return stream(asked, [...between, status(sends === 3 ? 'completed' : 'input-required')])
    })
    const result = await clientOf(agent).run('hi', {
      pollIntervalMs: 1,
      timeoutMs: 2_000,
      onInputRequired: () => 'a',
    })
    expect(result.type).toBe('completed')
    expect(textsOf(agent.asked)).toEqual(['hi', 'a', 'a'])
  })

  test('whose answer is lost is answered again, with the same message', async () => {
    const known: string[] = []
    let losses = 1
    const agent = await scripted(({ method, params, response }) => {
      const { messageId = '', taskId } = params.message ?? {}
      if (method === 'SendMessage' && taskId !== undefined && losses > 0) {
        losses -= 1
        response.destroy()
        return undefined
      }
      if (method === 'SendMessage') known.push(messageId)
      const asks = known.length < 2
      const now = asks
        ? task('input-required', { says: 'q', at: '1', history: known })
        : task('completed', { text: 'ok' })
      return method === 'SendMessage' ? { task: now } : now
    }, false)
    const result = await clientOf(agent).run('hi', {
      pollIntervalMs: 1,
      timeoutMs: 5_000,
      onInputRequired: () => 'a',
    })
    expect(result.type).toBe('completed')
    const sent = agent.asked
      .filter(({ method }) => method === 'SendMessage')
      .map(({ params }) => params.message?.messageId)
    expect(sent).toHaveLength(3)
    expect(sent[1]).toBe(sent[2])
  })

  test('whose answer has arrived, while only its own answer is lost, is not answered again', async () => {
    const known: string[] = []
    const agent = await scripted(({ method, params, response }) => {
      const { messageId = '', taskId } = params.message ?? {}
      if (method === 'SendMessage') known.push(messageId)
      if (method === 'SendMessage' && taskId !== undefined) {
        response.destroy()
        return undefined
      }
      const asks = known.length < 2
      const now = task(asks ? 'input-required' : 'completed', {
        says: 'q',
        at: String(known.length),
        history: known,
      })
      return method === 'SendMessage' ? { task: now } : now
    }, false)
    expect((await clientOf(agent).run('hi', { onInputRequired: () => 'a' })).type).toBe('completed')
    expect(agent.methods().filter((method) => method === 'SendMessage')).toHaveLength(2)
  })

  test('without an answer ends the run with a handle, and so does an empty answer', async () => {
    const asks = task('input-required', { says: 'Which?', at: '1' })
    const agent = await scripted(({ method }) => (method === 'SendMessage' ? { task: asks } : asks), false)
    for (const options of [{}, { onInputRequired: () => undefined }]) {
      const result = await clientOf(agent).run('hi', options)
      expect(result).toMatchObject({ type: 'input-required', text: 'Which?', handle: { taskId: 't-1' } })
    }
  })
})

describe('a task that waits for credentials', () => {
  const waits = (at: string): object => task('auth-required', { says: `Sign in ${at}`, at })

  test('ends the run without onInputRequired', async () => {
    const agent = await scripted(
      ({ method }) => (method === 'SendMessage' ? { task: waits('1') } : waits('1')),
      false,
    )
    const result = await clientOf(agent).run('hi')
    expect(result).toMatchObject({
      ok: false,
      type: 'auth-required',
      text: 'Sign in 1',
      handle: { taskId: 't-1' },
    })
  })

  test.each([true, false])(
    'is waited for, and may wait again for others (streams: %s)',
    async (streaming) => {
      const next = inTurn([
        waits('1'),
        waits('1'),
        waits('1'),
        waits('2'),
        waits('2'),
        task('completed', { text: 'in' }),
      ])
      const agent = await scripted((asked) => {
        if (asked.method === 'SendMessage') return { task: waits('1') }
        return asked.method === 'GetTask' ? next() : stream(asked, [{ task: waits('1') }])
      }, streaming)
      const seen: unknown[] = []
      const result = await clientOf(agent).run('hi', {
        pollIntervalMs: 1,
        timeoutMs: 5_000,
        onAuthRequired: ({ message }) => void seen.push(message?.messageId),
      })
      expect(result).toMatchObject({ type: 'completed', text: 'in' })
      expect(seen).toEqual(['Sign in 1', 'Sign in 2'])
      expect(agent.methods().filter((method) => method.startsWith('Send'))).toHaveLength(1)
    },
  )
})
