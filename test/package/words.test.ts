/**
 * The language of the comments in `src/`, of the pages and of the examples: headers that name a responsibility, and few
 * words that stand for no actor.
 */
import { expect, test } from 'vitest'
import { FILES as ALL, read, SOURCES } from '../support/repository.js'

const QUESTION_WORD = /^\/\*\*?[\s*]*(What|Who|Whose|Whether|Which|How|Where|When|Why)\b/
const VAGUE_WORD = /\b(whoever|whomever|nobody|somebody|anybody|anew|meanwhile)\b/gi
const MAX_VAGUE_WORDS = 25

const MAX_VAGUE_WORDS_OF_PAGES = 15

const FILES = SOURCES.map((file) => ({ file, text: read(`src/${file}`) }))
const PAGES = ALL.filter((file) => file === 'README.md' || /^(docs|examples)\/.*\.(md|ts)$/.test(file)).map(
  (file) => ({ file, text: read(file) }),
)

test('no file header begins with a question word', () => {
  expect(FILES.filter(({ text }) => QUESTION_WORD.test(text)).map(({ file }) => file)).toEqual([])
})

test(`words without an actor occur at most ${MAX_VAGUE_WORDS} times in the sources`, () => {
  const found = vagueWordsOf(FILES)
  expect(found.length, found.join('\n')).toBeLessThanOrEqual(MAX_VAGUE_WORDS)
})

test(`words without an actor occur at most ${MAX_VAGUE_WORDS_OF_PAGES} times in the pages and examples`, () => {
  const found = vagueWordsOf(PAGES)
  expect(PAGES.length).toBeGreaterThan(40)
  expect(found.length, found.join('\n')).toBeLessThanOrEqual(MAX_VAGUE_WORDS_OF_PAGES)
})

test('the README has 500 to 700 words', () => {
  const words = proseOf(read('README.md')).match(/\p{L}[^\s|]*/gu) ?? []
  expect(words.length).toBeGreaterThanOrEqual(500)
  expect(words.length).toBeLessThanOrEqual(700)
})

test('a header and a word that are wrong are found', () => {
  expect(QUESTION_WORD.test('/** What comes of a message. */\n')).toBe(true)
  expect(QUESTION_WORD.test('/**\n * Whether it ended.\n')).toBe(true)
  expect(QUESTION_WORD.test('/** Whatever a message led to. */\n')).toBe(false)
  expect(QUESTION_WORD.test("import './a.js'\n/** What comes of it. */\n")).toBe(false)
  expect('Nobody, somebodyElse and anew'.match(VAGUE_WORD)).toEqual(['Nobody', 'anew'])
})

/** The words of a page, with those of its tables, but without its programs and the targets of its links. */
function proseOf(text: string): string {
  return text.replace(/^```[^]*?^```$/gm, '').replace(/\]\([^)]*\)/g, ']')
}

function vagueWordsOf(files: readonly { readonly file: string; readonly text: string }[]): string[] {
  return files.flatMap(({ file, text }) =>
    text.split('\n').flatMap((line, index) => {
      return [...line.matchAll(VAGUE_WORD)].map(([word]) => `${file}:${index + 1}: ${word}`)
    }),
  )
}
