/** The trace in which an agent answers. */
import { context, SpanKind, trace } from '@opentelemetry/api'
import * as otel from '@opentelemetry/api'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { createRequestHandler, type RequestHandler } from 'a2a-tasks/server'
import { instrumentHandler } from 'a2a-tasks/telemetry'
import { idOf, parentOf, sdk, unregister } from './support/sdk.js'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'
const TRACEPARENT = `00-${TRACE}-${SPAN}-01`

/** Answers with the trace, the span and the `tracestate` that it runs in. */
function agent(): RequestHandler {
  return createRequestHandler({
    card: { name: 'Agent', url: 'http://agent.test' },
    execute(run) {
      const active = trace.getSpanContext(context.active())
      run.complete(`${active?.traceId} ${active?.spanId} ${active?.traceState?.serialize()}`)
    },
  })
}

const BODY = {
  jsonrpc: '2.0',
  id: 1,
  method: 'SendMessage',
  params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hello' }] } },
}

function toRequest(headers: Record<string, string>): Request {
  return new Request('http://agent.test', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers },
    body: JSON.stringify(BODY),
  })
}

async function ask(handler: RequestHandler, headers: Record<string, string> = {}): Promise<string> {
  return said(await (await handler.fetch(toRequest(headers))).json())
}

function said(answer: unknown): string {
  const { result } = answer as { result: { task: { status: { message: { parts: [{ text: string }] } } } } }
  return result.task.status.message.parts[0].text
}

describe('a handler', () => {
  it('runs in the trace that a request comes with', async () => {
    const { spans } = sdk()
    const handler = instrumentHandler(agent())
    const said = await ask(handler, { traceparent: TRACEPARENT, tracestate: 'a=1' })
    const [served] = spans()
    if (served === undefined) throw new Error('There is no span')
    expect(said).toBe(`${TRACE} ${idOf(served)} a=1`)
    expect([served.kind, parentOf(served)]).toEqual([SpanKind.SERVER, SPAN])
    await ask(handler)
    await ask(handler, { traceparent: 'nonsense' })
    expect(spans().map(parentOf)).toEqual([SPAN, undefined, undefined])
  })

  it('takes the last of two that were written one within the other', async () => {
    const { span } = sdk()
    const outer = `00-${TRACE}-00f067aa0ba902b7-01`
    const handler = instrumentHandler(agent())
    await ask(handler, { traceparent: `${outer}, ${TRACEPARENT}` })
    expect(parentOf(span('SendMessage'))).toBe(SPAN)
  })

  it('leaves the span of an HTTP server that is active in that trace, and takes the place of any other', async () => {
    const { inSpan, span, spans } = sdk()
    const handler = instrumentHandler(agent())
    const own = context.with(
      trace.setSpanContext(context.active(), { traceId: TRACE, spanId: SPAN, traceFlags: 1, isRemote: true }),
      () => inSpan('POST', () => ask(handler, { traceparent: TRACEPARENT })),
    )
    await own
    await inSpan('server starts', () => ask(handler, { traceparent: TRACEPARENT }))
    await inSpan('untraced', () => ask(handler))
    const served = spans().filter(({ kind }) => kind === SpanKind.SERVER)
    expect(served.map(parentOf)).toEqual([idOf(span('POST')), SPAN, idOf(span('untraced'))])
  })

  it('runs a dispatch in the active context', async () => {
    const { inSpan, span } = sdk()
    const handler = instrumentHandler(agent())
    const answer = await inSpan('caller', () => handler.dispatch(BODY, { version: '1.0' }))
    expect(said(answer)).toContain(idOf(span('SendMessage')))
    expect(parentOf(span('SendMessage'))).toBe(idOf(span('caller')))
  })

  it('keeps all other properties, and does not change the original handler', async () => {
    sdk()
    const plain = agent()
    const { fetch } = plain
    const handler = instrumentHandler(plain)
    expectTypeOf(handler).toEqualTypeOf<RequestHandler>()
    expect(plain.fetch).toBe(fetch)
    const { dispatch, observe } = plain
    expect({ ...handler, fetch, dispatch, observe }).toEqual(plain)
    expect(await ask(plain, { traceparent: TRACEPARENT })).toBe('undefined undefined undefined')
    await handler.close()
    expect((await handler.dispatch(BODY, { version: '1.0' })) as object).toHaveProperty('error')
  })

  it('answers without OpenTelemetry, and where that is broken, once', async () => {
    unregister()
    expect(await ask(instrumentHandler(agent()), { traceparent: TRACEPARENT })).toContain('undefined')
    const broken = (): never => {
      throw new Error('no context')
    }
    const brokenAfter = (_: unknown, work: () => unknown): never => {
      work()
      return broken()
    }
    sdk()
    for (const parts of [
      { context: { active: broken, with: broken } },
      { context: { active: () => otel.ROOT_CONTEXT, with: broken } },
      { context: { active: () => otel.ROOT_CONTEXT, with: brokenAfter } },
      { propagation: { inject: broken, extract: broken } },
    ]) {
      const plain = agent()
      const { trace, metrics, propagation } = otel
      const api = { trace, metrics, propagation, context: otel.context, ...parts }
      await ask(instrumentHandler(plain, { api }), { traceparent: TRACEPARENT })
      expect(plain.tasks.size()).toBe(1)
    }
  })

  it('refuses what is no request as it did', async () => {
    const refusal = 'handler.fetch takes a Request'
    await expect(instrumentHandler(agent()).fetch({ url: '/' } as never)).rejects.toThrow(refusal)
  })
})
