/** Traces a message from the client over HTTP to the agent and its work, and prints the spans. */
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

// The OpenTelemetry SDK. `NodeSDK` of @opentelemetry/sdk-node does this setup for you.
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

// The agent: its tasks create spans, and its work belongs to the trace of the client.
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
assert.deepEqual([found.type, missed.type, spans.length], ['completed', 'failed', 13])

// Each run is one trace: its root is the span of the client, and below it are the requests that the agent received.
const childrenOf = (span: ReadableSpan): ReadableSpan[] =>
  spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === span.spanContext().spanId)
for (const root of spans.filter(({ name }) => name.startsWith('invoke_agent'))) {
  console.log(`${root.name}: ${root.status.code === SpanStatusCode.ERROR ? 'failed' : 'fine'}`)
  const [send, get] = childrenOf(root)
  assert.deepEqual([send?.name, get?.name], ['SendStreamingMessage', 'GetTask'])
  for (const { name, events } of send === undefined ? [] : childrenOf(send)) {
    console.log(`  ${name}`)
    for (const { attributes } of events) console.log('   ', attributes?.['a2a.task.state'])
  }
}
stop()
await handler.close()
server.close()
