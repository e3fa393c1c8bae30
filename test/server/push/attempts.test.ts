/** The attempts that the health of a webhook lists. */
import { createServer } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { AttemptHistory } from '../../../src/server/push/attempts.js'
import { pushAgent, receiver, until, type PushAgent } from './support/push.js'

type Plain = PushAgent<{ id: string }>

async function only({ handler }: Plain): Promise<Awaited<ReturnType<typeof handler.push.health>>[number]> {
  const [health] = await handler.push.health()
  if (health === undefined) throw new Error('There is no configuration')
  return health
}

const stateIs = (agent: Plain, state: string): Promise<void> =>
  until(async () => (await only(agent)).state === state)

test('each has its event, its time, its outcome and its duration, also after the delivery has ended', async () => {
  const hook = await receiver(204, 503, () => undefined, 204)
  const agent: Plain = pushAgent({ push: { timeoutMs: 3_000 } })
  const { clock, create, task, tasks } = agent
  const id = task()
  const began = clock.now()
  const at = (ms: number): string => new Date(began + ms).toISOString()
  await create(id, { url: hook.url })
  await stateIs(agent, 'idle')
  tasks.updateTask(id, { state: 'canceled' })
  await stateIs(agent, 'retrying')
  clock.advance(1_000)
  await hook.arrived(3)
  clock.advance(3_000)
  await stateIs(agent, 'retrying')
  clock.advance(2_000)
  await stateIs(agent, 'done')
  expect((await only(agent)).recent).toEqual([
    { generation: 1, attempt: 1, sentAt: at(0), durationMs: 0 },
    {
      ...{ generation: 2, attempt: 1, sentAt: at(0), durationMs: 0 },
      failure: { reason: 'HTTP 503', status: 503 },
    },
    {
      ...{ generation: 2, attempt: 2, sentAt: at(1_000), durationMs: 3_000 },
      failure: { reason: 'no answer within 3000 ms' },
    },
    { generation: 2, attempt: 3, sentAt: at(6_000), durationMs: 0 },
  ])
})

test('one that is aborted says so', async () => {
  const server = createServer(() => undefined)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const agent: Plain = pushAgent()
  await agent.create(agent.task(), { url: `http://127.0.0.1:${port}/` })
  await until(async () => (await only(agent)).attempts === 1)
  await agent.handler.close({ graceMs: 0 })
  expect((await only(agent)).recent).toMatchObject([{ attempt: 1, failure: { reason: 'aborted' } }])
})

test('the history keeps 20 attempts of a webhook, and the 1,000 webhooks that were sent to last', () => {
  const history = new AttemptHistory()
  const attempt = { attempt: 1, sentAt: new Date(0).toISOString(), durationMs: 1 }
  for (let generation = 1; generation <= 25; generation += 1) history.add('first', { ...attempt, generation })
  expect(history.of('first').map(({ generation }) => generation)).toEqual(
    Array.from({ length: 20 }, (_, index) => index + 6),
  )
  history.add('second', { ...attempt, generation: 1 })
  history.add('first', { ...attempt, generation: 26 })
  for (let index = 0; index < 999; index += 1) history.add(`${index}`, { ...attempt, generation: 1 })
  expect([history.of('first').length, history.of('second').length]).toEqual([20, 0])
})
