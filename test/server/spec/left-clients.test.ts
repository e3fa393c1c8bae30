/** Clients that leave a stream where the runtime only aborts the signal of the request, as Next.js and Workers do. */
import type { Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { listenersOf } from '../../client/support/listeners.js'
import { agent } from '../../compat/support/agent.js'
import { ORIGIN, type TestAgent } from './support/agent.js'

const text = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] }
const oldText = { messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'go' }] }

type Shape = (taskId: string, round: number) => { path?: string; version?: string; body: object }

const rpc = (method: string, version: string, params: (taskId: string, round: number) => object): Shape => {
  return (taskId, round) => ({
    version,
    body: { jsonrpc: '2.0', id: 1, method, params: params(taskId, round) },
  })
}

const STREAMS: Record<string, Shape> = {
  'SendStreamingMessage, JSON-RPC': rpc('SendStreamingMessage', '1.0', (_, round) => ({
    message: { ...text, messageId: `m-${round}` },
  })),
  'SubscribeToTask, JSON-RPC': rpc('SubscribeToTask', '1.0', (id) => ({ id })),
  'SendStreamingMessage, HTTP+JSON': (_, round) => ({
    path: '/message:stream',
    version: '1.0',
    body: { message: { ...text, messageId: `m-${round}` } },
  }),
  'SubscribeToTask, HTTP+JSON': (id) => ({ path: `/tasks/${id}:subscribe`, version: '1.0', body: {} }),
  'message/stream of 0.3, JSON-RPC': rpc('message/stream', '0.3', (_, round) => ({
    message: { ...oldText, kind: 'message', messageId: `m-${round}` },
  })),
  'tasks/resubscribe of 0.3, JSON-RPC': rpc('tasks/resubscribe', '0.3', (id) => ({ id })),
  'tasks/sendSubscribe of 0.1': rpc('tasks/sendSubscribe', '0.1', (_, round) => ({
    id: `task-${round}`,
    message: { role: 'user', parts: [{ type: 'text', text: 'go' }] },
  })),
  'tasks/resubscribe of 0.1': rpc('tasks/resubscribe', '0.1', (id) => ({ id })),
}

/** A request whose client can leave. */
function request(shape: ReturnType<Shape>) {
  const controller = new AbortController()
  const headers = { 'content-type': 'application/json', 'a2a-version': shape.version ?? '1.0' }
  const body = JSON.stringify(shape.body)
  const { signal } = controller
  const sent = new Request(ORIGIN + (shape.path ?? '/'), { method: 'POST', headers, body, signal })
  return { sent, controller, listeners: listenersOf(sent.signal).count }
}

/** An agent that serves one stream at a time, and a task of it that stays in progress. */
function busy(): { a: TestAgent; taskId: string } {
  const never = new Promise<never>(() => undefined)
  const execute: Execute = async (run) => {
    run.start()
    await never
  }
  const a = agent(execute, { limits: { maxStreams: 1, maxRuns: 1_000 } })
  const { id: taskId } = a.tasks.createTask({ skill: 'default' })
  a.tasks.updateTask(taskId, { state: 'working' })
  return { a, taskId }
}

describe.each(Object.entries(STREAMS))('a stream of %s', (_, shape) => {
  test('ends with the signal of its request: 200 that clients have left take no place', async () => {
    const { a, taskId } = busy()
    let timers = Infinity
    for (let round = 0; round < 200; round += 1) {
      const { sent, controller, listeners } = request(shape(taskId, round))
      const { status, body, headers } = await a.handler.fetch(sent)
      expect([round, status, headers.get('content-type')]).toEqual([round, 200, 'text/event-stream'])
      const reader = body?.getReader()
      const hasRead = round % 2 === 0
      if (hasRead) await reader?.read()
      controller.abort()
      expect(listeners()).toBe(0)
      // One timer may serve the tasks themselves, and none the heartbeats of streams.
      timers = Math.min(timers, a.clock.pending)
      expect(a.clock.pending).toBe(timers)
      let done = false
      while (!done) ({ done } = (await reader?.read()) ?? { done: true })
    }
  })

  test('does not begin for a client that leaves before the answer', async () => {
    const { a, taskId } = busy()
    for (let round = 0; round < 3; round += 1) {
      const { sent, controller, listeners } = request(shape(taskId, round))
      const answer = a.handler.fetch(sent)
      controller.abort()
      expect([400, 200]).toContain((await answer).status)
      expect(listeners()).toBe(0)
    }
    const { sent } = request(shape(taskId, 4))
    const answer = await a.handler.fetch(sent)
    expect(answer.status).toBe(200)
    await answer.body?.cancel()
  })
})
