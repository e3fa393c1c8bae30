/** Bodies of every shape: no step of a server or a client takes many times as long as `JSON.parse` of the same body. */
import { A2AClient } from 'a2a-tasks/client'
import { TaskManager } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler, type RequestHandler } from 'a2a-tasks/server'
import { describe, expect, onTestFinished, test } from 'vitest'
import { cpuMs } from '../support/cpu-time.js'
import { ORIGIN } from './spec/support/agent.js'

/** About the length of each body. */
const LENGTH = 1_000_000
/** The slowest shapes take up to 64 times as long as `JSON.parse`. What costs too much took at least 128 times as long. */
const FACTOR = 90
/** Below it, the time of `JSON.parse` says little. */
const LEAST_MS = 1

const many = <T>(length: number, make: (index: number) => T): T[] =>
  Array.from({ length: Math.floor(LENGTH / length) }, (_, index) => make(index))
const nested = (depth: number): unknown =>
  depth === 0 ? 1 : depth % 2 === 0 ? [nested(depth - 1)] : { a: nested(depth - 1) }
const repeat = (text: string): string => text.repeat(Math.floor(LENGTH / text.length / 4) * 4)

/** The parts of a message, or of an artifact; `json` is what the body has in place of the text `"@"`. */
const SHAPES: readonly (readonly [name: string, parts: readonly object[], json?: string])[] = [
  ['one long text', [{ text: repeat('words ') }]],
  ['a text of many alphabets', [{ text: repeat('wörd 字 😀 ') }]],
  ['a text of escapes', [{ text: '@' }], repeat('\\n\\"')],
  ['a text of Unicode escapes', [{ text: '@' }], repeat('\\u00e9\\ud83d\\ude00')],
  ['a text of line ends', [{ text: '@' }], repeat('\\r\\n\\u2028')],
  ['base64', [{ raw: repeat('ab+/') }]],
  ['base64 of URLs', [{ raw: repeat('-_') }]],
  ['base64 of URLs without padding', [{ raw: `${repeat('-_')}-_` }]],
  ['a URL', [{ url: `https://x.test/${repeat('-_./?&=%20')}` }]],
  ['many parts', many(15, () => ({ text: 'x' }))],
  ['many parts of base64 of URLs', many(18, () => ({ raw: '-_-_' }))],
  ['many parts of data', many(20, () => ({ data: { a: 1 } }))],
  ['many small strings', [{ data: many(5, (index) => `${index % 10}`) }]],
  ['many numbers', [{ data: many(4, (index) => index % 100) }]],
  ['long numbers', [{ data: '@' }], `",${'1.2345678901234567e-10,'.repeat(LENGTH / 24)}"`],
  ['a number of many digits', [{ data: ['@'] }], `",${'9'.repeat(300)}.${'9'.repeat(LENGTH)},"`],
  ['many keys', [{ data: Object.fromEntries(many(14, (index) => [`key${index}`, 1])) }]],
  ['keys that are numbers', [{ data: Object.fromEntries(many(9, (index) => [index, 1])) }]],
  ['long keys', [{ data: { [repeat('key')]: 1 } }]],
  ['deep nesting', [{ data: many(200, () => nested(60)) }]],
  ['wide objects', [{ data: many(60, () => ({ a: 1, b: 2, c: 3, d: 4, e: 5 })) }]],
  ['empty objects', [{ data: many(3, () => ({})) }]],
  ['empty lists', [{ data: many(3, () => []) }]],
  ['words and nulls', [{ data: many(6, () => null) }]],
  ['metadata', [{ text: 'x', metadata: { a: many(7, () => ({ b: 1 })) } }]],
]

/** The JSON of `value`, with `json` in place of the text "@". */
function bodyOf(value: unknown, json = '@'): string {
  return JSON.stringify(value).replace(/"@"/, () =>
    json.startsWith('",') ? `[""${json.slice(1, -1)}""]` : `"${json}"`,
  )
}

async function fastest(run: () => unknown): Promise<number> {
  let least = Infinity
  for (let attempt = 0; attempt < 3; attempt += 1) least = Math.min(least, await cpuMs(run))
  return least
}

async function expectFast(body: string, run: () => unknown): Promise<void> {
  const parse = Math.max(LEAST_MS, await fastest(() => JSON.parse(body)))
  let least = Infinity
  // A busy machine is slower, and garbage of other tests takes time.
  for (let attempt = 0; attempt < 3 && least > FACTOR * parse; attempt += 1)
    least = Math.min(least, await cpuMs(run))
  expect(least / parse).toBeLessThan(FACTOR)
}

function serve(tasks: TaskManager | DurableTaskManager): RequestHandler {
  const handler = createRequestHandler({
    card: { name: 'Shapes', url: ORIGIN },
    tasks,
    execute: (run) => ({ parts: run.message.parts }) as never,
  }) as unknown as RequestHandler
  onTestFinished(async () => {
    await handler.close({ graceMs: 1 })
    await tasks.destroy()
  })
  return handler
}

let ids = 0

describe.each(SHAPES.map(([name, parts, json]) => ({ name, parts, json })))('$name', ({ parts, json }) => {
  test.each([
    ['1.0, in memory', '1.0', () => new TaskManager()],
    ['1.0, in a store', '1.0', () => new DurableTaskManager({ store: memoryStore() })],
    ['0.3, in memory', '0.3', () => new TaskManager()],
  ])('a server of %s reads it, keeps it and answers with it', async (_version, version, open) => {
    const handler = serve(open())
    const isNew = version === '1.0'
    const kept = isNew ? parts : parts.map(toLegacy)
    const params = {
      message: {
        messageId: '#',
        role: isNew ? 'ROLE_USER' : 'user',
        parts: kept,
        ...(!isNew && { kind: 'message' }),
      },
    }
    const method = isNew ? 'SendMessage' : 'message/send'
    const text = bodyOf({ jsonrpc: '2.0', id: 1, method, params }, json)
    await expectFast(text, async () => {
      ids += 1
      const response = await handler.fetch(
        new Request(ORIGIN, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'a2a-version': version },
          body: text.replace('"#"', `"m-${ids}"`),
        }),
      )
      await response.text()
    })
  })

  test('a client reads it', async () => {
    const task = {
      id: 't',
      contextId: 'c',
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ artifactId: 'a', parts }],
    }
    const body = bodyOf({ jsonrpc: '2.0', id: 1, result: task }, json)
    const card = { name: 'Shapes', description: 'x', version: '1', capabilities: {}, skills: [] }
    const whole = {
      ...{ ...card, defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] },
      supportedInterfaces: [{ url: ORIGIN, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    }
    const client = await A2AClient.connect(ORIGIN, {
      fetch: (url, init) => {
        if (init.method !== 'POST') return Promise.resolve(Response.json(whole))
        const { id } = JSON.parse(init.body as string) as { readonly id: unknown }
        const answer = body.replace('"id":1', `"id":${JSON.stringify(id)}`)
        return Promise.resolve(new Response(answer, { headers: { 'content-type': 'application/json' } }))
      },
    })
    await expectFast(body, () => client.getTask('t'))
  })
})

function toLegacy(part: { text?: unknown; raw?: unknown; url?: unknown; data?: unknown }): object {
  const { raw, url, ...rest } = part
  if (raw !== undefined) return { kind: 'file', file: { bytes: raw } }
  if (url !== undefined) return { kind: 'file', file: { uri: url } }
  return { kind: part.text === undefined ? 'data' : 'text', ...rest }
}
