/** Spans of notifications, whichever process sends them, and the gauge of those that webhooks lack. */
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { instrumentHandler } from 'a2a-tasks/telemetry'
import { expect, it } from 'vitest'
import { receiver } from '../server/push/support/push.js'
import { registered, sharedStore, stateIs, task } from '../server/durable/support/push.js'
import { pass } from '../server/durable/support/replicas.js'
import { idOf, parentOf, sdk, traceOf } from './support/sdk.js'

it('a process that delivers for a dead one continues the trace in which the webhook was registered', async () => {
  const { inSpan, span, spans } = sdk()
  const hook = await receiver(204, 503)
  const { open } = sharedStore()
  const [a, b] = [open(), open()]
  const { dispatch } = instrumentHandler(a.handler, { prefix: 'here' })
  instrumentHandler(b.handler, { prefix: 'there' })
  const id = await task(a)
  const params = { taskId: id, url: hook.url }
  await dispatch({ jsonrpc: '2.0', id: 1, method: 'CreateTaskPushNotificationConfig', params })
  await stateIs(a, id, 'idle')
  await inSpan('unrelated', () => b.tasks.updateTask(id, { state: 'rejected' }))
  await stateIs(a, id, 'retrying')
  // From now on the clock of the first stands still.
  await inSpan('sweep', () => pass(b.clock, () => hook.accepted.length === 2))
  await stateIs(b, id, 'done')
  const request = span('CreateTaskPushNotificationConfig')
  const deliveries = spans().filter(({ name }) => name.endsWith('.push.deliver'))
  expect(deliveries.map(({ name, status }) => [name, status.code])).toEqual([
    ['here.push.deliver', SpanStatusCode.UNSET],
    ['here.push.deliver', SpanStatusCode.ERROR],
    ['there.push.deliver', SpanStatusCode.UNSET],
  ])
  for (const delivery of deliveries) {
    expect([delivery.kind, traceOf(delivery)]).toEqual([SpanKind.CLIENT, traceOf(request)])
    expect(parentOf(delivery)).toBe(idOf(request))
  }
  expect(hook.received.map(({ headers }) => headers['traceparent'])).toEqual(
    deliveries.map((delivery) => `00-${traceOf(delivery)}-${idOf(delivery)}-01`),
  )
})

it('a webhook that is behind counts its events in the backlog until it has them', async () => {
  const { gauges } = sdk()
  const { hook, a, id } = await registered({ replies: [503], state: 'retrying' })
  instrumentHandler(a.handler)
  const backlog = async (): Promise<unknown[]> =>
    (await gauges())['a2a.server.webhook.backlog']?.points.map(({ value }) => value) ?? []
  await a.tasks.updateTask(id, { state: 'working' })
  await expect.poll(backlog).toEqual([2])
  await pass(a.clock, () => hook.accepted.length === 2)
  await expect.poll(backlog).toEqual([0])
})
