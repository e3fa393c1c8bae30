/** What a hostile agent asks, read and answered by clients with a small heap. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../../support/repository.js'

/** Asks what `ask` returns, and answers it once with `value`. Prints how the form begins, and how the run ends. */
const PROGRAM = `
import { A2AClient } from 'a2a-tasks/client'
import { textOf } from 'a2a-tasks/server'
import { fakeAgent } from 'a2a-tasks/testing'
import { QUESTIONS } from 'a2a-tasks/wire'
const many = (count, of) => Array.from({ length: count }, (_, n) => of(n))
const named = (count, of) => Object.fromEntries(many(count, (n) => ['p' + n, of(n)]))
const nested = (depth, of) => depth === 0 ? {} : of(nested(depth - 1, of))
const [schema, value] = eval(process.argv.at(-1))
const { url, fetch } = fakeAgent(async (run) => {
  const questions = [{ id: 'q', message: 'x', schema }]
  return textOf(await run.requireInput({ parts: [{ data: { [QUESTIONS]: { questions } } }] }))
})
const client = await A2AClient.connect(url, { fetch })
let form
const result = await client
  .run('go', { onQuestions: ([question]) => { form ??= question.form; return { q: value } } })
  .catch(({ code }) => ({ type: code }))
console.log(form?.type, (JSON.stringify(form) ?? '').length < 2_000_000, result.type)
`

const LONG_REFERENCE = `'#' + '/a'.repeat(100_000)`
const CASES: readonly (readonly [string, string, string])[] = [
  ['references in a loop', `[{ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } }, 1]`, 'json'],
  [
    'a long reference, used by 100 fields and 1,000 values',
    `[{ $defs: { a: { $ref: ${LONG_REFERENCE} } }, properties: named(99, () => ({ $ref: '#/$defs/a' })),
      type: 'object', additionalProperties: { $ref: '#/$defs/a' } }, named(9_000, () => 1)]`,
    'object',
  ],
  [
    'alternatives that reject a large value one by one',
    `[{ type: 'object',
       anyOf: many(8_000, () => ({ additionalProperties: false })) }, named(20_000, () => 1)]`,
    'json',
  ],
  [
    'a large enum for each of many values',
    `[{ type: 'array', items: { enum: many(60_000, (n) => n) } }, many(9_000, () => 59_999)]`,
    'json',
  ],
  [
    'many fields with a large list of types and of required names',
    `[{ $defs: { a: { type: ['object', ...many(20_000, () => 'null')], properties: {}, required: many(20_000, (n) => n) } },
       type: 'object', properties: named(99, () => ({ $ref: '#/$defs/a' })) }, named(99, () => ({}))]`,
    'object',
  ],
  [
    'a long text that is allowed by each of many alternatives',
    `[{ $defs: { a: { enum: ['y'.repeat(100_000)] } }, anyOf: many(6_000, () => ({ $ref: '#/$defs/a' })) }, 'x'.repeat(100_000)]`,
    'json',
  ],
  [
    '100 fields with 100 options each',
    `[{ $defs: { a: { enum: many(100, (n) => 'x'.repeat(1_000) + n) } }, type: 'object', properties: named(99, () => ({ $ref: '#/$defs/a' })) }, {}]`,
    'object',
  ],
  ['10,000 properties', `[{ type: 'object', properties: named(10_000, () => ({})) }, {}]`, 'json'],
  ['a pattern that explodes', `[{ type: 'string', pattern: '^(a+)+$' }, 'a'.repeat(100) + '!']`, 'text'],
  ['a deep schema and value', `[nested(40, (a) => ({ items: a })), nested(40, (a) => [a])]`, 'json'],
  ['a schema of 4 MB', `[{ enum: many(400_000, (n) => 'x' + n) }, 1]`, 'undefined'],
]

describe('a client with a heap of 48 MB reads', () => {
  it.each(CASES)(
    '%s',
    async (_, question, form) => {
      const flags = ['--max-old-space-size=48', '--input-type=module', '--eval', PROGRAM]
      const options = { cwd: ROOT, timeout: 20_000 }
      const { stdout } = await promisify(execFile)(process.execPath, [...flags, '--', question], options)
      expect(stdout).toMatch(new RegExp(`^${form} true (completed|failed|INVALID_PARAMS)\n$`))
    },
    30_000,
  )
})
