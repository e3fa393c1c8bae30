/** Questions of agents with a schema, as a client gets and answers them. */
import { A2AClient, valueFromText, type AgentQuestion } from 'a2a-tasks/client'
import { textOf, type Run } from 'a2a-tasks/server'
import { fakeAgent } from 'a2a-tasks/testing'
import { QUESTIONS } from 'a2a-tasks/wire'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'

async function connect(execute: (run: Run) => Promise<string>): Promise<A2AClient> {
  const { url, fetch } = fakeAgent(execute)
  return await A2AClient.connect(url, { fetch })
}

const plan = async (run: Run): Promise<string> => {
  const { city, nights } = await run.ask({
    city: { message: 'Where?', schema: z.enum(['Rome', 'Oslo']) },
    nights: {
      message: 'How long?',
      schema: z
        .int()
        .min(1)
        .refine((count) => count !== 13, 'Not 13'),
    },
  })
  return `${nights} nights in ${city}`
}

describe('a run with onQuestions', () => {
  test('gets the questions, and sends the values', async () => {
    const seen: (readonly AgentQuestion[])[] = []
    const result = await (
      await connect(plan)
    ).run('go', {
      onQuestions: (questions) => {
        seen.push(questions)
        return { city: 'Oslo', 'nights#1': 2 }
      },
    })
    expect(result).toMatchObject({ type: 'completed', text: '2 nights in Oslo' })
    const options = ['Rome', 'Oslo'].map((value) => ({ value, label: value }))
    expect(seen).toEqual([
      [
        {
          ...{ id: 'city#1', message: 'Where?', options, form: { type: 'choice', options } },
          schema: { type: 'string', enum: ['Rome', 'Oslo'] },
        },
        expect.objectContaining({ id: 'nights#1', form: { type: 'number', isWhole: true } }),
      ],
    ])
  })

  test('may answer one by one', async () => {
    const seen: string[][] = []
    const result = await (
      await connect(plan)
    ).run('go', {
      onQuestions: (questions) => {
        seen.push(questions.map(({ id }) => id))
        const [first] = questions
        return first && { [first.id]: first.options?.[0]?.value ?? 3 }
      },
    })
    expect(result.text).toBe('3 nights in Rome')
    expect(seen).toEqual([['city#1', 'nights#1'], ['nights#1']])
  })

  test('is asked again with what was wrong, here and at the agent', async () => {
    const problems: (string | undefined)[] = []
    const given = [0, 13, 14]
    const result = await (
      await connect(plan)
    ).run('go', {
      onQuestions: (questions) => {
        problems.push(questions.find(({ id }) => id === 'nights#1')?.problem)
        return { 'city#1': 'Rome', 'nights#1': given.shift() }
      },
    })
    expect(result.text).toBe('14 nights in Rome')
    expect(problems).toEqual([undefined, 'must be at least 1', 'Not 13'])
  })

  test.each([
    ['that its schema refuses', 0, 11, 'answers.nights#1 must be at least 1'],
    ['that the agent refuses', 13, 11, 'answers.nights#1 Not 13'],
  ])('ends when it repeats a value %s', async (_, value, count, text) => {
    let calls = 0
    const client = await connect(plan)
    const outcome = await client
      .run('go', {
        onQuestions: () => {
          calls += 1
          return { 'nights#1': value }
        },
      })
      .catch((error: unknown) => ({ text: String(error) }))
    expect(calls).toBe(count)
    expect(outcome.text).toContain(text)
  })

  test('rejects for an answer to no question', async () => {
    const client = await connect(plan)
    await expect(client.run('go', { onQuestions: () => ({ town: 'Rome' }) })).rejects.toThrow(
      'answers.town is no question: open are city#1, nights#1',
    )
  })

  test('leaves plain questions, and what it does not answer, to onInputRequired', async () => {
    const client = await connect(async (run) => {
      const name = textOf(await run.requireInput('Name?'))
      return `${name} ${await run.requireInput('Age?', { schema: z.int() })}`
    })
    const asked: string[] = []
    const result = await client.run('go', {
      onQuestions: () => undefined,
      onInputRequired: (task) => {
        asked.push(textOf(task.message ?? {}))
        return asked.length === 1 ? 'Ada' : '36'
      },
    })
    expect([result.text, asked]).toEqual(['Ada 36', ['Name?', 'Age?']])
  })

  test('gets what a hostile agent asks in bounds', async () => {
    const bomb = {
      $ref: '#/$defs/a',
      $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] } },
    }
    const question = (id: unknown, schema: unknown): object => ({ id, message: 'x', schema })
    const questions = [
      ...[question('a', bomb), question(5, {}), question('', {}), null, 'x', question('b', 'x')],
      question('c', { enum: ['x'.repeat(300_000)] }),
      ...Array.from({ length: 1_000 }, (_, n) => question(`n${n}`, { type: 'string', pattern: '^(a+)+$' })),
    ]
    const client = await connect(async (run) => {
      const parts = [{ text: 'Now?' }, { data: { [QUESTIONS]: { questions } } }]
      return textOf(await run.requireInput({ parts }))
    })
    let seen: readonly AgentQuestion[] = []
    const result = await client.run('go', {
      onQuestions: (given) => {
        seen = given
        return undefined
      },
    })
    expect(result.type).toBe('input-required')
    expect(seen).toHaveLength(96)
    expect(seen.slice(0, 3).map(({ id, form }) => [id, form.type])).toEqual([
      ['a', 'json'],
      ['b', 'json'],
      ['c', 'json'],
    ])
    expect(valueFromText(seen[3]?.form ?? { type: 'json' }, 'a!')).toEqual({ value: 'a!' })
  })
})
