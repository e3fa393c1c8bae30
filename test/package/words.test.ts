/** The language of the comments in `src/`: headers that name a responsibility, and few words that stand for no actor. */
import { expect, test } from 'vitest'
import { read, SOURCES } from '../support/repository.js'

const QUESTION_WORD = /^\/\*\*?[\s*]*(What|Who|Whose|Whether|Which|How|Where|When|Why)\b/
const VAGUE_WORD = /\b(whoever|whomever|nobody|somebody|anybody|anew|meanwhile)\b/gi
const MAX_VAGUE_WORDS = 25

const FILES = SOURCES.map((file) => ({ file, text: read(`src/${file}`) }))

test('no file header begins with a question word', () => {
  expect(FILES.filter(({ text }) => QUESTION_WORD.test(text)).map(({ file }) => file)).toEqual([])
})

test(`words without an actor occur at most ${MAX_VAGUE_WORDS} times`, () => {
  const found = FILES.flatMap(({ file, text }) =>
    text.split('\n').flatMap((line, index) => {
      return [...line.matchAll(VAGUE_WORD)].map(([word]) => `${file}:${index + 1}: ${word}`)
    }),
  )
  expect(found.length, found.join('\n')).toBeLessThanOrEqual(MAX_VAGUE_WORDS)
})

test('a header and a word that are wrong are found', () => {
  expect(QUESTION_WORD.test('/** What comes of a message. */\n')).toBe(true)
  expect(QUESTION_WORD.test('/**\n * Whether it ended.\n')).toBe(true)
  expect(QUESTION_WORD.test('/** Whatever a message led to. */\n')).toBe(false)
  expect(QUESTION_WORD.test("import './a.js'\n/** What comes of it. */\n")).toBe(false)
  expect('Nobody, somebodyElse and anew'.match(VAGUE_WORD)).toEqual(['Nobody', 'anew'])
})
