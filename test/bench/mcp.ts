/**
 * Calls of MCP 2026-07-28 in process: a `Request` in, the text of a `Response` out, for both sides.
 *
 * A short call is one whose work returns at once. Ours begins a task of A2A, keeps it, and follows it to its end. The official
 * server calls a function. A long call is answered with a task, which is read by `tasks/get` when its work has ended. The same
 * over A2A is SendMessage with `returnImmediately`, and GetTask.
 */
import type * as Mcp from 'a2a-tasks/mcp'
import type * as Server from 'a2a-tasks/server'
import type { Build } from './build.js'
import { compare, type Variant } from './harness.js'
import { officialMcp } from './peers/mcp-server.js'
import { timesTheFloor } from './report.js'
import { getBody, REPLY, sendBody } from './requests.js'
import { textOf, type Case } from './workload.js'

type Ask = (request: Request) => Promise<Response>

const URL_OF_AGENT = 'http://localhost/'
const TASKS = 'io.modelcontextprotocol/tasks'
const META = 'io.modelcontextprotocol/'
const SHORT_CALLS = 500
const LONG_CALLS = 1_000

function post(body: unknown, headers: Readonly<Record<string, string>>): Request {
  const all = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...headers,
  }
  return new Request(URL_OF_AGENT, { method: 'POST', headers: all, body: JSON.stringify(body) })
}

function mcpRequest(id: number, method: string, named: string, params: object, extensions = {}): Request {
  const _meta = {
    [`${META}protocolVersion`]: '2026-07-28',
    [`${META}clientInfo`]: { name: 'bench', version: '1.0.0' },
    [`${META}clientCapabilities`]: { extensions },
  }
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': named }
  return post({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }, headers)
}

function callRequest(index: number, extensions?: object): Request {
  const params = { name: 'default', arguments: { message: textOf(index) } }
  return mcpRequest(index, 'tools/call', 'default', params, extensions)
}

async function textAt(ask: Ask, request: Request): Promise<string> {
  return await (await ask(request)).text()
}

function expectIn(text: string, part: string): void {
  if (!text.includes(part)) throw new Error(text)
}

interface Agent {
  readonly mcp: Ask
  readonly a2a: Ask
  readonly close: () => Promise<void>
}

async function openAgent(
  { url }: Build,
  execute: Server.Execute,
  options: Mcp.McpOptions = {},
): Promise<Agent> {
  const file = (path: string): string => new URL(path, url).href
  // What was built from these folders of src has their exports.
  const { createMcpHandler } = (await import(file('mcp/index.js'))) as typeof Mcp
  const { createRequestHandler } = (await import(file('server/index.js'))) as typeof Server
  const handler = createRequestHandler({ card: { name: 'Bench', url: URL_OF_AGENT }, execute })
  return { mcp: createMcpHandler(handler, options), a2a: handler.fetch, close: () => handler.close() }
}

function shortCalls(ask: Ask): Variant {
  const run = async (): Promise<void> => {
    for (let index = 0; index < SHORT_CALLS; index++) expectIn(await textAt(ask, callRequest(index)), REPLY)
  }
  return { ops: SHORT_CALLS, run }
}

const short: Case = {
  name: 'MCP: a short call',
  async run(build) {
    const { mcp, close } = await openAgent(build, () => REPLY)
    const official = await officialMcp(() => REPLY)
    const times = await compare(shortCalls(mcp), shortCalls(official), { rounds: 21 })
    await close()
    return [timesTheFloor('MCP: a short call to completion', 'official MCP server', times, { goal: 1.3 })]
  },
}

/** All begin before any ends. */
function longCalls(
  work: Work,
  begin: (index: number) => Promise<string>,
  read: (id: string) => Promise<string>,
): Variant {
  const run = async (): Promise<void> => {
    const indexes = Array.from({ length: LONG_CALLS }, (_, index) => index)
    const ids = await Promise.all(indexes.map(begin))
    await work.end()
    for (const text of await Promise.all(ids.map(read))) expectIn(text, REPLY)
  }
  return { ops: LONG_CALLS, run }
}

/** Runs that end together. */
class Work {
  #ends: (() => void)[] = []

  readonly execute: Server.Execute = async () => {
    await new Promise<void>((resolve) => this.#ends.push(resolve))
    return REPLY
  }

  async end(): Promise<void> {
    for (const end of this.#ends.splice(0)) end()
    // The tasks end in the turns that follow.
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const long: Case = {
  name: 'MCP: 1,000 long calls',
  async run(build) {
    const work = new Work()
    const { mcp, a2a, close } = await openAgent(build, work.execute, { waitMs: 0 })
    const tasks = { [TASKS]: {} }
    const overMcp = longCalls(
      work,
      async (index) => {
        const { result } = (await (await mcp(callRequest(index, tasks))).json()) as {
          readonly result: { readonly taskId: string }
        }
        return result.taskId
      },
      (taskId) => textAt(mcp, mcpRequest(1, 'tasks/get', taskId, { taskId }, tasks)),
    )
    const headers = { 'a2a-version': '1.0' }
    const overA2a = longCalls(
      work,
      async (index) => {
        const body = sendBody(index, 'SendMessage', textOf(index), { returnImmediately: true })
        const { result } = (await (await a2a(post(body, headers))).json()) as {
          readonly result: { readonly task: { readonly id: string } }
        }
        return result.task.id
      },
      (id) => textAt(a2a, post(getBody(1, id), headers)),
    )
    const times = await compare(overMcp, overA2a, { rounds: 9, warmUpOps: LONG_CALLS })
    await close()
    return [timesTheFloor('MCP: 1,000 long calls, to their results, a call', 'the same over A2A', times, {})]
  },
}

export const mcpCases: readonly Case[] = [short, long]
