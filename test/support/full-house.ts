/**
 * A server with a small heap in its own process, and clients that make it hold as much as its limits allow.
 *
 * @module
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { ROOT } from './repository.js'

/** Where the server finds the library: what `import()` takes. */
export interface Library {
  readonly server: string
  readonly node: string
}

export interface Usage {
  /** After a garbage collection. */
  readonly heapUsed: number
  readonly rss: number
}

/** What an agent does with a message: it answers, or asks and returns, or asks and awaits the answer. */
export type Conduct = 'answer' | 'ask' | 'await'

export interface Reply {
  readonly status: number
  readonly retryAfter: string | null
  readonly taskId: string
}

const PROGRAM = `
import { createServer } from 'node:http'
const [server, node] = process.argv.slice(-2)
const { createRequestHandler } = await import(server)
const { toNodeListener } = await import(node)
const { fetch } = createRequestHandler({
  card: { name: 'A', url: 'http://a' },
  authenticate: ({ headers }) => ({ id: headers.get('authorization') }),
  onError() {},
  async execute(run) {
    const { conduct } = run.message.metadata ?? {}
    if (conduct === 'ask') return void run.requireInput('More?')
    if (conduct === 'await') await run.requireInput('More?')
    return 'Hello, ' + run.principal.id
  },
})
const listener = toNodeListener(fetch)
const sockets = []
const own = {
  '/received': () => sockets.map((socket) => [socket.port, socket.destroyed ? null : socket.bytesRead]),
  '/usage': () => (gc(), process.memoryUsage()),
}
const http = createServer((req, res) => {
  const answer = own[req.url]
  if (answer === undefined) listener(req, res)
  else res.end(JSON.stringify(answer()))
})
http.on('connection', (socket) => sockets.push(Object.assign(socket, { port: socket.remotePort })))
http.listen(0, '127.0.0.1', () => console.log(http.address().port))
`

const SOURCES: Library = { server: './src/server/index.ts', node: './src/server/node/index.ts' }
/** As large as a body may be. */
const BODY_BYTES = 4_194_304
/** So many streams are open beside those of the readers. */
const STREAMS = 300
/** So many connections begin at a time. */
const AT_A_TIME = 20

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))
const nested = (depth: number): unknown => (depth === 0 ? [] : [nested(depth - 1)])

/** Parts within the limits of a body that take much memory. `at` makes their names differ from those of other parts. */
const COSTLY: readonly ((at: number) => object)[] = [
  () => ({ text: '…'.repeat(1_300_000) }),
  () => ({ data: many(12_000, () => []) }),
  () => ({ data: many(12_000, () => ({})) }),
  () => ({ data: many(10_000, () => ({ 1000: 1 })) }),
  (at) => ({ data: many(10_000, (index) => ({ [`k${at * 10_000 + index}`]: 1 })) }),
  (at) => ({ data: Object.fromEntries(many(20_000, (index) => [`k${at * 20_000 + index}`, 1])) }),
  () => ({ data: many(240, () => nested(80)) }),
]

export const COSTLY_KINDS = COSTLY.length

/** As {@link COSTLY}: all kinds in turn. */
export function costly(at: number): object {
  const make = COSTLY[at % COSTLY.length]
  if (make === undefined) throw new RangeError(String(at))
  return make(at)
}

export class House {
  readonly #child: ChildProcess
  readonly #port: number
  readonly #sockets: Socket[] = []
  #messages = 0

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.#port = port
  }

  static async open(heapMb: number, { server, node }: Library = SOURCES): Promise<House> {
    const flags = [`--max-old-space-size=${heapMb}`, '--expose-gc', '--import', 'tsx', '--input-type=module']
    const child = spawn(process.execPath, [...flags, '-e', PROGRAM, server, node], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [port] = (await once(createInterface(child.stdout), 'line')) as [string]
    return new House(child, Number(port))
  }

  get isOpen(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#child.kill('SIGKILL')
  }

  request(path: string, user: string, body?: object): Promise<Response> {
    const headers = {
      ...{ authorization: user, connection: 'close' },
      ...{ 'a2a-version': '1.0', 'content-type': 'application/json' },
    }
    const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
    return fetch(`http://127.0.0.1:${this.#port}${path}`, init)
  }

  async send(user: string, conduct: Conduct, part: object, metadata?: object): Promise<Reply> {
    const messageId = `message ${++this.#messages}`
    const message = { messageId, role: 'ROLE_USER', parts: [part], metadata: { conduct } }
    const response = await this.request('/message:send', user, {
      ...{ message, configuration: { historyLength: 0 }, metadata },
    })
    // The answers of tasks and of errors.
    const { task } = (await response.json()) as { task?: { id: string } }
    const { status, headers } = response
    return { status, retryAfter: headers.get('retry-after'), taskId: task?.id ?? '' }
  }

  async usage(): Promise<Usage> {
    return await this.#ask('/usage')
  }

  /** Runs that await answers keep the metadata of their requests until no more is accepted. */
  async holdMetadata(user: string): Promise<Reply> {
    const metadata = { pad: '…'.repeat(1_300_000) }
    return await repeat(() => this.send(user, 'await', { text: 'x' }, metadata))
  }

  /** Clients take nothing of tasks that have ended and make way for others. */
  async leaveAnswers(user: string, count: number): Promise<void> {
    for (let at = 0; at < count; at++) {
      const { taskId } = await this.send(user, 'answer', costly(at))
      await this.#stall(getRequest(user, taskId).repeat(20))
    }
  }

  /** Costly tasks wait for their user until the server removes the first of them. Returns the ids of those that are left. */
  async fillTasks(user: string): Promise<readonly string[]> {
    const taskIds: string[] = []
    for (;;) {
      const at = taskIds.length
      const { taskId } = await this.send(user, at % 2 === 0 ? 'ask' : 'await', costly(at))
      taskIds.push(taskId)
      const first = await this.request(`/tasks/${taskIds[0] ?? ''}?historyLength=0`, user)
      await first.arrayBuffer()
      if (first.status === 404) return taskIds.slice(1)
    }
  }

  /** Clients take nothing of tasks and their events. */
  async stallReaders(user: string, taskIds: readonly string[]): Promise<void> {
    const answers = taskIds.map((taskId) => getRequest(user, taskId).repeat(20))
    const streams = many(STREAMS, (at) => getRequest(user, `${taskIds[at % taskIds.length] ?? ''}:subscribe`))
    const all = [...answers, ...streams]
    for (let at = 0; at < all.length; at += AT_A_TIME) await this.#stall(...all.slice(at, at + AT_A_TIME))
  }

  /**
   * Bodies that do not end, until no more bytes are accepted. Returns the first line of the refusal; it is empty where the
   * end of the connection has overtaken it.
   */
  async openBodies(user: string): Promise<string> {
    const head = `POST /message:send HTTP/1.1\r\nhost: a\r\nauthorization: ${user}\r\ncontent-type: application/json\r\n`
    for (let at = 0; at < 3; at++) {
      await this.#stall(`${head}transfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(50_000)}`)
    }
    for (;;) {
      const request = `${head}content-length: ${BODY_BYTES}\r\n\r\n${'x'.repeat(BODY_BYTES - 1)}`
      const socket = this.#connect()
      let answer = ''
      socket.on('data', (chunk) => (answer += String(chunk)))
      const closed = new Promise((resolve) => socket.on('close', resolve))
      const isOpen = await this.#write([[socket, request]])
      if (isOpen) continue
      await closed
      return answer.split('\r\n', 1)[0] ?? ''
    }
  }

  /** On its own connection: the server closes those that are idle for a while. */
  async #ask<T>(path: string): Promise<T> {
    const headers = { connection: 'close' }
    return (await (await fetch(`http://127.0.0.1:${this.#port}${path}`, { headers })).json()) as T
  }

  #connect(): Socket {
    const socket = connect(this.#port, '127.0.0.1')
    this.#sockets.push(socket)
    return socket.on('error', () => undefined)
  }

  /** Connections on which the server has read `requests`, and the clients read nothing. */
  async #stall(...requests: readonly string[]): Promise<void> {
    await this.#write(requests.map((request) => [this.#connect().pause(), request]))
  }

  /** Resolves when the server has read all texts, to whether it has closed no connection before. */
  async #write(texts: readonly (readonly [Socket, string])[]): Promise<boolean> {
    for (const [socket, text] of texts) socket.write(text)
    let left = texts
    let isOpen = true
    while (left.length > 0) {
      const received = new Map(await this.#ask<[port: number, bytes: number | null][]>('/received'))
      left = left.filter(([{ localPort, destroyed }, text]) => {
        const bytes = localPort === undefined ? undefined : received.get(localPort)
        isOpen &&= !destroyed && bytes !== null
        return !destroyed && bytes !== null && (bytes ?? 0) < Buffer.byteLength(text)
      })
    }
    return isOpen
  }
}

function getRequest(user: string, path: string): string {
  return `GET /tasks/${path} HTTP/1.1\r\nhost: a\r\nauthorization: ${user}\r\na2a-version: 1.0\r\n\r\n`
}

/** The first reply that is no success. */
async function repeat(send: () => Promise<Reply>): Promise<Reply> {
  for (;;) {
    const reply = await send()
    if (reply.status !== 200) return reply
  }
}

/** Fills the house in every way. Returns how the server refuses more metadata and more bodies. */
export async function fill(
  house: House,
  user: string,
): Promise<{ readonly metadata: Reply; readonly body: string }> {
  const metadata = await house.holdMetadata(user)
  await house.leaveAnswers(user, 150)
  await house.stallReaders(user, await house.fillTasks(user))
  const body = await house.openBodies(user)
  return { metadata, body }
}
