/** The rest of a stream that has broken, by the id of its last event (2025-11-25). */
import { expect, it, onTestFinished } from 'vitest'
import { createMcpHandler, type McpOptions } from 'a2a-tasks/mcp'
import { createRequestHandler, textOf, type Execute, type RequestHandler } from 'a2a-tasks/server'
import { requestOf, URL as AT, type Json } from './kit.js'
import { Stream } from './stream.js'

const HEADERS = { 'mcp-protocol-version': '2025-11-25' }

interface CallOptions {
  readonly id?: string | number
  readonly progressToken?: string | number
  readonly headers?: object
}

/** A client with a session, and a second process over the same tasks, to which it goes when its stream has broken. */
async function sceneOf(execute: Execute, capabilities: object = {}, options: McpOptions = {}) {
  const handler = createRequestHandler({
    card: { name: 'Agent', url: 'https://agent.test' },
    authenticate: (request) => ({ id: request.headers.get('authorization') ?? 'ann' }),
    onError: () => undefined,
    execute,
  })
  onTestFinished(() => handler.close({ graceMs: 0 }))
  const [first, other] = [processOf(handler, options), processOf(handler, options)]
  const params = { protocolVersion: '2025-11-25', capabilities }
  const begun = await first(requestOf({ jsonrpc: '2.0', id: 0, method: 'initialize', params }))
  const session = { ...HEADERS, 'mcp-session-id': begun.headers.get('mcp-session-id') }
  const call = async ({ id = 7, progressToken, headers }: CallOptions = {}): Promise<Stream> => {
    const _meta = progressToken === undefined ? {} : { progressToken }
    const given = { name: 'default', arguments: { message: 'Go' }, _meta }
    const body = { jsonrpc: '2.0', id, method: 'tools/call', params: given }
    return new Stream(await first(requestOf(body, { ...session, ...headers })))
  }
  const resume = async (eventId: string | undefined, headers: object = {}): Promise<Stream> => {
    const all = { ...session, ...(eventId !== undefined && { 'last-event-id': eventId }), ...headers }
    return new Stream(await other(new Request(AT, { headers: all as Record<string, string> })))
  }
  const respond = async (id: unknown, content: object): Promise<void> => {
    const body = { jsonrpc: '2.0', id, result: { action: 'accept', content } }
    expect((await other(requestOf(body, session))).status).toBe(202)
  }
  return { tasks: handler.tasks, call, resume, respond, first, session }
}

function processOf(handler: RequestHandler, options: McpOptions): (request: Request) => Promise<Response> {
  return createMcpHandler(handler, { waitMs: 5, pollIntervalMs: 20, onError: () => undefined, ...options })
}

function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open }
}

it('a stream that breaks before its first message goes on at another process, with the result', async () => {
  const { opened, open } = gate()
  const { call, resume, tasks } = await sceneOf(async () => {
    await opened
    return 'Done'
  })
  const broken = await call()
  const begun = await broken.next()
  expect(begun).toEqual({ id: expect.any(String) as string, message: undefined })
  await broken.break()
  const rest = await resume(begun?.id)
  expect(rest.response.headers.get('content-type')).toBe('text/event-stream')
  open()
  const { id, message } = await rest.message()
  expect(message).toMatchObject({ id: 7, result: { isError: false, content: [{ text: 'Done' }] } })
  expect(await rest.next()).toBeUndefined()
  expect(tasks.listTasks()).toMatchObject([{ state: 'completed' }])
  // Of a stream that has ended there is no rest.
  expect((await resume(id)).response.status).toBe(405)
})

it('the same position has the same rest, also after the task has ended', async () => {
  const { opened, open } = gate()
  const { call, resume } = await sceneOf(async () => {
    await opened
    return 'Done'
  })
  const begun = await (await call({ id: 'c1' })).next()
  open()
  for (let count = 0; count < 2; count += 1)
    expect((await (await resume(begun?.id)).message()).message).toMatchObject({
      id: 'c1',
      result: { content: [{ text: 'Done' }] },
    })
})

it('progress goes on from where it was', async () => {
  const { opened, open } = gate()
  let report: (text: string) => void = () => undefined
  const { call, resume } = await sceneOf(async (run) => {
    report = (text) => run.update(text)
    run.update('One')
    await opened
    return 'Done'
  })
  const broken = await call({ progressToken: 't1' })
  const { id, message } = await broken.message()
  expect(message).toMatchObject({ params: { progressToken: 't1', progress: 0.001, message: 'One' } })
  await broken.break()
  const rest = await resume(id)
  let heard: Json | undefined
  void rest.message().then((next) => (heard = next.message))
  // What is reported before the stream follows the task is not heard.
  await expect
    .poll(() => {
      report('Two')
      return heard
    })
    .toMatchObject({ params: { progressToken: 't1', progress: 0.002, message: 'Two' } })
  open()
  let last = await rest.message()
  while (last.message?.['method'] !== undefined) last = await rest.message()
  expect(last.message).toMatchObject({ result: { content: [{ text: 'Done' }] } })
})

it('a question that the client has is not asked again, and one that it has not is', async () => {
  const { call, resume, respond } = await sceneOf(
    async (run) => {
      const city = textOf(await run.requireInput('Which city?'))
      return `${city}, ${textOf(await run.requireInput('Which seat?'))}`
    },
    { elicitation: {} },
  )
  const broken = await call()
  const asked = await broken.message()
  expect(asked.message).toMatchObject({ method: 'elicitation/create', params: { message: 'Which city?' } })
  await broken.break()
  const rest = await resume(asked.id)
  await respond(asked.message?.['id'], { answer: 'Rome' })
  const second = await rest.message()
  expect(second.message).toMatchObject({ params: { message: 'Which seat?' } })
  expect(second.message?.['id']).not.toBe(asked.message?.['id'])
  await rest.break()
  // The event with the second question has got lost: it is the same request.
  const again = await (await resume(asked.id)).message()
  expect(again).toEqual(second)
  const last = await resume(second.id)
  await respond(second.message?.['id'], { answer: '7A' })
  expect((await last.message()).message).toMatchObject({ id: 7, result: { content: [{ text: 'Rome, 7A' }] } })
})

it('tasks/result has a rest too', async () => {
  const { opened, open } = gate()
  const { first, session, tasks, resume } = await sceneOf(async () => {
    await opened
    return 'Done'
  })
  const given = { name: 'default', arguments: { message: 'Go' }, task: {} }
  await first(requestOf({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: given }, session))
  const taskId = tasks.listTasks()[0]?.id
  const body = { jsonrpc: '2.0', id: 2, method: 'tasks/result', params: { taskId } }
  const broken = new Stream(await first(requestOf(body, session)))
  const begun = await broken.next()
  await broken.break()
  const rest = await resume(begun?.id)
  open()
  expect((await rest.message()).message).toMatchObject({
    id: 2,
    result: { content: [{ text: 'Done' }], _meta: { 'io.modelcontextprotocol/related-task': { taskId } } },
  })
})

it('a failure on the way ends the rest, and official clients do not ask for more', async () => {
  const { opened } = gate()
  const { call, resume } = await sceneOf(async () => {
    await opened
    return 'Done'
  })
  const begun = await (await call()).next()
  const rest = await resume(begun?.id, { authorization: 'bob' })
  const { id, message } = await rest.message()
  expect(message).toEqual({ jsonrpc: '2.0', id: 7, error: { code: -32602, message: 'Task not found' } })
  expect(await rest.next()).toBeUndefined()
  expect((await resume(id, { authorization: 'bob' })).response.status).toBe(405)
})

it('the rest of a stream counts as a call', async () => {
  const { opened } = gate()
  const { call, resume } = await sceneOf(
    async () => {
      await opened
      return 'Done'
    },
    {},
    { maxCalls: 1 },
  )
  const begun = await (await call()).next()
  const rest = await resume(begun?.id)
  expect(rest.response.status).toBe(200)
  const refused = await resume(begun?.id)
  expect([refused.response.status, refused.response.headers.has('retry-after')]).toEqual([503, true])
  await rest.break()
  expect((await resume(begun?.id)).response.status).toBe(200)
})

it('there is nothing to resume for other versions, and for what is no position', async () => {
  const { opened, open } = gate()
  const { call, resume } = await sceneOf(async () => {
    await opened
    return 'Done'
  })
  const begun = await (await call()).next()
  expect((await resume(undefined)).response.status).toBe(405)
  expect((await resume(begun?.id, { 'mcp-protocol-version': '2026-07-28' })).response.status).toBe(405)
  for (const eventId of ['x', '%', '7', '[]', '%7B%22id%22%3A1%7D', 'x'.repeat(5_000), `${begun?.id ?? ''}x`])
    expect((await resume(eventId)).response.status, eventId.slice(0, 20)).toBe(400)
  const early = await call({ headers: { 'mcp-protocol-version': '2025-06-18' } })
  const next = early.next()
  open()
  expect(await next).toEqual({ id: undefined, message: expect.objectContaining({ id: 7 }) as Json })
})

it('a position that would be too long is left out', async () => {
  const { opened, open } = gate()
  const { call } = await sceneOf(async (run) => {
    run.update('One')
    await opened
    return 'Done'
  })
  const long = '€'.repeat(256)
  const stream = await call({ id: long, progressToken: long })
  expect(await stream.next()).toMatchObject({ id: undefined, message: { params: { message: 'One' } } })
  open()
  expect(await stream.next()).toMatchObject({ message: { id: long } })
})
