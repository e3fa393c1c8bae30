/** One trace over HTTP: a client, an agent, the client that it has, and the agent behind that. */
import { trace } from '@opentelemetry/api'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { TaskManager } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { instrumentClient, instrumentHandler, instrumentTasks } from 'a2a-tasks/telemetry'
import { idOf, parentOf, sdk, traceOf, unregister } from './support/sdk.js'

async function serve(name: string, execute: Execute): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const tasks = new TaskManager()
  instrumentTasks(tasks, { prefix: name })
  const handler = instrumentHandler(createRequestHandler({ card: { name, url }, execute, tasks }))
  server.on('request', toNodeListener(handler.fetch))
  onTestFinished(async () => {
    await handler.close({ graceMs: 0 })
    server.closeAllConnections()
    server.close()
  })
  return url
}

/** Two agents, the first of which asks the second, and a client of the first. */
async function chain(): Promise<A2AClient> {
  const inner = await serve('inner', (run) =>
    trace.getTracer('agent').startActiveSpan('think', (span) => {
      span.end()
      return `${run.text}!`
    }),
  )
  const second = instrumentClient(await A2AClient.connect(inner))
  const outer = await serve('outer', async (run) => {
    run.update('Asking')
    const { text } = await second.run(run.text)
    return text
  })
  return instrumentClient(await A2AClient.connect(outer))
}

it.each([
  ['run', (client: A2AClient): Promise<unknown> => client.run('Hi'), 'invoke_agent outer'],
  ['send', (client: A2AClient): Promise<unknown> => client.send('Hi'), 'SendMessage'],
  [
    'stream',
    async (client: A2AClient) => {
      for await (const event of client.stream('Hi')) expect(event.type).toBeTypeOf('string')
    },
    'SendStreamingMessage',
  ],
])('%s begins a trace that reaches the last agent', async (_, ask, name) => {
  const { span, spans, inSpan } = sdk()
  const client = await chain()
  await inSpan('user', () => ask(client))
  expect(new Set(spans().map(traceOf)).size).toBe(1)
  const lines = spans().map((each) => [each.name, nameOf(parentOf(each))])
  function nameOf(id: string | undefined): string | undefined {
    return spans().find((each) => idOf(each) === id)?.name
  }
  expect(new Map(lines as [string, string][])).toEqual(
    new Map([
      ['user', undefined],
      [name, 'user'],
      ['outer.task.submit', name],
      ['outer.task.execute', name],
      ['invoke_agent inner', name],
      ['inner.task.submit', 'invoke_agent inner'],
      ['inner.task.execute', 'invoke_agent inner'],
      ['think', 'invoke_agent inner'],
    ]),
  )
  expect(spans()).toHaveLength(8)
  expect(span('inner.task.execute').attributes['a2a.task.state']).toBe('TASK_STATE_COMPLETED')
})

it('agents and clients work the same without an SDK', async () => {
  unregister()
  expect(await (await chain()).run('Hi')).toMatchObject({ ok: true, text: 'Hi!' })
})
