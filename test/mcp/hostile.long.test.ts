/** Clients that mean no good, at a server with a heap of 512 MB: it goes on, and answers others. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { bundledProgram } from '../support/bundled-program.js'
import { messagesIn, requestOf, statelessRequest, type Json } from './kit.js'

const TASKS = { tasks: true, elicitation: { form: {} } }

class Server {
  readonly #child: ChildProcess
  readonly #port: number

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.#port = port
  }

  static async start(): Promise<Server> {
    const program = await bundledProgram('test/mcp/hostile-server.ts')
    const child = spawn(process.execPath, ['--max-old-space-size=512', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [port] = (await once(createInterface(child.stdout), 'line')) as [string]
    return new Server(child, Number(port))
  }

  async send(user: string, { headers, body }: Request): Promise<Response> {
    return await fetch(`http://127.0.0.1:${this.#port}/`, {
      ...{ method: 'POST', headers: { ...Object.fromEntries(headers), authorization: user } },
      ...{ body, duplex: 'half' },
    })
  }

  async ask(user: string, method: string, params: object): Promise<Json> {
    const response = await this.send(user, statelessRequest(1, method, params, TASKS))
    return (await response.json()) as Json
  }

  async result(user: string, method: string, params: object): Promise<Json> {
    return (await this.ask(user, method, params))['result'] as Json
  }

  say(user: string, message: string): Promise<Json> {
    return this.result(user, 'tools/call', callOf(message))
  }

  /** A request whose answer is never read. Resolves when the answer has begun. */
  async stall(user: string, request: Request): Promise<void> {
    const body = await request.text()
    const headers = { ...Object.fromEntries(request.headers), authorization: user, host: 'a' }
    const lines = Object.entries({ ...headers, 'content-length': Buffer.byteLength(body) })
    const socket = connect(this.#port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => undefined)
    socket.write(`POST / HTTP/1.1\r\n${lines.map((line) => line.join(': ')).join('\r\n')}\r\n\r\n${body}`)
    await once(socket, 'readable')
  }

  /** The memory of the process, with what is outside of the heap. */
  async memory(): Promise<number> {
    return (await (await fetch(`http://127.0.0.1:${this.#port}/`)).json()) as number
  }

  /** The process lives, and answers another user. */
  async isWell(): Promise<void> {
    expect(await this.say('zoe', 'Hi')).toMatchObject({ content: [{ text: '"Done"' }] })
    expect(this.#child.exitCode).toBeNull()
  }
}

function callOf(message: string): object {
  return { name: 'say', arguments: { message } }
}

const accept = (content: object): object => ({ action: 'accept', content })
const times = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)))

/** A task that asks, and the key of its question. */
async function askedBy(server: Server, message = 'ask', user = 'ann') {
  const taskId = String((await server.say(user, message))['taskId'])
  const get = (): Promise<Json> => server.result(user, 'tasks/get', { taskId })
  const requests = (await get())['inputRequests'] as Record<string, Json>
  const [key = ''] = Object.keys(requests)
  return { taskId, key, get, request: requests[key] ?? {} }
}

const UNKNOWN = { code: -32602, message: 'Task not found' }

test('unknown tasks: 3,000 requests', async () => {
  const server = await Server.start()
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
    for (let turn = 0; turn < 10; turn += 1)
      for (const { error } of await times(100, (index) =>
        server.ask('eve', method, { taskId: `${'x'.repeat(8_000)}${turn}${index}`, inputResponses: {} }),
      ))
        expect(error).toEqual(UNKNOWN)
  await server.isWell()
})

test('tasks of another owner are unknown by every way to them', async () => {
  const server = await Server.start()
  const { taskId, key, get } = await askedBy(server)
  const before = await get()
  const inputResponses = { [key]: accept({ answer: 'Paris' }) }
  for (const [method, params] of [
    ['tasks/get', { taskId }],
    ['tasks/update', { taskId, inputResponses }],
    ['tasks/cancel', { taskId }],
    ['tools/call', { ...callOf('Hi'), requestState: taskId, inputResponses }],
  ] as const)
    expect((await server.ask('eve', method, params))['error']).toEqual(UNKNOWN)
  const listen = { notifications: { taskIds: [taskId] } }
  const followed = await server.send('eve', statelessRequest(1, 'subscriptions/listen', listen, TASKS))
  const [acknowledged, ...more] = messagesIn(await followed.text())
  expect(acknowledged).toMatchObject({ params: { notifications: { taskIds: [] } } })
  expect(more).toHaveLength(1)
  expect(
    await server.result('eve', 'tools/call', { name: 'say', arguments: { taskId, message: 'Paris' } }),
  ).toMatchObject({ isError: true })
  const id = `${taskId.length}/${taskId}/${key}`
  await server.send('eve', requestOf({ jsonrpc: '2.0', id, result: accept({ answer: 'Paris' }) }))
  expect(await get()).toEqual(before)
  await server.isWell()
})

test('late answers, and answers to nothing: 1,000 of each', async () => {
  const server = await Server.start()
  const { taskId, key, get } = await askedBy(server)
  const update = (inputResponses: object): Promise<Json> =>
    server.ask('ann', 'tasks/update', { taskId, inputResponses })
  const all = async (of: (index: number) => object): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1)
      for (const reply of await times(100, (index) => update(of(index))))
        expect(reply).toHaveProperty('result')
  }
  await all((index) => ({ [`none-${index}`]: accept({ answer: 'Rome' }) }))
  expect(await get()).toMatchObject({ status: 'input_required' })
  await update({ [key]: accept({ answer: 'Rome' }) })
  await expect.poll(async () => (await get())['status']).toBe('completed')
  const ended = await get()
  await all((index) => ({ [key]: accept({ answer: `Paris ${index}` }) }))
  expect(await get()).toEqual(ended)
  await server.isWell()
})

test('references that explode make no large form, and no long check', async () => {
  const server = await Server.start()
  const { taskId, key, request, get } = await askedBy(server, 'bomb')
  expect(JSON.stringify(request).length).toBeLessThan(20_000)
  let value: object = {}
  for (let depth = 0; depth < 40; depth += 1) value = { a: value, b: {} }
  const given = (index: number): Promise<Json> =>
    server.ask('eve', 'tools/call', { name: 'typed', arguments: { bomb: value, loop: { index } } })
  for (const reply of await times(20, given)) expect(reply).toHaveProperty('result')
  const inputResponses = { [key]: accept({ a: JSON.stringify(value), b: '{}', value: '{}' }) }
  expect(await server.ask('ann', 'tasks/update', { taskId, inputResponses })).toHaveProperty('result')
  await expect.poll(async () => (await get())['status']).toBe('completed')
  await server.isWell()
})

test('patterns that explode are left to the agent', async () => {
  const server = await Server.start()
  const { taskId, key, get } = await askedBy(server, 'pattern')
  const text = `${'a'.repeat(100_000)}!`
  expect(
    await server.ask('eve', 'tools/call', { name: 'typed', arguments: { pattern: text } }),
  ).toHaveProperty('result.content')
  const inputResponses = { [key]: accept({ value: text }) }
  expect(await server.ask('ann', 'tasks/update', { taskId, inputResponses })).toHaveProperty('result')
  await expect.poll(async () => (await get())['status']).toBe('completed')
  await server.isWell()
})

test('100 inputs of 4 MB at once: what finds no room is refused', async () => {
  const server = await Server.start()
  /** 0 where the server has answered and left before it was sent. */
  const call =
    (size: number) =>
    async (index: number): Promise<number> => {
      const request = statelessRequest(1, 'tools/call', callOf('x'.repeat(size)), TASKS)
      const response = await server.send(`eve-${index}`, request).catch(() => undefined)
      await response?.text()
      return response?.status ?? 0
    }
  const statuses = new Set(await times(100, call(4_100_000)))
  expect(statuses).toContain(200)
  for (const status of statuses) expect([200, 503, 0]).toContain(status)
  for (const status of await times(3, call(4_200_000))) expect([413, 0]).toContain(status)
  const many = { name: 'typed', arguments: { values: Array(25_001).fill(0) } }
  expect((await server.send('eve', statelessRequest(1, 'tools/call', many))).status).toBe(413)
  await server.isWell()
})

test('readers that take nothing: 200 of a task of 4 MB, and 200 of streams of progress', async () => {
  const server = await Server.start()
  const taskId = String(
    ((await server.say('ann', 'large'))['_meta'] as Record<string, Json>)['a2a-tasks.dev/task']?.['taskId'],
  )
  const get = (): Request => statelessRequest(1, 'tasks/get', { taskId }, TASKS)
  times(200, () => server.stall('ann', get())).catch(() => undefined)
  await server.isWell()
  const talk = (): Request => statelessRequest(1, 'tools/call', callOf('talk'), { progressToken: 'p' })
  await times(200, (index) => server.stall(`eve-${index}`, talk()))
  for (let turn = 0; turn < 50; turn += 1) await server.isWell()
  expect(await server.memory()).toBeLessThan(700_000_000)
})

test('10,000 subscriptions leave a quarter of the calls to others', { timeout: 300_000 }, async () => {
  const server = await Server.start()
  const users = ['ann', 'bob', 'cid', 'dan']
  const tasks = await times(
    users.length,
    async (index) => (await askedBy(server, 'ask', users[index])).taskId,
  )
  // A response that nothing refers to is canceled.
  const open: Response[] = []
  const listen = async (index: number): Promise<number> => {
    const at = index % users.length
    const params = { notifications: { taskIds: [tasks[at]] } }
    const request = statelessRequest(1, 'subscriptions/listen', params, TASKS)
    const response = await server.send(users[at] ?? '', request)
    if (response.status === 200) open.push(response)
    else await response.text()
    return response.status
  }
  const statuses: number[] = []
  for (let turn = 0; turn < 100; turn += 1) statuses.push(...(await times(100, listen)))
  expect(new Set(statuses)).toEqual(new Set([200, 503]))
  expect(open).toHaveLength(750)
  await server.isWell()
})
