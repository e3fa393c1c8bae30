/** A handler that serves the default dialects says what would serve a request in another one. */
import { corvid, kaos, litellm, v0_1 } from 'a2a-tasks/compat'
import { v0_3, v1 } from 'a2a-tasks/wire'
import { describe, expect, test } from 'vitest'
import { agent, post } from '../server/spec/support/agent.js'
import { failure, result } from '../server/dialects/support/dialects.js'

const DIALECTS = [v0_1(), kaos(), corvid(), litellm()]
/** Those that say nothing of whose they are: other protocols have a `ping`. */
const COMMON = ['ping', ...v1().methods.keys(), ...v0_3().methods.keys()]
const TYPED = { role: 'user', parts: [{ type: 'text', text: 'hi' }] }

const hintOf = (factory: string): unknown =>
  expect.stringContaining(`dialects: [v1(), v0_3(), ${factory}], of a2a-tasks/compat`)

const METHODS = DIALECTS.flatMap(({ version, methods, cardMethods = new Map<string, unknown>() }) =>
  [...methods.keys(), ...cardMethods.keys()]
    .filter((method) => !COMMON.includes(method))
    .map((method) => [method, version] as const),
)
const FACTORIES: Record<string, string> = {
  '0.1': 'v0_1()',
  kaos: 'kaos()',
  corvid: 'corvid()',
  litellm: 'litellm()',
}

describe('a hint names the dialect', () => {
  test.each(METHODS)('of the method %s of %s', async (method, version) => {
    const params = version === '0.1' ? { id: 'chosen', message: TYPED } : { message: TYPED }
    const error = await failure(
      agent(() => 'done'),
      method,
      params,
    )
    expect(error).toMatchObject({ code: -32601, message: hintOf(FACTORIES[version] ?? '') })
  })

  test('of a message of KAOS, which has a method of 1.0', async () => {
    const error = await failure(
      agent(() => 'done'),
      'SendMessage',
      { message: TYPED },
    )
    expect(error).toMatchObject({ code: -32602, message: hintOf('kaos()') })
  })

  test.each(Object.entries(FACTORIES))('of the version %s', async (version, factory) => {
    const error = await failure(
      agent(() => 'done'),
      'GetTask',
      { id: 'x' },
      { headers: { 'a2a-version': version } },
    )
    expect(error).toMatchObject({ code: -32009, message: hintOf(factory) })
  })

  test.each([
    ['/a2a/tasks/send', 'corvid()'],
    ['/v1/chat/completions', 'kaos()'],
  ])('of the path %s', async (path, factory) => {
    const { handler } = agent(() => 'done')
    const response = await handler.fetch(post(path, { message: 'hi' }))
    expect([404, 405]).toContain(response.status)
    expect(await response.json()).toMatchObject({ error: { message: hintOf(factory) } })
  })
})

describe('there is no hint', () => {
  test('where the dialect is served', async () => {
    const a = agent(() => 'done', { dialects: [v1(), ...DIALECTS] })
    expect(await result(a, 'tasks/send', { id: 'chosen', message: TYPED })).toMatchObject({ id: 'chosen' })
    expect(await failure(a, 'SendMessage', { message: { role: 'user', text: '' } })).toMatchObject({
      message: 'Message must contain text content',
    })
  })

  test.each([
    ['unknown', {}],
    ['toString', {}],
    ['constructor', {}],
  ])('for the method %s', async (method, params) => {
    const error = await failure(
      agent(() => 'done'),
      method,
      params,
    )
    expect(error).toMatchObject({ message: `Method not found in A2A 1.0: "${method}"` })
  })

  test('for an invalid message of 1.0', async () => {
    const error = await failure(
      agent(() => 'done'),
      'SendMessage',
      { message: { messageId: 'm', parts: [{ type: 'text', text: 'hi' }] } },
    )
    expect(error['message']).not.toContain('compat')
  })
})
