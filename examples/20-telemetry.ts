/** One trace from a client over HTTP to an agent and its own work, printed by an exporter of a few lines. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { context, propagation, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  BasicTracerProvider,
  SimpleSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base'
import { TaskManager } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { instrumentClient, instrumentHandler, instrumentTasks } from 'a2a-tasks/telemetry'

// The SDK. NodeSDK of @opentelemetry/sdk-node registers all of this.
const spans: ReadableSpan[] = []
const exporter: SpanExporter = {
  export(ended, done) {
    spans.push(...ended)
    done({ code: ExportResultCode.SUCCESS })
  },
  shutdown: () => Promise.resolve(),
}
trace.setGlobalTracerProvider(
  new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
)
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
propagation.setGlobalPropagator(new W3CTraceContextPropagator())

// The agent: its tasks are told of, and it works in the trace of whoever asks.
const server = createServer().listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const tasks = new TaskManager()
const stop = instrumentTasks(tasks)
const handler = instrumentHandler(
  createRequestHandler({
    card: { name: 'Translator', url },
    tasks,
    execute(run) {
      const word = trace.getTracer('translator').startActiveSpan('look up', (span) => {
        span.end()
        return new Map([['Guten Tag', 'Good day']]).get(run.text)
      })
      if (word === undefined) run.fail('Not in the book')
      return word
    },
  }),
)
server.on('request', toNodeListener(handler.fetch))

const agent = instrumentClient(await A2AClient.connect(url))
const found = await agent.run('Guten Tag')
const missed = await agent.run('Moin')
assert.deepEqual([found.type, missed.type, spans.length], ['completed', 'failed', 8])

// Each run is a trace of its own, from the client's span down.
for (const root of spans.filter((span) => span.parentSpanContext === undefined)) {
  console.log(`${root.name}: ${root.status.code === SpanStatusCode.ERROR ? 'failed' : 'fine'}`)
  const children = spans.filter((span) => span.parentSpanContext?.spanId === root.spanContext().spanId)
  for (const { name, events } of children) {
    console.log(`  ${name}`)
    for (const { attributes } of events) console.log('   ', attributes?.['a2a.task.state'])
  }
  assert.deepEqual(children.map(({ name }) => name).sort(), [
    'a2a.task.execute',
    'a2a.task.submit',
    'look up',
  ])
}
stop()
await handler.close()
server.close()
