/** `run.authorize`: what ends it, what does not, and what clients get. */
import { A2AError, TaskManager } from 'a2a-tasks'
import { A2AClient, type AgentQuestion } from 'a2a-tasks/client'
import type { Execute, Run } from 'a2a-tasks/server'
import { answerPart, openQuestionsOf, questionsIn, QUESTIONS } from 'a2a-tasks/wire'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { agent, MANAGERS, textsOf, type Agent } from '../journal/support/managers.js'
import { call, jsonRpc, ORIGIN, user } from '../spec/support/agent.js'

const URL_ = 'https://login.example/authorize?state=1'
const MESSAGE = 'Let me read your calendar'

const codeOf = (error: unknown): string => (A2AError.is(error) ? error.code : String(error))

const login = (options: Partial<Parameters<Run['authorize']>[1]> = {}): Execute => {
  return async (run) => {
    try {
      const given = { url: URL_, message: MESSAGE, ...options }
      const { account } = await run.authorize<{ account: string }>('calendar', given)
      return `Reads the calendar of ${account}`
    } catch (error) {
      return codeOf(error)
    }
  }
}

const answer = (a: Agent, taskId: string, value: string): Promise<unknown> =>
  call(jsonRpc, a, 'SendMessage', {
    message: { ...user('', { taskId }), parts: [answerPart({ 'calendar#1': value })] },
    configuration: { returnImmediately: true },
  })

describe.each(MANAGERS)('over %s, an authorization', (_, open) => {
  test('shows a sentence, its address and its id, and ends with a signal', async () => {
    const a = await agent(open, login())
    const id = await a.say('go')
    const asked = await a.reaches(id, 'auth-required')
    expect(asked.message).toMatchObject({
      parts: [{ text: `${MESSAGE} (to refuse, answer: decline)\n${URL_}` }, {}],
      extensions: [QUESTIONS],
    })
    const schema = { type: 'string', enum: ['decline'] }
    expect(openQuestionsOf(asked)).toEqual([{ id: 'calendar#1', message: MESSAGE, url: URL_, schema }])
    await a.tasks.signal(id, 'calendar', { account: 'ada' })
    const ended = await a.reaches(id, 'completed')
    expect(textsOf(ended)).toEqual(['Reads the calendar of ada'])
    // What the agent's own channel has sent is not in the conversation.
    expect(JSON.stringify(ended.messages)).not.toContain('account')
    expect(await a.kinds(id)).toEqual(['turn', 'wait', 'question', 'signal', 'received', 'withdrawn'])
    expect(a.errors).toEqual([])
  })

  test('asks nothing when the signal has come before', async () => {
    const a = await agent(open, async (run) => {
      await run.waitFor('begin')
      return await login()(run)
    })
    const id = await a.say('go')
    await a.reaches(id, 'working')
    await a.tasks.signal(id, 'calendar', { account: 'ada' })
    await a.tasks.signal(id, 'begin')
    const ended = await a.reaches(id, 'completed')
    expect(textsOf(ended)).toEqual(['Reads the calendar of ada'])
    expect(ended.history.map(({ state }) => state)).not.toContain('auth-required')
  })

  test('does not end when a client says that it is done', async () => {
    const a = await agent(open, login())
    const id = await a.say('go')
    const asked = await a.reaches(id, 'auth-required')
    expect(await answer(a, id, 'done')).toMatchObject({
      error: { code: -32602, message: 'answers.calendar#1 must be "decline"' },
    })
    expect((await a.reaches(id, 'auth-required')).generation).toBe(asked.generation)
    await a.say('Done!', id)
    const again = await a.reaches(id, 'auth-required')
    expect(JSON.stringify(again.message)).toContain('The authorization has not arrived yet')
    expect(openQuestionsOf(again)).toHaveLength(1)
    await a.tasks.signal(id, 'calendar', { account: 'ada' })
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['Reads the calendar of ada'])
  })

  test.each(['by id', 'in words'])('is declined %s', async (how) => {
    const a = await agent(open, login())
    const id = await a.say('go')
    await a.reaches(id, 'auth-required')
    await (how === 'by id' ? answer(a, id, 'decline') : a.say('Decline.', id))
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['PERMISSION_DENIED'])
    const kinds = ['turn', 'wait', 'question', 'answer', 'value', 'received']
    expect(await a.kinds(id)).toEqual(kinds)
  })

  test('leaves the signal to the next one when it was declined', async () => {
    const a = await agent(open, async (run) => {
      const first = await login()(run)
      return `${first as string}, ${(await login()(run)) as string}`
    })
    const id = await a.say('go')
    await a.reaches(id, 'auth-required')
    await a.say('decline', id)
    await a.reaches(id, 'auth-required')
    await a.tasks.signal(id, 'calendar', { account: 'ada' })
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual([
      'PERMISSION_DENIED, Reads the calendar of ada',
    ])
    expect(a.errors).toEqual([])
  })

  test('expires, and leaves nothing under way', async () => {
    const a = await agent(open, async (run) => {
      if (run.text !== 'go') return run.text
      return await run.continueAs((await login({ expiresInMs: 5_000 })(run)) as string)
    })
    const id = await a.say('go')
    const [question] = openQuestionsOf(await a.reaches(id, 'auth-required'))
    expect(Date.parse(question?.expiresAt ?? '')).toBeGreaterThan(a.clock.now())
    a.clock.advance(5_000)
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['WAIT_TIMED_OUT'])
    expect(a.errors).toEqual([])
  })

  test('is withdrawn by a signal, and by the end of the task', async () => {
    const given = new AbortController()
    const a = await agent(open, login({ signal: given.signal }))
    const id = await a.say('go')
    await a.reaches(id, 'auth-required')
    given.abort()
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['WAIT_ABORTED'])
    const reasons: string[] = []
    const b = await agent(open, async (run) => {
      await run.authorize('calendar', { url: URL_, message: MESSAGE }).catch((error: unknown) => {
        reasons.push(codeOf(error))
        throw error
      })
    })
    const canceled = await b.say('go')
    await b.reaches(canceled, 'auth-required')
    await b.tasks.cancelTask(canceled)
    await b.reaches(canceled, 'canceled')
    await turn()
    expect(reasons).toEqual(['TASK_CANCELED'])
    expect(b.errors).toEqual([])
  })

  test('fails after too many answers that are none', async () => {
    const a = await agent(open, login({ attempts: 2 }))
    const id = await a.say('go')
    for (const said of ['what?', 'why?']) {
      await a.reaches(id, 'auth-required')
      await a.say(said, id)
    }
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['INVALID_PARAMS'])
  })
})

test('an address is shown in ASCII, without what a parser leaves out', () => {
  const question = { id: 'x#1', message: 'x', schema: {}, url: 'https://b\u00fccher.example/a\n\u202eb' }
  const parts = [{ data: { [QUESTIONS]: { questions: [question] } } }]
  expect(questionsIn({ parts })[0]?.url).toBe('https://xn--bcher-kva.example/a%E2%80%AEb')
})

const [[, inMemory]] = MANAGERS as unknown as readonly [readonly [string, (typeof MANAGERS)[0][1]]]

test.each([
  ['a script', 'javascript:alert(1)'],
  ['a file', 'file:///etc/passwd'],
  ['a path', '/login'],
  ['one with a name', 'https://bank.example@evil.example/'],
  ['a long one', `https://login.example/${'x'.repeat(8_200)}`],
  ['a number', 5],
])('an address that users are not to open is refused by the agent and by clients: %s', async (_, url) => {
  const a = await agent(inMemory, login({ url: url as string }))
  const id = await a.say('go')
  const ended = await a.reaches(id, 'completed')
  expect(textsOf(ended)[0]).toContain('TypeError: "url" must be an http or https URL')
  const question = { id: 'x#1', message: 'x', schema: {}, url: url as string }
  const parts = [{ data: { [QUESTIONS]: { questions: [question] } } }]
  expect(questionsIn({ parts })).toEqual([{ id: 'x#1', message: 'x', schema: {} }])
})

test.each<[string, (run: Run) => unknown, string]>([
  ['no name', (run) => run.authorize('', { url: URL_, message: MESSAGE }), 'The name of a signal'],
  ['no message', (run) => run.authorize('x', { url: URL_ } as never), '"message" must be a text'],
  ['an unknown option', (run) => run.authorize('x', { url: URL_, message: 'x', to: 1 } as never), '"to"'],
])('a call with %s says what to do', async (_, ask, text) => {
  const a = await agent(inMemory, async (run) => {
    try {
      await ask(run)
      return 'nothing'
    } catch (error) {
      return String(error)
    }
  })
  expect(textsOf(await a.reaches(await a.say('go'), 'completed'))[0]).toContain(text)
})

test('the client gets the address, and declines by name', async () => {
  const a = await agent(inMemory, login())
  const client = await A2AClient.connect(ORIGIN, {
    fetch: (url, init) => a.handler.fetch(new Request(url, init)),
  })
  const seen: (readonly AgentQuestion[])[] = []
  const granted = await client.run('go', {
    async onAuthRequired(task, questions) {
      seen.push(questions)
      await a.tasks.signal(task.id, 'calendar', { account: 'ada' })
    },
  })
  expect(granted).toMatchObject({ type: 'completed', text: 'Reads the calendar of ada' })
  expect(seen).toMatchObject([[{ id: 'calendar#1', url: URL_, message: MESSAGE }]])
  const declined = await client.run('go', { onAuthRequired: () => ({ calendar: 'decline' }) })
  expect(declined.text).toBe('PERMISSION_DENIED')
  expect(await client.run('go', { onQuestions: () => ({ calendar: 'decline' }) })).toMatchObject({
    type: 'auth-required',
  })
})

test('a wait that is withdrawn leaves the signal to the next one', () => {
  const tasks = new TaskManager()
  const { id } = tasks.createTask({ skill: 'x' })
  tasks.signal(id, 'calendar', 'Ada')
  const begun = { kind: 'turn', messageId: 'm' } as const
  const wait = { kind: 'wait', name: 'calendar#1' } as const
  const received = { kind: 'received', name: 'calendar#1', value: null, isWithdrawn: true } as const
  tasks.recordJournal(id, [begun, wait, received])
  expect(tasks.receive(id, 'calendar#2')).toBe('Ada')
})
