/** Error texts of the schemas: independent of the user's configuration of zod. */
import { afterEach, describe, expect, test } from 'vitest'
import * as classic from 'zod'
import * as z from 'zod/mini'
import { MessageSchema, TaskSchema } from '../../src/schemas/index.js'
import { check } from '../../src/wire/check-zod.js'

const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }

afterEach(() => {
  z.config(classic.locales.en())
})

describe.each([
  ['no locale', { localeError: () => undefined }],
  ['English', classic.locales.en()],
  ['German', classic.locales.de()],
])('with %s', (_, locale) => {
  test.each([
    [{ ...message, messageId: 5 }, 'messageId', 'must be a string, got a number'],
    [{ ...message, messageId: null }, 'messageId', 'must be a string, got null'],
    [{ ...message, messageId: [] }, 'messageId', 'must be a string, got an array'],
    [{ ...message, messageId: { length: { toString: 1 } } }, 'messageId', 'must be a string, got an object'],
    [{ ...message, messageId: '' }, 'messageId', 'must not be empty'],
    [{ role: message.role, parts: message.parts }, 'messageId', 'is missing'],
    [{ ...message, role: 'user' }, 'role', 'must be one of ROLE_USER, ROLE_AGENT'],
    [{ ...message, parts: {} }, 'parts', 'must be an array, got an object'],
    [{ ...message, parts: [5] }, 'parts.0', 'must be an object, got a number'],
    [{ ...message, parts: [{ text: true }] }, 'parts.0.text', 'must be a string, got a boolean'],
  ])('%j: %s %s', (value, path, text) => {
    z.config(locale)
    const [issue] = MessageSchema.safeParse(value).error?.issues ?? []
    expect([issue?.path.join('.'), issue?.message]).toEqual([path, text])
    const Envelope = classic.object({ message: MessageSchema })
    const [outer] = Envelope.safeParse({ message: value }).error?.issues ?? []
    expect([outer?.path.join('.'), outer?.message]).toEqual([`message.${path}`, text])
  })

  test('of schemas that say nothing themselves', () => {
    z.config(locale)
    const schema = z.object({ a: z.string() })
    expect(() => check(schema, { a: 1 })).toThrow('a must be a string, got a number')
    expect(() => check(schema, {})).toThrow('a is missing')
    expect(() => check(z.literal('x'), 'y', 'root')).toThrow('root must be one of x')
  })
})

test('they are schemas of zod/mini, with its methods and functions', () => {
  expect(MessageSchema).toBeInstanceOf(z.ZodMiniObject)
  const Extended = z.extend(MessageSchema, { own: z.number() })
  expect(Extended.parse({ ...message, own: 1 })).toEqual({ ...message, own: 1 })
  expect(z.pick(TaskSchema, { id: true }).safeParse({ id: 5 }).error?.issues[0]?.message).toBe(
    'must be a string, got a number',
  )
})
