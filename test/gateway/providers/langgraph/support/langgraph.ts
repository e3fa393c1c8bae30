/**
 * Agents and tasks for the LangGraph provider, and a server that answers what a test says.
 *
 * @module
 */
import type { ServerResponse } from 'node:http'
import type { Message, Part } from 'a2a-tasks'
import { expect } from 'vitest'
import type { RegisteredAgent } from '../../../../../src/gateway/registry/agent.js'
import type { ProviderTask, TaskUpdate } from '../../../../../src/gateway/provider.js'
import {
  sendJson,
  startStubServer,
  type StubRequest,
  type StubServer,
} from '../../../../services/stub-server.js'

export function lgAgent(url: string, changes: Partial<RegisteredAgent> = {}): RegisteredAgent {
  return {
    id: 'graph',
    name: 'graph',
    description: '',
    provider: 'langgraph',
    capabilities: [{ name: 'chat', description: '' }],
    endpoint: { url, timeoutMs: 30_000 },
    status: 'online',
    settings: { assistantId: 'echo' },
    metadata: { version: '1', createdAt: '', lastSeenAt: '', tags: [], extra: {} },
    ...changes,
  }
}

let tasks = 0

export function lgTask(parts: string | Part[], changes: Partial<ProviderTask & Message> = {}): ProviderTask {
  const { metadata, ...others } = changes
  const given = typeof parts === 'string' ? [{ text: parts }] : parts
  tasks += 1
  return {
    id: `task-${tasks}`,
    contextId: `context-${tasks}`,
    message: { messageId: 'm', role: 'user', parts: given, ...(metadata !== undefined && { metadata }) },
    text: given.map(({ text = '' }) => text).join(''),
    ...others,
  }
}

export async function all<T>(updates: AsyncIterable<T>): Promise<T[]> {
  const taken: T[] = []
  for await (const update of updates) taken.push(update)
  return taken
}

/** What a client has of the artifacts when all updates have been applied in their order. */
export function artifactsOf(updates: readonly TaskUpdate[]): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const { artifacts = [], chunk } of updates) {
    for (const { artifactId = '', parts = [] } of artifacts) texts[artifactId] = textOf(parts)
    if (chunk === undefined) continue
    const { artifactId = '', parts = [] } = chunk
    texts[artifactId] = `${texts[artifactId] ?? ''}${textOf(parts)}`
  }
  return texts
}

function textOf(parts: readonly { readonly text?: string | undefined }[]): string {
  return parts.map(({ text = '' }) => text).join('')
}

/** The answers of a stub by `METHOD /path`: a status and JSON, or whatever writes it. */
export type Answers = Record<
  string,
  readonly [status: number, body: unknown] | ((response: ServerResponse, request: StubRequest) => void)
>

export const THREAD = { thread_id: 't', status: 'idle', metadata: {} }
export const RUN = { run_id: 'r', thread_id: 't', status: 'pending' }
export const REF = { threadId: 't', runId: 'r', assistantId: 'echo' }

/** A server with these responses. Any other request fails the test. */
export async function lgStub(answers: Answers): Promise<StubServer> {
  return await startStubServer((request, response) => {
    const answer = answers[`${request.method} ${request.path}`]
    if (answer === undefined) sendJson(response, 599, { unexpected: `${request.method} ${request.path}` })
    else if (typeof answer === 'function') answer(response, request)
    else sendJson(response, ...answer)
  })
}

/** Server-sent events as LangGraph writes them: JSON over many lines. */
export function sse(...events: readonly (readonly [event: string, data: unknown])[]): string {
  return events
    .map(([event, data]) => {
      const lines = JSON.stringify(data, null, 2).split('\n')
      return `event: ${event}\n${lines.map((line) => `data: ${line}\n`).join('')}id: 1\n\n`
    })
    .join('')
}

export function streaming(text: string, headers: Record<string, string> = {}) {
  return (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream', ...headers })
    response.end(text)
  }
}

/** The requests of a stub, by method and path. */
export function asked({ requests }: StubServer): string[] {
  return requests.map(({ method, path }) => `${method} ${path}`)
}

export function bodyOf({ requests }: StubServer, path: string): unknown {
  const request = requests.find((candidate) => candidate.path === path)
  expect(request, path).toBeDefined()
  return request?.body
}
