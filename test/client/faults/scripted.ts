/** An agent over JSON-RPC with scripted responses, invalid ones included. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import type { AgentCard } from 'a2a-tasks/schemas'
import type { ManualClock } from 'a2a-tasks/testing'
import { onTestFinished } from 'vitest'
import { A2AClient, type ClientOptions, type RunResult } from '../../../src/client/index.js'

export interface Asked {
  /** In the terms of A2A 1.0. */
  readonly method: string
  readonly params: {
    readonly id?: string
    readonly contextId?: string
    readonly message?: { readonly messageId: string; readonly taskId?: string; readonly contextId?: string }
  }
  readonly id: unknown
  readonly headers: IncomingHttpHeaders
  readonly response: ServerResponse
}

/** The response: a result, an {@link error}, or `undefined` if `response` was written to. */
export type Answer = object | null | undefined
export type Script = (asked: Asked) => Answer | Promise<Answer>

const ERROR = Symbol('error')

export function error(code: number, message = 'No'): object {
  return { [ERROR]: { code, message } }
}

export const NOT_FOUND = -32001
export const UNSUPPORTED = -32004
export const NO_METHOD = -32601

export interface Scripted {
  readonly url: string
  readonly card: AgentCard
  readonly asked: readonly Asked[]
  readonly methods: () => string[]
  /** Connections that are open. */
  readonly open: () => number
}

export async function scripted(script: Script, streaming = true): Promise<Scripted> {
  const asked: Asked[] = []
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (text: string) => (body += text))
    request.on('end', () => {
      const { method, params, id } = JSON.parse(body) as Asked
      const one = { method, params, id, headers: request.headers, response }
      asked.push(one)
      void Promise.resolve(script(one)).then((answer) => {
        if (answer !== undefined)
          response.setHeader('content-type', 'application/json').end(envelope(one, answer))
      })
    })
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const card = cardOf([url], streaming)
  return { url, card, asked, methods: () => asked.map(({ method }) => method), open: () => sockets.size }
}

export function cardOf(urls: readonly string[], streaming = true, protocolVersion = '1.0'): AgentCard {
  return {
    ...{ name: 'Scripted', description: 'Does what it is told', version: '1', skills: [] },
    ...{ defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] },
    supportedInterfaces: urls.map((url) => ({ url, protocolBinding: 'JSONRPC', protocolVersion })),
    capabilities: { streaming },
  }
}

/** A URL at which no server listens. */
export async function nowhere(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

/** With pauses that are over at once. */
export function clientOf({ card }: Pick<Scripted, 'card'>, options: ClientOptions = {}): A2AClient {
  return new A2AClient({ card, retry: { baseDelayMs: 1, maxDelayMs: 2 }, ...options })
}

export function envelope({ id }: Pick<Asked, 'id'>, answer: object | null): string {
  const { [ERROR]: fault, ...result } = (answer ?? {}) as { [ERROR]?: object }
  return JSON.stringify({ jsonrpc: '2.0', id, ...(fault ? { error: fault } : { result: answer && result }) })
}

/** Begins, or continues with, a stream. */
export function writeEvents(asked: Asked, events: readonly object[], ids?: readonly string[]): void {
  const { response } = asked
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  for (const [index, event] of events.entries()) {
    const id = ids?.[index]
    response.write(`${id === undefined ? '' : `id: ${id}\n`}data: ${envelope(asked, event)}\n\n`)
  }
}

/** A stream with these events and an end. */
export function stream(asked: Asked, events: readonly object[], ids?: readonly string[]): Answer {
  writeEvents(asked, events, ids)
  asked.response.end()
  return undefined
}

export interface TaskOptions {
  readonly text?: string
  readonly says?: string
  readonly at?: string
  readonly history?: readonly string[]
  readonly id?: string
  readonly contextId?: string | undefined
}

/** A task of A2A 1.0; `state` in the core's terms. */
export function task(state: string, options: TaskOptions = {}): object {
  const { text, history, id = 't-1', contextId = 'c-1' } = options
  return {
    ...{ id, contextId, status: statusOf(state, options) },
    ...(text !== undefined && { artifacts: [{ artifactId: 'a-1', parts: [{ text }] }] }),
    ...(history && { history: history.map((messageId) => said(messageId, 'ROLE_USER')) }),
  }
}

export function status(state: string, options: TaskOptions = {}): object {
  const { id = 't-1', contextId = 'c-1' } = options
  return { statusUpdate: { taskId: id, contextId, status: statusOf(state, options) } }
}

export function chunk(text: string, { append = true, id = 't-1' } = {}): object {
  const artifact = { artifactId: 'a-1', parts: [{ text }] }
  return { artifactUpdate: { taskId: id, contextId: 'c-1', artifact, append } }
}

function statusOf(state: string, { says, at }: TaskOptions): object {
  return {
    state: `TASK_STATE_${state.toUpperCase().replace('-', '_')}`,
    ...(says !== undefined && { message: { ...said(says, 'ROLE_AGENT') } }),
    ...(at !== undefined && { timestamp: at }),
  }
}

/** A message whose id is its text. */
function said(text: string, role: string): object {
  return { messageId: text, role, parts: [{ text }] }
}

/** Makes time pass until `run` is over, in steps that leave the rest of the process its turn. */
export async function elapse(
  clock: ManualClock,
  run: Promise<RunResult>,
  stepMs: number,
): Promise<RunResult> {
  let result: RunResult | undefined
  void run.then((it) => (result = it))
  while (result === undefined) {
    for (let turns = 0; turns < 5; turns += 1) await turn()
    clock.advance(stepMs)
  }
  return result
}

/** The error that an unfinished run ended with. */
export function failureOf(result: RunResult): { type: string; code: string | undefined } {
  return { type: result.type, code: 'error' in result ? result.error.code : undefined }
}
