/** Streams that end in good order: before their task, or with it. */
import { A2AClient, type RemoteEvent } from 'a2a-tasks/client'
import { describe, expect, test } from 'vitest'
import { cardOf, chunk, envelope, status, task } from './scripted.js'

const WORKING = [{ task: task('working') }, chunk('some', { append: false })]
const REPLY = { message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'Hello' }] } }

const lines = (events: readonly object[]): string =>
  events.map((event) => `data: ${envelope({ id: null }, event)}\n\n`).join('')

/** A client whose streams have this body. */
function clientOf(body: string, contentType = 'text/event-stream'): A2AClient {
  const fetch = (): Promise<Response> =>
    Promise.resolve(new Response(body, { headers: { 'content-type': contentType } }))
  return new A2AClient({ card: cardOf(['http://agent.test']), fetch })
}

const WAYS = [
  ['stream()', (client: A2AClient) => client.stream('hi')],
  ['subscribe()', (client: A2AClient) => client.subscribe('t-1')],
] as const

describe.each(WAYS)('%s', (_, open) => {
  async function read(client: A2AClient): Promise<{ seen: RemoteEvent['type'][]; error: unknown }> {
    const seen: RemoteEvent['type'][] = []
    try {
      for await (const { type } of open(client)) seen.push(type)
      return { seen, error: undefined }
    } catch (error) {
      return { seen, error }
    }
  }

  test.each([
    ['with no event', '', []],
    ['after a snapshot of a task that works', lines(WORKING.slice(0, 1)), ['task']],
    ['after a chunk', lines(WORKING), ['task', 'artifact']],
    ['after the mark of OpenAI', `${lines(WORKING)}data: [DONE]\n\n`, ['task', 'artifact']],
    ['within an event', lines([...WORKING, status('completed')]).slice(0, -20), ['task', 'artifact']],
    [
      'after a question and its answer',
      lines([status('input-required'), status('working')]),
      ['status', 'status'],
    ],
  ])('that ends %s throws after what it has yielded', async (_name, body, events) => {
    const { seen, error } = await read(clientOf(body))
    expect(seen).toEqual(events)
    expect(error).toMatchObject({
      code: 'EXTERNAL_SERVICE_ERROR',
      message: 'A2A: http://agent.test ended the stream before the task ended',
      data: { url: 'http://agent.test' },
    })
  })

  test.each(['completed', 'failed', 'canceled', 'rejected', 'input-required', 'auth-required'])(
    'that ends with a task that is %s ends',
    async (state) => {
      expect((await read(clientOf(lines([...WORKING, status(state)])))).error).toBeUndefined()
      expect((await read(clientOf(lines([{ task: task(state) }])))).error).toBeUndefined()
    },
  )

  test('that is left does not throw', async () => {
    for await (const { type } of open(clientOf(lines(WORKING)))) {
      expect(type).toBe('task')
      break
    }
  })

  test('that is answered with a task instead of a stream throws while the task works', async () => {
    const answer = (state: string): A2AClient =>
      clientOf(envelope({ id: null }, { task: task(state) }), 'application/json')
    expect((await read(answer('completed'))).error).toBeUndefined()
    expect((await read(answer('working'))).error).toMatchObject({ code: 'EXTERNAL_SERVICE_ERROR' })
  })
})

test('a stream with a direct reply ends', async () => {
  const seen = []
  for await (const event of clientOf(lines([REPLY])).stream('hi')) seen.push(event.type)
  expect(seen).toEqual(['message'])
})
