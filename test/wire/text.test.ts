import { expect, test } from 'vitest'
import { textOf } from 'a2a-tasks/server'

test('textOf joins the texts of parts', () => {
  expect(textOf({ parts: [{ text: 'a' }, { data: 1 }, { text: 'b' }] })).toBe('ab')
  expect(textOf({})).toBe('')
})

test('textOf refuses a promise, which would have an empty text', () => {
  // As JavaScript without `await` passes it.
  const answer: object = Promise.resolve({ parts: [{ text: 'Rome' }] })
  expect(() => textOf(answer)).toThrow(new TypeError('textOf() got a promise: await it'))
})
