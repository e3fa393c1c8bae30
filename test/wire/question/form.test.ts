/** JSON Schema as a form: kinds, texts that are certain, and schemas that want to do harm. */
import { formOf, valueFromText } from '../../../src/wire/question/form.js'
import { violationOf } from '../../../src/wire/question/violation.js'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'

const form = (schema: z.ZodType): ReturnType<typeof formOf> => formOf(z.toJSONSchema(schema, { io: 'input' }))

describe('a schema as a form', () => {
  it.each([
    [z.string(), { type: 'text' }],
    [z.iso.date(), { type: 'text', format: 'date' }],
    [z.number(), { type: 'number', isWhole: false }],
    [z.int(), { type: 'number', isWhole: true }],
    [z.boolean(), { type: 'boolean' }],
    [z.string().nullable(), { type: 'text' }],
    [z.array(z.string()), { type: 'json' }],
    [z.record(z.string(), z.number()), { type: 'json' }],
    [z.unknown(), { type: 'json' }],
    [z.enum(['a', 'b']), { type: 'choice', options: [option('a'), option('b')] }],
    [z.literal([1, 'x']), { type: 'choice', options: [option(1), option('x')] }],
    [z.union([z.literal('a'), z.literal('b')]), { type: 'choice', options: [option('a'), option('b')] }],
  ])('%#', (schema, expected) => {
    expect(form(schema)).toEqual(expected)
  })

  it('has the fields of an object, with their titles', () => {
    const trip = z.object({ city: z.string().meta({ title: 'City' }), nights: z.int().optional() })
    expect(form(trip)).toEqual({
      type: 'object',
      fields: [
        { name: 'city', label: 'City', isRequired: true, form: { type: 'text' } },
        { name: 'nights', label: 'nights', isRequired: false, form: { type: 'number', isWhole: true } },
      ],
    })
  })

  it('follows references within the document', () => {
    const schema = { $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'string' } } }
    expect(formOf(schema)).toEqual({ type: 'text' })
  })
})

function option(value: string | number): { value: string | number; label: string } {
  return { value, label: String(value) }
}

describe('a text as a value', () => {
  const choice = z.enum(['approve', 'reject'])
  it.each([
    [z.string(), ' Rome ', 'Rome'],
    [z.number(), '42', 42],
    [z.number(), '-1.5e2', -150],
    [z.number(), '42 €', undefined],
    [z.number(), '1e999', undefined],
    [z.number(), '', undefined],
    [z.int(), '4.5', undefined],
    [z.boolean(), 'Yes.', true],
    [z.boolean(), 'no', false],
    [z.boolean(), 'yes, but later', undefined],
    [choice, 'Approve!', 'approve'],
    [choice, 'I approve', undefined],
    [z.enum(['approve', 'reject']), 'Yes.', 'approve'],
    [z.enum(['reject', 'approve']), 'no', 'reject'],
    [z.enum(['approve', 'reject']), 'ok', undefined],
    [z.enum(['approve', 'reject']), 'yes, but later', undefined],
    [z.enum(['approve', 'reject', 'edit']), 'yes', undefined],
    [z.enum(['yes', 'no', 'reject']), 'no', 'no'],
    [z.enum(['a', 'A']), 'a', undefined],
    [z.object({ a: z.string() }), '{"a":"b"}', { a: 'b' }],
    [z.object({ a: z.string() }), 'b', undefined],
    [z.object({ a: z.string() }), '{b', undefined],
  ])('%#', (schema, text, expected) => {
    expect(valueFromText(form(schema), text)?.value).toEqual(expected)
  })
})

describe('a value against its schema', () => {
  const trip = z.object({
    city: z.string().min(2),
    days: z.array(z.int().min(1)).max(2),
    to: z.enum(['a', 'b']),
  })
  const good = { city: 'Rome', days: [1], to: 'a' }
  it.each([
    [good, undefined],
    [
      { ...good, city: 1 },
      { path: '.city', reason: 'must be a text' },
    ],
    [
      { ...good, city: 'R' },
      { path: '.city', reason: 'must have at least 2 characters' },
    ],
    [
      { ...good, days: [1, 0.5] },
      { path: '.days[1]', reason: 'must be a whole number' },
    ],
    [
      { ...good, days: [0] },
      { path: '.days[0]', reason: 'must be at least 1' },
    ],
    [
      { ...good, to: 'c' },
      { path: '.to', reason: 'must be one of "a", "b"' },
    ],
    [
      { city: 'Rome', days: [] },
      { path: '.to', reason: 'is missing' },
    ],
    ['Rome', { path: '', reason: 'must be an object' }],
  ])('%#', (value, expected) => {
    expect(violationOf(z.toJSONSchema(trip, { io: 'input' }), value)).toEqual(expected)
  })

  it('takes any of several kinds', () => {
    const schema = z.toJSONSchema(z.union([z.object({ a: z.string() }), z.number()]))
    expect([violationOf(schema, 1), violationOf(schema, { a: 'x' })]).toEqual([undefined, undefined])
    expect(violationOf(schema, 'x')).toMatchObject({ path: '' })
  })
})

/** Without bounds, these take longer than a test may. */
describe('a schema that wants to do harm', () => {
  const doubling = (): object => {
    const $defs: Record<string, object> = { a0: { type: 'string' } }
    for (let n = 1; n <= 30; n += 1)
      $defs[`a${n}`] = { anyOf: [{ $ref: `#/$defs/a${n - 1}` }, { $ref: `#/$defs/a${n - 1}` }] }
    return { $ref: '#/$defs/a30', $defs }
  }
  const nested = (depth: number): object => {
    let schema: object = { type: 'string' }
    for (let n = 0; n < depth; n += 1) schema = { type: 'object', properties: { a: schema }, required: ['a'] }
    return schema
  }
  const properties = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, n) => [`p${n}`, { type: 'string' }]),
  )

  it.each([
    ['a reference to itself', { $ref: '#' }],
    [
      'references in a circle',
      { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
    ],
    ['an alternative of itself', { anyOf: [{ $ref: '#' }, { $ref: '#' }], allOf: [{ $ref: '#' }] }],
    ['doubling alternatives', doubling()],
    ['10,000 properties', { type: 'object', properties, required: Object.keys(properties) }],
    ['a deep schema', nested(1_000)],
    ['a pattern that explodes', { type: 'string', pattern: '^(a+)+$' }],
    ['10,000 options', { enum: Object.keys(properties) }],
    [
      'odd keywords',
      { type: 5, properties: 'x', required: [1, null], enum: {}, anyOf: [1], items: 3, minLength: {} },
    ],
    ['a reference to a prototype', { $ref: '#/__proto__/constructor' }],
    ['no schema', null],
  ])('%s is read in bounds', (_, schema) => {
    const value = {
      a: { a: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!' },
      list: Array.from({ length: 1_000 }, () => [1]),
    }
    const read = formOf(schema)
    for (const each of [value, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!', 1, null]) violationOf(schema, each)
    expect(['json', 'text', 'choice', 'object']).toContain(read.type)
    expect(JSON.stringify(read).length).toBeLessThan(20_000)
  })
})
