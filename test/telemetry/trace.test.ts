/** One trace over HTTP: a client, an agent, the client that it has, and the agent behind that. */
import { SpanKind, trace } from '@opentelemetry/api'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { A2AClient } from 'a2a-tasks/client'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { instrumentClient, instrumentHandler, instrumentTasks } from 'a2a-tasks/telemetry'
import { MANAGERS, type MakeManager } from './support/managers.js'
import { idOf, parentOf, sdk, traceOf, unregister } from './support/sdk.js'

async function serve({ make }: MakeManager, name: string, execute: Execute): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const tasks = make()
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
async function chain(manager: MakeManager): Promise<A2AClient> {
  const inner = await serve(manager, 'inner', (run) =>
    trace.getTracer('agent').startActiveSpan('think', (span) => {
      span.end()
      return `${run.text}!`
    }),
  )
  const second = instrumentClient(await A2AClient.connect(inner))
  const outer = await serve(manager, 'outer', async (run) => {
    run.update('Asking')
    const { text } = await second.run(run.text)
    return text
  })
  return instrumentClient(await A2AClient.connect(outer))
}

describe.each(MANAGERS)('over $name,', (manager) => {
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
    const client = await chain(manager)
    const before = spans().length
    await inSpan('user', () => ask(client))
    const all = spans().slice(before)
    expect(new Set(all.map(traceOf)).size).toBe(1)
    const labelOf = ({ kind, name, attributes }: (typeof all)[number]): string =>
      kind === SpanKind.SERVER ? `served by ${String(attributes['gen_ai.agent.name'])}` : name
    const parentLabelOf = (each: (typeof all)[number]): string | undefined => {
      const parent = all.find((other) => idOf(other) === parentOf(each))
      return parent && labelOf(parent)
    }
    const lines = all.map((each) => [labelOf(each), parentLabelOf(each)])
    expect(new Map(lines as [string, string][])).toEqual(
      new Map([
        ['user', undefined],
        [name, 'user'],
        ['served by outer', name],
        ['outer.task.submit', 'served by outer'],
        ['outer.task.execute', 'served by outer'],
        ['invoke_agent inner', 'served by outer'],
        ['served by inner', 'invoke_agent inner'],
        ['inner.task.submit', 'served by inner'],
        ['inner.task.execute', 'served by inner'],
        ['think', 'served by inner'],
      ]),
    )
    expect(span('inner.task.execute').attributes['a2a.task.state']).toBe('TASK_STATE_COMPLETED')
  })

  it('agents and clients work the same without an SDK', async () => {
    unregister()
    expect(await (await chain(manager)).run('Hi')).toMatchObject({ ok: true, text: 'Hi!' })
  })
})
