/** Questions with a schema: which answers they take, refuse and ask again, and when they end without one. */
import type { Task } from 'a2a-tasks'
import { DurableTaskManager, memoryStore, type TaskStore } from 'a2a-tasks/durable'
import type { Execute, Run } from 'a2a-tasks/server'
import { answerPart, answersIn, openQuestionsOf, QUESTIONS } from 'a2a-tasks/wire'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { agent, MANAGERS, textsOf, type Agent } from '../journal/support/managers.js'
import { begin, replicas, resultOf, stateAt } from '../durable/support/replicas.js'
import { call, jsonRpc, user } from '../spec/support/agent.js'

const TRIP = z.object({ city: z.string().min(2), nights: z.int().min(1) })

/** Answers questions by their names or ids. Resolves to the answer of the agent. */
function answer(
  a: Parameters<typeof call>[1],
  task: Task,
  values: Record<string, unknown>,
  messageId?: string,
): Promise<unknown> {
  const ids = openQuestionsOf(task).map(({ id }) => id)
  const byId = Object.entries(values).map(([name, value]) => [
    ids.find((id) => id.startsWith(`${name}#`)) ?? name,
    value,
  ])
  const message = user('', { taskId: task.id, ...(messageId !== undefined && { messageId }) })
  const params = {
    message: { ...message, parts: [answerPart(Object.fromEntries(byId) as never)] },
    configuration: { returnImmediately: true },
  }
  return call(jsonRpc, a, 'SendMessage', params)
}

const refusal = (path: string, description: string): object => ({
  code: -32602,
  details: expect.arrayContaining([
    expect.objectContaining({ fieldViolations: [{ field: path, description }] }),
  ]) as unknown,
})

const shown = ({ message }: Task): string =>
  typeof message === 'string' ? message : (message?.parts.map(({ text = '' }) => text).join('') ?? '')

describe.each(MANAGERS)('over %s, a question with a schema', (_, open) => {
  const trip: Execute = async (run) => {
    const { city, nights } = await run.requireInput('Where, and for how long?', { schema: TRIP })
    return `${nights} nights in ${city}`
  }

  test('shows a sentence, its id and its JSON Schema, and takes a value by id', async () => {
    const a = await agent(open, trip)
    const id = await a.say('go')
    const asked = await a.reaches(id, 'input-required')
    expect(shown(asked)).toBe('Where, and for how long?')
    expect(asked.message).toMatchObject({ extensions: [QUESTIONS] })
    expect(openQuestionsOf(asked)).toEqual([
      {
        id: 'input#1',
        message: 'Where, and for how long?',
        schema: expect.objectContaining({ type: 'object', required: ['city', 'nights'] }) as unknown,
      },
    ])
    await answer(a, asked, { input: { city: 'Rome', nights: 2 } })
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['2 nights in Rome'])
    expect(a.errors).toEqual([])
  })

  test('with a very long sentence is answered by id', async () => {
    const a = await agent(open, (run) => run.approve('pay', { message: 'x'.repeat(100_000) }))
    const id = await a.say('go')
    const asked = await a.reaches(id, 'input-required')
    expect(openQuestionsOf(asked)).toMatchObject([{ id: 'pay#1', message: 'x'.repeat(16_384) }])
    expect(shown(asked)).toContain('x'.repeat(100_000))
    await answer(a, asked, { pay: 'approve' })
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['approve'])
  })

  test.each<[string, (run: Run) => unknown]>([
    ['requireInput', (run) => run.requireInput('Where?')],
    ['requireInput', (run) => run.requireInput('Where?', { schema: TRIP })],
    ['requireAuth', (run) => run.requireAuth('Log in')],
    ['ask', (run) => run.ask({ where: { message: 'Where?', schema: TRIP } })],
    ['approve', (run) => run.approve('book', { message: 'Book?' })],
  ])('is refused at once in the work of a step: %s', async (method, ask) => {
    const a = await agent(open, async (run) => {
      await run.step('book', async () => {
        await Promise.resolve()
        await ask(run)
      })
    })
    const id = await a.say('go')
    await a.reaches(id, 'failed')
    const message = `run.${method}() was called in the work of step "book#1"`
    expect(a.errors).toMatchObject([
      { error: { message: expect.stringContaining(message) as unknown, code: 'CALLED_IN_STEP' } },
    ])
  })

  test('refuses what does not fit with its path, and waits on', async () => {
    const a = await agent(open, trip)
    const id = await a.say('go')
    const asked = await a.reaches(id, 'input-required')
    const wrong = (values: Record<string, unknown>): Promise<unknown> => answer(a, asked, values)
    expect(await wrong({ input: { city: 'Rome' } })).toMatchObject({
      error: refusal('answers.input#1.nights', 'is missing'),
    })
    expect(await wrong({ input: { city: 'Rome', nights: 0 } })).toMatchObject({
      error: refusal('answers.input#1.nights', 'must be at least 1'),
    })
    expect(await wrong({ 'other#1': 1 })).toMatchObject({
      error: refusal(
        'answers.other#1',
        'is not open: the question was answered, has expired, or was never asked',
      ),
    })
    expect(await wrong({})).toMatchObject({
      error: refusal('answers', 'must have a value for an open question'),
    })
    const after = await a.reaches(id, 'input-required')
    expect([after.generation, after.messages.length]).toEqual([asked.generation, asked.messages.length])
    await answer(a, after, { input: { city: 'Rome', nights: 1 } })
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['1 nights in Rome'])
  })

  test('refuses by the schema of its code what JSON Schema cannot say', async () => {
    const schema = z.string().refine((city) => city !== 'Atlantis', 'No flights')
    const a = await agent(open, async (run) => await run.requireInput('Where?', { schema }))
    const id = await a.say('go')
    const asked = await a.reaches(id, 'input-required')
    expect(await answer(a, asked, { input: 'Atlantis' })).toMatchObject({
      error: refusal('answers.input#1', 'No flights'),
    })
    expect((await a.reaches(id, 'input-required')).generation).toBe(asked.generation)
  })

  test('takes words whose meaning is certain, asks again for others, and gives up', async () => {
    const a = await agent(open, async (run) => {
      const count = await run.requireInput('How many?', { schema: z.int() })
      const isSure = await run.requireInput('Sure?', { schema: z.boolean(), name: 'sure' })
      const error: unknown = await run
        .requireInput('Which colour?', { schema: z.enum(['red', 'blue']), attempts: 2 })
        .catch((each: unknown) => each)
      return `${count} ${isSure} ${String(error)}`
    })
    const id = await a.say('go')
    expect(shown(await a.reaches(id, 'input-required'))).toBe('How many?')
    await a.say('a few', id)
    expect(shown(await a.reaches(id, 'input-required'))).toBe('Please answer with a whole number.\nHow many?')
    await a.say('12', id)
    const sure = await a.reaches(id, 'input-required')
    expect(shown(sure)).toBe('Sure? (yes / no)')
    expect(openQuestionsOf(sure).map((each) => each.id)).toEqual(['sure#1'])
    await a.say('Yes!', id)
    expect(shown(await a.reaches(id, 'input-required'))).toBe('Which colour? (red / blue)')
    await a.say('green', id)
    expect(shown(await a.reaches(id, 'input-required'))).toBe(
      'Please answer with one of red, blue.\nWhich colour? (red / blue)',
    )
    await a.say('no idea', id)
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual([
      '12 true InvalidParamsError: answer does not fit: Please answer with one of red, blue',
    ])
  })

  test('takes one data part without an id', async () => {
    const a = await agent(open, trip)
    const id = await a.say('go')
    await a.reaches(id, 'input-required')
    const message = { ...user('', { taskId: id }), parts: [{ data: { city: 'Oslo', nights: 3 } }] }
    await call(jsonRpc, a, 'SendMessage', { message, configuration: { returnImmediately: true } })
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['3 nights in Oslo'])
  })

  test('is answered once', async () => {
    const a = await agent(open, async (run) => {
      const first = await run.requireInput('First?', { schema: z.string() })
      return `${first} ${await run.requireInput('Second?', { schema: z.string() })}`
    })
    const id = await a.say('go')
    const asked = await a.reaches(id, 'input-required')
    const answers = await Promise.all(['a', 'b', 'c'].map((value) => answer(a, asked, { 'input#1': value })))
    expect(answers.filter((each) => Object.hasOwn(each as object, 'error'))).toHaveLength(2)
    const second = await a.reaches(id, 'input-required')
    expect(openQuestionsOf(second).map((each) => each.id)).toEqual(['input#2'])
    // The same message again is the same answer.
    await answer(a, second, { 'input#2': 'z' }, 'm')
    await a.reaches(id, 'completed')
    expect(await answer(a, second, { 'input#2': 'z' }, 'm')).toHaveProperty('result')
    const ended = await a.reaches(id, 'completed')
    expect(textsOf(ended)[0]).toMatch(/^[abc] z$/)
  })

  test('keeps what the schema has made of the answer', async () => {
    const schema = z.string().transform((text) => ({ length: text.length }))
    const a = await agent(open, async (run) => `${(await run.requireInput('Name?', { schema })).length}`)
    const id = await a.say('go')
    await a.reaches(id, 'input-required')
    await a.say('four', id)
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['4'])
    const values = (await a.journal(id)).flatMap(({ entry }) => (entry.kind === 'value' ? [entry.value] : []))
    expect(values).toEqual([{ values: { 'input#1': { length: 4 } } }])
  })

  test('expires', async () => {
    const a = await agent(open, async (run) => {
      const options = { schema: z.string(), expiresInMs: 5_000 }
      const error: unknown = await run.requireInput('Name?', options).catch((each: unknown) => each)
      return String(error)
    })
    const id = await a.say('go')
    const asked = await a.reaches(id, 'input-required')
    const [question] = openQuestionsOf(asked)
    expect(Date.parse(question?.expiresAt ?? '')).toBeGreaterThan(a.clock.now())
    a.clock.advance(5_000)
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['WaitTimedOutError: No answer came in time'])
    expect(a.errors).toEqual([])
  })

  test('is withdrawn by a signal, and takes no answer then', async () => {
    const given = new AbortController()
    let go = (): void => {}
    const gone = new Promise<void>((resolve) => (go = resolve))
    const a = await agent(open, async (run) => {
      const options = { schema: z.string(), signal: given.signal }
      const error: unknown = await run.requireInput('Name?', options).catch((each: unknown) => each)
      await gone
      return String(error)
    })
    const id = await a.say('go')
    const asked = await a.reaches(id, 'input-required')
    given.abort()
    await a.reaches(id, 'working')
    expect(await answer(a, asked, { 'input#1': 'x' })).toMatchObject({ error: { code: -32602 } })
    go()
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual([
      'WaitAbortedError: The question was withdrawn before an answer arrived',
    ])
  })

  test('is withdrawn by a signal that a listener aborts which hears of the question', async () => {
    const given = new AbortController()
    const a = await agent(open, (run) => {
      const options = { schema: z.string(), signal: given.signal }
      return run.requireInput('Name?', options).catch((error: unknown) => String(error))
    })
    a.tasks.on('task:stateChange', ({ to }) => {
      if (to === 'input-required') given.abort()
    })
    const id = await a.say('go')
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual([
      'WaitAbortedError: The question was withdrawn before an answer arrived',
    ])
    expect(a.errors).toEqual([])
  })
})

describe.each(MANAGERS)('over %s, an approval', (_, open) => {
  const book =
    (expiresInMs?: number): Execute =>
    async (run) => {
      const options = { message: 'Book for 42 €?', options: ['approve', 'reject', 'edit'] as const }
      const verdict = await run.approve('book', { ...options, ...(expiresInMs && { expiresInMs }) })
      return `It is ${verdict}`
    }

  test.each([
    ['edit', 'edit'],
    ['Approve.', 'approve'],
  ])('takes %s in words', async (text, verdict) => {
    const a = await agent(open, book(60_000))
    const id = await a.say('go')
    const asked = await a.reaches(id, 'input-required')
    expect(shown(asked)).toBe('Book for 42 €? (approve / reject / edit)')
    expect(openQuestionsOf(asked)[0]).toMatchObject({
      ...{ id: 'book#1', message: 'Book for 42 €?' },
      schema: { type: 'string', enum: ['approve', 'reject', 'edit'] },
    })
    await a.say(text, id)
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual([`It is ${verdict}`])
    expect(await a.kinds(id)).toEqual(['turn', 'sleep', 'question', 'answer', 'value', 'wake'])
  })

  test('takes a verdict by id, and refuses another', async () => {
    const a = await agent(open, book())
    const id = await a.say('go')
    const asked = await a.reaches(id, 'input-required')
    const reason = 'must be one of "approve", "reject", "edit"'
    expect(await answer(a, asked, { book: 'maybe' })).toMatchObject({
      error: refusal('answers.book#1', reason),
    })
    await answer(a, asked, { book: 'reject' })
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['It is reject'])
  })

  test('that expires is not one of the verdicts', async () => {
    const a = await agent(open, book(3_600_000))
    const id = await a.say('go')
    await a.reaches(id, 'input-required')
    a.clock.advance(3_600_000)
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['It is expired'])
    expect(await a.kinds(id)).toEqual(['turn', 'sleep', 'question', 'wake'])
  })
})

describe.each(MANAGERS)('over %s, several questions', (_, open) => {
  const plan: Execute = async (run) => {
    const { hotel, car, nights } = await run.ask({
      hotel: { message: 'Which hotel?', schema: z.string() },
      car: { message: 'A car?', schema: z.boolean() },
      nights: { message: 'How many nights?', schema: z.int() },
    })
    return `${hotel}, ${car ? 'with' : 'without'} a car, ${nights} nights`
  }

  test('are open at once, and answered together', async () => {
    const a = await agent(open, plan)
    const id = await a.say('go')
    const asked = await a.reaches(id, 'input-required')
    expect(shown(asked)).toBe('hotel: Which hotel?\ncar: A car? (yes / no)\nnights: How many nights?')
    await answer(a, asked, { hotel: 'Ritz', car: true, nights: 2 })
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['Ritz, with a car, 2 nights'])
  })

  test('are answered one by one, in any order', async () => {
    const a = await agent(open, plan)
    const id = await a.say('go')
    await answer(a, await a.reaches(id, 'input-required'), { nights: 1 })
    const rest = await a.reaches(id, 'input-required')
    expect(openQuestionsOf(rest).map((each) => each.id)).toEqual(['hotel#1', 'car#1'])
    expect(await answer(a, rest, { 'nights#1': 5 })).toMatchObject({ error: { code: -32602 } })
    await answer(a, rest, { car: false })
    await answer(a, await a.reaches(id, 'input-required'), { hotel: 'Inn' })
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['Inn, without a car, 1 nights'])
  })

  test('are answered in lines, and asked again for what is left', async () => {
    const a = await agent(open, plan)
    const id = await a.say('go')
    await a.reaches(id, 'input-required')
    await a.say('Ritz, please', id)
    const again = shown(await a.reaches(id, 'input-required'))
    expect(again).toContain('Please answer each question on a line of its own')
    await a.say('Hotel: Ritz\ncar: no\nnights: some', id)
    const rest = await a.reaches(id, 'input-required')
    expect(openQuestionsOf(rest).map((each) => each.id)).toEqual(['nights#1'])
    await a.say('7', id)
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['Ritz, without a car, 7 nights'])
  })

  test('may be named as properties of every object are', async () => {
    const a = await agent(open, async (run) => {
      const { constructor, toString } = await run.ask({
        constructor: { message: 'Who?', schema: z.string() },
        toString: { message: 'How?', schema: z.string() },
      })
      return `${constructor} ${toString}`
    })
    const id = await a.say('go')
    await answer(a, await a.reaches(id, 'input-required'), { 'constructor#1': 'x', 'toString#1': 'y' })
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['x y'])
  })
})

test.each<[string, (a: Agent, asked: Task) => Promise<unknown>]>([
  ['in words', (a, asked) => a.say('Rome', asked.id)],
  ['by id', (a, asked) => answer(a, asked, { input: 'Rome' })],
])('what a schema makes of an answer %s is one change with it, if it answers at once', async (_, say) => {
  const changesWith = async (schema: z.ZodType): Promise<string[]> => {
    const store = memoryStore()
    const commit = store.commit.bind(store)
    const changes: string[] = []
    const counted: TaskStore = Object.assign(store, {
      commit(...[change, ...others]: Parameters<TaskStore['commit']>) {
        const kinds = change.events.flatMap((event) => (event.type === 'history' ? event.entry.kind : []))
        changes.push(kinds.join())
        return commit(change, ...others)
      },
    })
    const a = await agent(
      (clock) => new DurableTaskManager({ store: counted, clock }),
      async (run) => String(await run.requireInput('Where?', { schema })),
    )
    const id = await a.say('go')
    await say(a, await a.reaches(id, 'input-required'))
    await a.reaches(id, 'completed')
    return changes
  }
  expect(await changesWith(z.string())).toContain('answer,value')
  const later = await changesWith(z.string().refine(() => Promise.resolve(true)))
  expect(later.filter((kinds) => /answer|value/.test(kinds))).toEqual(['answer', 'value'])
})

describe.each(MANAGERS)('over %s, what a schema makes of an answer', (_, open) => {
  test('can be larger than a step may be: the call rejects', async () => {
    const schema = z.string().transform((text) => text.repeat(2_000_000))
    const a = await agent(open, (run) =>
      run.requireInput('Where?', { schema }).catch((error: unknown) => String(error)),
    )
    const id = await a.say('go')
    await a.reaches(id, 'input-required')
    await a.say('x', id)
    const [text] = textsOf(await a.reaches(id, 'completed'))
    expect(text).toContain('Answer input#1')
    expect(text).toContain('limits.maxStepBytes')
    expect((await a.journal(id)).map(({ entry }) => entry.kind)).toEqual(['turn', 'question', 'answer'])
  })
})

describe('a call that is wrong', () => {
  const thrown = async (ask: (run: Run) => unknown): Promise<unknown> => {
    const [[, open]] = MANAGERS as unknown as readonly [readonly [string, (typeof MANAGERS)[0][1]]]
    let error: unknown
    const a = await agent(open, async (run) => {
      try {
        await ask(run)
      } catch (each) {
        error = each
      }
    })
    await a.reaches(await a.say('go'), 'completed')
    return error
  }
  const plain = {
    '~standard': { version: 1, vendor: 'x', validate: (value: unknown) => ({ value }) },
  } as const

  test.each<[string, (run: Run) => unknown, string]>([
    ['no JSON Schema', (run) => run.requireInput('x', { schema: plain }), 'has no JSON Schema'],
    ['no schema', (run) => run.requireInput('x', {} as never), '"schema" must be a Standard Schema'],
    ['an unknown option', (run) => run.requireInput('x', { schema: z.string(), exp: 1 } as never), '"exp"'],
    ['no attempts', (run) => run.requireInput('x', { schema: z.string(), attempts: 0 }), '"attempts"'],
    ['a time of zero', (run) => run.approve('x', { message: 'x', expiresInMs: 0 }), '"expiresInMs"'],
    ['one verdict twice', (run) => run.approve('x', { message: 'x', options: ['a', 'a'] }), '"options"'],
    ['no question', (run) => run.ask({}), '1 to 50 questions'],
    ['a list', (run) => run.ask([] as never), 'an object of questions'],
    ['a schema of dates', (run) => run.requireInput('x', { schema: z.date() }), 'has no JSON Schema'],
  ])('with %s says what to do', async (_, ask, text) => {
    expect(String(await thrown(ask))).toContain(text)
  })

  test('takes a JSON Schema of your own', async () => {
    const [[, open]] = MANAGERS as unknown as readonly [readonly [string, (typeof MANAGERS)[0][1]]]
    const a = await agent(open, async (run) => {
      const value = await run.requireInput('x', { schema: plain, jsonSchema: { type: 'number' } })
      return JSON.stringify(value)
    })
    const id = await a.say('go')
    await a.reaches(id, 'input-required')
    await a.say('5', id)
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['5'])
  })
})

test('an answer that two replicas get at once is taken once, and refused at the other', async () => {
  const seen: string[] = []
  const execute: Execute = async (run) => {
    const value = await run.requireInput('Which?', { schema: z.string() })
    seen.push(value)
    await run.requireInput('Enough?')
    return value
  }
  const { a, b } = replicas(execute)
  const { id } = await begin(a, 'go')
  const asked = await a.tasks.getTask(id)
  if (asked === null) throw new Error('There is no task')
  const given = await Promise.all([a, b, a, b].map((at, n) => answer(at, asked, { 'input#1': `${n}` })))
  const refused = given.filter((each) => Object.hasOwn(each as object, 'error'))
  expect(refused).toHaveLength(3)
  for (const each of refused)
    expect(each).toMatchObject({
      error: refusal(
        'answers.input#1',
        'is not open: the question was answered, has expired, or was never asked',
      ),
    })
  await begin(b, 'yes', id)
  for (const at of [a, b]) await expect.poll(() => stateAt(at, id)).toBe('completed')
  expect(seen).toHaveLength(1)
  expect(await resultOf(b, id)).toEqual(seen)
})

test('answers of a message are read, whatever else it has', () => {
  const parts = [
    { text: 'x' },
    { data: [] },
    { data: { [QUESTIONS]: { answers: [] } } },
    answerPart({ a: 1 }),
  ]
  expect(answersIn({ parts })).toEqual(new Map([['a', 1]]))
  expect(answersIn({ parts: parts.slice(0, 3) })).toBeUndefined()
})
