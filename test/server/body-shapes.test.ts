/** Bodies of every shape: no server or client takes many times as long as the platform alone, which reads the same body and answers with it. */
import { A2AClient } from 'a2a-tasks/client'
import { TaskManager } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler, type RequestHandler } from 'a2a-tasks/server'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ORIGIN } from './spec/support/agent.js'
import { bodyOf, exchangeMs, SHAPES, timesAsLong, toLegacy } from './support/shapes.js'

/** The slowest shapes take up to 9 times as long. */
const FACTOR = 20

function serve(tasks: TaskManager | DurableTaskManager): RequestHandler {
  const handler = createRequestHandler({
    card: { name: 'Shapes', url: ORIGIN },
    tasks,
    execute: (run) => ({ parts: run.message.parts }) as never,
  }) as unknown as RequestHandler
  onTestFinished(async () => {
    await handler.close({ graceMs: 1 })
    await tasks.destroy()
  })
  return handler
}

let ids = 0

describe.each(SHAPES.map(([name, parts, json]) => ({ name, parts, json })))('$name', ({ parts, json }) => {
  test.each([
    ['1.0, in memory', '1.0', () => new TaskManager()],
    ['1.0, in a store', '1.0', () => new DurableTaskManager({ store: memoryStore() })],
    ['0.3, in memory', '0.3', () => new TaskManager()],
  ])('a server of %s reads it, keeps it and answers with it', async (_version, version, open) => {
    const handler = serve(open())
    const isNew = version === '1.0'
    const kept = isNew ? parts : parts.map(toLegacy)
    const params = {
      message: {
        messageId: '#',
        role: isNew ? 'ROLE_USER' : 'user',
        parts: kept,
        ...(!isNew && { kind: 'message' }),
      },
    }
    const method = isNew ? 'SendMessage' : 'message/send'
    const text = bodyOf({ jsonrpc: '2.0', id: 1, method, params }, json)
    const send = async (): Promise<void> => {
      ids += 1
      const response = await handler.fetch(
        new Request(ORIGIN, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'a2a-version': version },
          body: text.replace('"#"', `"m-${ids}"`),
        }),
      )
      await response.text()
    }
    expect(await timesAsLong(await exchangeMs(ORIGIN, text), send, FACTOR)).toBeLessThan(FACTOR)
  })

  test('a client reads it', async () => {
    const task = {
      id: 't',
      contextId: 'c',
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ artifactId: 'a', parts }],
    }
    const body = bodyOf({ jsonrpc: '2.0', id: 1, result: task }, json)
    const card = { name: 'Shapes', description: 'x', version: '1', capabilities: {}, skills: [] }
    const whole = {
      ...{ ...card, defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] },
      supportedInterfaces: [{ url: ORIGIN, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    }
    const client = await A2AClient.connect(ORIGIN, {
      fetch: (url, init) => {
        if (init.method !== 'POST') return Promise.resolve(Response.json(whole))
        const { id } = JSON.parse(init.body as string) as { readonly id: unknown }
        const answer = body.replace('"id":1', `"id":${JSON.stringify(id)}`)
        return Promise.resolve(new Response(answer, { headers: { 'content-type': 'application/json' } }))
      },
    })
    const get = (): unknown => client.getTask('t')
    expect(await timesAsLong(await exchangeMs(ORIGIN, body), get, FACTOR)).toBeLessThan(FACTOR)
  })
})
