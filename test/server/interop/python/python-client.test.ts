/** The requests of the official Python client, sent to this library's server over HTTP, and its parsers on the answers. */
import { describe, expect, test } from 'vitest'
import type { Run } from 'a2a-tasks/server'
import { serve } from '../support/agent.js'
import { LINES, STREAM_HEADERS, type Line, type Recorded } from './client-requests.js'
import { problemsOf } from './parsers.js'

async function* execute(run: Run): AsyncGenerator<string> {
  if (run.text === 'wait') {
    run.start()
    await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
    run.signal.throwIfAborted()
  }
  yield 'You said: '
  yield run.text
}

/** Webhooks are registered, but no request leaves the process. */
const push = { resolve: false, fetch: () => Promise.resolve(new Response()) } as const

function fill(text: string, kept: ReadonlyMap<string, string>): string {
  return text.replace(/\$(\w+)/g, (whole, name: string) => kept.get(name) ?? whole)
}

/** The objects of JSON in an answer: one, or one for each event of a stream. */
async function objectsIn(response: Response): Promise<unknown[]> {
  const text = await response.text()
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  const texts = isStream ? [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => data) : [text]
  return texts.map((each) => JSON.parse(each) as unknown)
}

function taskIdIn(value: unknown): string {
  const { result = value } = value as { result?: unknown }
  const { task = result } = result as { task?: unknown }
  return (task as { id: string }).id
}

async function send(
  url: string,
  { headers }: Line,
  recorded: Recorded,
  kept: ReadonlyMap<string, string>,
): Promise<Response> {
  const { method, path, body, stream } = recorded
  return await fetch(url + fill(path, kept), {
    method,
    headers: {
      ...headers,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(stream === true && STREAM_HEADERS),
    },
    ...(body !== undefined && { body: fill(JSON.stringify(body), kept) }),
  })
}

describe.each(LINES)('the client of $name', (line) => {
  test('reads the answer to each of its requests', async () => {
    const { url } = await serve({ execute, push })
    const kept = new Map<string, string>()
    for (const recorded of line.requests) {
      const response = await send(url, line, recorded, kept)
      const objects = await objectsIn(response)
      const problems = objects.flatMap((json) => problemsOf(recorded.parser, response.status, json))
      expect({ request: recorded.name, problems }).toEqual({ request: recorded.name, problems: [] })
      if (recorded.stream === true) expect(objects.length).toBeGreaterThan(3)
      if (recorded.keep !== undefined) kept.set(recorded.keep, taskIdIn(objects[0]))
    }
  })
})

test.each([
  [
    'a field that the proto does not have',
    'Task',
    200,
    { id: 'a', kind: 'task' },
    '.kind is no field of Task',
  ],
  [
    'a state of another version',
    'Task',
    200,
    { status: { state: 'completed' } },
    '.status.state is no state',
  ],
  [
    'a time that is not UTC',
    'Task',
    200,
    { status: { timestamp: '2026-01-01T00:00:00+01:00' } },
    '.status.timestamp is no time',
  ],
  ['an HTTP status of an error', 'rpc:Task', 400, { error: { code: -32001 } }, 'HTTP 400'],
  ['a missing kind', 'rpc:kind', 200, { result: { id: 'a' } }, 'kind is undefined'],
  [
    'a missing field',
    'rpc:kind',
    200,
    { result: { kind: 'message', messageId: 'a', role: 'user' } },
    'parts is missing',
  ],
] as const)('the parsers refuse %s', (_, parser, status, json, problem) => {
  expect(problemsOf(parser, status, json)).toEqual([problem])
})
