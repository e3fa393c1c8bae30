/** Checks of robustness: bodies in pieces, large and deep ones, bytes that are no text. */

import type { Check } from '../kit/check.js'
import { describeAnswer, ensure, ensureEqual } from '../kit/mismatch.js'
import { expectError, resultOf } from '../kit/answers.js'
import { askOverSocket, chunk, LAST_CHUNK } from '../kit/socket.js'
import type { Target } from '../kit/targets.js'
import { expectState, sentTask } from '../kit/tasks.js'

const TEXT = 'echo 日本語 👩‍🚀'
const LARGE = 64 * 1_024
const DEPTH = 20_000
const HTTP = 'RFC 9112 §6, §7.1'

/** The request for a message over a socket, its body in pieces with the framing of `head`. */
async function sendInPieces(
  target: Target,
  head: readonly string[],
  pieces: readonly (string | Uint8Array)[],
): Promise<void> {
  const headers = Object.entries({ 'Content-Type': 'application/json', ...target.headers })
  const answer = await askOverSocket(`${target.url}${target.sendPath}`, {
    head: [...headers.map(([name, value]) => `${name}: ${value}`), ...head],
    pieces,
  })
  const whole = { ...answer, ...resultOf(target, answer) }
  const { text } = sentTask(whole)
  target.needs('text')
  ensure(whole, text.includes('日本語 👩‍🚀'), 'an artifact with the text', whole.text)
}

const bytesOf = (target: Target): Buffer => Buffer.from(JSON.stringify(target.bodyOf(TEXT)))

/** Pieces of a length that divides no character of several bytes evenly. */
function split(bytes: Buffer, length: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / length) }, (_, index) =>
    bytes.subarray(index * length, (index + 1) * length),
  )
}

export const BODY_CHECKS: readonly Check[] = [
  {
    id: 'body/split',
    title: 'a body may come in pieces that divide characters',
    spec: HTTP,
    async run({ target }) {
      const bytes = bytesOf(target)
      await sendInPieces(target, [`Content-Length: ${bytes.length}`], split(bytes, 7))
    },
  },
  {
    id: 'body/chunked',
    title: 'a body may be chunked, one byte at a time',
    spec: HTTP,
    async run({ target }) {
      const pieces = split(bytesOf(target), 1).map(chunk)
      await sendInPieces(target, ['Transfer-Encoding: chunked'], [...pieces, LAST_CHUNK])
    },
  },
  {
    id: 'body/large',
    title: 'a message of 64 KiB is accepted',
    spec: '1.0 §13.4',
    level: 'should',
    async run({ target }) {
      const answer = await target.send(`echo ${'x'.repeat(LARGE)}`)
      expectState(answer, sentTask(answer), 'completed')
    },
  },
  {
    id: 'body/deep',
    title: 'a body that is nested deeply is refused, and breaks nothing',
    spec: '1.0 §13.4',
    level: 'should',
    async run({ target }) {
      const message = JSON.stringify(target.bodyOf('echo deep'))
      const deep = message.replace('"echo deep"', `${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}`)
      const answer = await target.post(deep)
      const isRefused = answer.error != null && answer.status < 500 && answer.error.code !== -32603
      ensure(answer, isRefused, 'an error that blames the request', describeAnswer(answer))
    },
  },
  {
    id: 'body/no-utf-8',
    title: 'bytes that are no UTF-8 are refused',
    spec: '1.0 §14.1.1, RFC 8259 §8.1',
    level: 'should',
    async run({ target }) {
      const body = Buffer.from(
        JSON.stringify(target.bodyOf('echo ####')).replace('####', 'caf\xe9'),
        'latin1',
      )
      const answer = await target.post(body)
      if (target.isJsonRpc) expectError(target, answer, 'PARSE_ERROR')
      else ensure(answer, answer.status === 400, 'HTTP 400', describeAnswer(answer))
    },
  },
  {
    id: 'body/prototype',
    title: 'names of JavaScript objects are names like others',
    spec: '1.0 §13.4',
    async run({ target }) {
      const body = JSON.stringify(target.bodyOf('echo names'))
      const answer = await target.post(body.replace('{', '{"__proto__":{"polluted":true},"constructor":1,'))
      ensure(
        answer,
        answer.status < 500 && answer.error?.code !== -32603,
        'no internal error',
        describeAnswer(answer),
      )
      const after = await target.send('echo after')
      expectState(after, sentTask(after), 'completed')
      ensureEqual(after, 'polluted', sentTask(after).raw.polluted, undefined)
    },
  },
  {
    id: 'body/leaks',
    title: 'errors show neither stacks nor paths of the server',
    spec: '1.0 §13.4',
    async run({ target }) {
      for (const body of ['{', '[[[', JSON.stringify({ message: null }), 'x'.repeat(100)]) {
        const answer = await target.post(body)
        const leaks = /\bat .+:\d+:\d+|node_modules|\/(home|usr|var|app|srv)\//.test(answer.text)
        ensure(answer, !leaks, 'no stack and no path', answer.text)
        ensure(answer, answer.json !== undefined, 'an error as JSON', describeAnswer(answer))
      }
    },
  },
]
