/** Values that are entered line by line, and the lines that the user reads. */
import { formOf } from 'a2a-tasks/client'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { enterAnswer } from '../../src/command-line/terminal/form.js'

type Answer = Awaited<ReturnType<typeof enterAnswer>>

/** Types these lines, and then leaves. Refusals begin with `!`, and places where the user types are `>`. */
async function enter(
  schema: z.ZodType,
  typed: readonly string[],
  { problem, before }: { readonly problem?: string; readonly before?: Answer } = {},
): Promise<{ readonly value: Answer; readonly shown: readonly string[] }> {
  const shown: string[] = []
  const left = [...typed]
  const desk = {
    say: (...lines: readonly string[]) => void shown.push(...lines),
    refuse: (text: string) => void shown.push(`! ${text}`),
    ask: (mayBeEmpty: boolean): Promise<string | undefined> => {
      shown.push(mayBeEmpty ? '(>)' : '>')
      return Promise.resolve(left.shift())
    },
  }
  const form = formOf(z.toJSONSchema(schema))
  const value = await enterAnswer(desk, { form, ...(problem !== undefined && { problem }) }, before)
  expect(left).toEqual([])
  return { value, shown }
}

test.each([
  ['2', 'reject'],
  ['Approve', 'approve'],
])('options have numbers: %s is %s', async (text, value) => {
  expect(await enter(z.enum(['approve', 'reject']), [text])).toEqual({
    value,
    shown: ['    1) approve', '    2) reject', '>'],
  })
})

test('what fits no option is asked again', async () => {
  expect(await enter(z.enum(['approve', 'reject']), ['3', 'maybe', '0', '1'])).toEqual({
    value: 'approve',
    shown: [
      ...['    1) approve', '    2) reject', '>', '! Please answer with a number from 1 to 2'],
      ...[
        '>',
        '! Please answer with a number from 1 to 2',
        '>',
        '! Please answer with a number from 1 to 2',
        '>',
      ],
    ],
  })
})

test.each([
  ['1', true],
  ['n', false],
])('yes and no are options: %s is %s', async (text, value) => {
  expect(await enter(z.boolean(), [text])).toEqual({ value, shown: ['    1) yes', '    2) no', '>'] })
})

test('options that are numbers have none beside them', async () => {
  expect(await enter(z.union([z.literal(3), z.literal(1)]), ['1'])).toEqual({
    value: 1,
    shown: ['    3', '    1', '>'],
  })
})

const TRIP = z.object({
  city: z.string().min(2).meta({ title: 'City', description: 'Where you sleep' }),
  nights: z.int().min(1),
  class: z.enum(['first', 'second']),
  note: z.string().optional(),
  stops: z.array(z.string()).optional(),
  payer: z.object({ email: z.email() }),
})

test('the fields of an object come one after the other, and those that are optional may be left out', async () => {
  const { value, shown } = await enter(TRIP, [
    'Rome',
    'two',
    '2',
    '2',
    '',
    '["Bern"',
    '["Bern"]',
    'ada@x.org',
  ])
  expect(value).toEqual({
    ...{ city: 'Rome', nights: 2, class: 'second', stops: ['Bern'] },
    payer: { email: 'ada@x.org' },
  })
  expect(shown).toEqual([
    ...['  City: Where you sleep', '>', '  nights', '>', '! Please answer with a whole number', '>'],
    ...['  class', '    1) first', '    2) second', '>', '  note (optional)', '(>)'],
    ...['  stops (optional)', '(>)', '! Please answer with JSON', '(>)', '  payer', '  email', '>'],
  ])
})

test.each([
  ['nights must be at least 1', ['3'], { nights: 3 }, ['  nights', '>']],
  ['payer.email is wrong', ['b@x.org'], { payer: { email: 'b@x.org' } }, ['  payer', '  email', '>']],
])('of what the agent refuses, only the field is asked again: %s', async (problem, typed, changed, shown) => {
  const before = { city: 'Rome', nights: 0, class: 'first', payer: { email: 'a' } }
  expect(await enter(TRIP, typed, { problem, before })).toEqual({ value: { ...before, ...changed }, shown })
})

test('all is asked again where the agent names no field', async () => {
  const before = { a: 'x', b: 'y' }
  const { shown } = await enter(z.object({ a: z.string(), b: z.string() }), ['1', '2'], {
    ...{ problem: 'No flights', before },
  })
  expect(shown).toEqual(['  a', '>', '  b', '>'])
})

test('the user can leave in the middle', async () => {
  expect(await enter(TRIP, ['Rome'])).toMatchObject({ value: undefined })
})

test('labels of agents cannot move the cursor, and are on one line', async () => {
  const { shown } = await enter(z.enum(['\x1b[2Jred\nblue', 'x']), ['2'])
  expect(shown[0]).toBe('    1) \\x1b[2Jred blue')
})

test('a field may have any name', async () => {
  const schema = z.object({ ['__proto__']: z.string(), constructor: z.string() })
  const { value } = await enter(
    schema,
    Object.keys(z.toJSONSchema(schema).properties ?? {}).map(() => 'x'),
  )
  expect(Object.keys(value as object)).toContain('constructor')
})
