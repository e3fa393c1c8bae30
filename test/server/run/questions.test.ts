/** Questions of runs: who reads the answer, and which run it begins. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { agent, call, gate, jsonRpc, taskOf, textsOf, user } from '../spec/support/agent.js'

const rpc = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params })

const now = (text: string): object => ({
  message: user(text),
  configuration: { returnImmediately: true },
})

/** What a question that is not answered rejects with. */
async function asked(run: Run, then: () => void): Promise<unknown> {
  const answer = run.requireAuth('Key?')
  then()
  return answer.catch((error: unknown) => error)
}

describe('a question', () => {
  test.each<[string, (run: Run) => Promise<unknown>]>([
    ['start()', (run) => asked(run, () => run.start())],
    ['complete()', (run) => asked(run, () => run.complete())],
  ])('does not stay open when the run continues with %s', async (_, ask) => {
    const a = agent(async (run) => {
      expect(await ask(run)).toMatchObject({ code: 'WAIT_ABORTED' })
    })
    const task = taskOf(await call(jsonRpc, a, 'SendMessage', now('x')))
    expect((await a.tasks.waitFor(task.id)).state).toBe('completed')
    expect(a.errors).toEqual([])
  })

  test('that the run does not await, and that is answered before the run returns, begins another run', async () => {
    const saved = gate()
    const texts: string[] = []
    const a = agent(async (run) => {
      texts.push(run.text)
      if (run.text !== 'first') return `You said ${run.text}`
      void run.requireInput('Which?')
      await saved.opened
      return undefined
    })
    const { id } = taskOf(await call(jsonRpc, a, 'SendMessage', { message: user('first') }))
    const answered = call(jsonRpc, a, 'SendMessage', { message: user('second', { taskId: id }) })
    await turn()
    saved.open()
    expect(textsOf(taskOf(await answered))).toEqual(['You said second'])
    expect(texts).toEqual(['first', 'second'])
  })

  test('may be answered by a listener at once', async () => {
    const a = agent(async (run) => `You said ${(await run.requireInput('Which?')).parts[0]?.text}`)
    a.tasks.on('task:stateChange', ({ taskId, to }) => {
      if (to === 'input-required')
        void a.handler.dispatch(rpc('SendMessage', { message: user('this', { taskId }) }))
    })
    const { id } = taskOf(await call(jsonRpc, a, 'SendMessage', now('x')))
    expect((await a.tasks.waitFor(id)).artifacts[0]?.parts?.[0]?.text).toBe('You said this')
  })

  test('and its run hold no place that the answer needs', async () => {
    const a = agent(
      async (run) => {
        await run.requireInput('Which?')
      },
      { limits: { maxRuns: 1 } },
    )
    const { id } = taskOf(await call(jsonRpc, a, 'SendMessage', { message: user('x') }))
    const { status } = taskOf(await call(jsonRpc, a, 'SendMessage', { message: user('y', { taskId: id }) }))
    expect(status.state).toBe('TASK_STATE_COMPLETED')
  })
})

describe('an answer', () => {
  const first = async (a: ReturnType<typeof agent>): Promise<string> =>
    taskOf(await call(jsonRpc, a, 'SendMessage', { message: user('first') })).id

  test.each<[string, (run: Run) => unknown]>([
    ['is only caught', (run) => run.requireInput('Which?').catch(() => undefined)],
    ['is not looked at', (run) => run.requireInput('Which?')],
  ])('that %s begins another run', async (_, ask) => {
    const go = gate()
    const a = agent(async (run) => {
      if (run.text !== 'first') return `turn ${run.text}`
      void ask(run)
      await go.opened
      return undefined
    })
    const id = await first(a)
    const answered = call(jsonRpc, a, 'SendMessage', { message: user('b', { taskId: id }) })
    await turn()
    go.open()
    expect(textsOf(taskOf(await answered))).toEqual(['turn b'])
  })

  test('that a stream of texts reads is handled once, and one that it does not read once, too', async () => {
    for (const reads of [true, false]) {
      const go = gate()
      const a = agent(async (run) => {
        if (run.text !== 'first') return `turn ${run.text}`
        const answer = run.requireInput('Which?')
        await go.opened
        return (async function* () {
          yield reads ? `got ${(await answer).parts[0]?.text}` : 'got nothing'
        })()
      })
      const id = await first(a)
      const answered = call(jsonRpc, a, 'SendMessage', { message: user('b', { taskId: id }) })
      await turn()
      go.open()
      expect(textsOf(taskOf(await answered))).toEqual(reads ? ['got b'] : ['got nothing', 'turn b'])
    }
  })
})

test('a prompt that is answered at once is not the message of the next state', async () => {
  const a = agent(async (run) => {
    await run.requireInput('Which?')
    await never.opened
  })
  const never = gate()
  let hasAnswered = false
  a.tasks.on('task:updated', ({ id, state }) => {
    if (state !== 'input-required' || hasAnswered) return
    hasAnswered = true
    void a.handler.dispatch(rpc('SendMessage', { message: user('this', { taskId: id }) }))
  })
  const { status } = taskOf(await call(jsonRpc, a, 'SendMessage', now('x')))
  expect([status.state, status.message]).toEqual(['TASK_STATE_WORKING', undefined])
  never.open()
})
