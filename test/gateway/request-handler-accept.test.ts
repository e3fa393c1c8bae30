/** Responses of an executor to a message before its task exists, as gateways send them. */
import { A2AError } from 'a2a-tasks'
import type { Execute, Offer } from 'a2a-tasks/server'
import { expect, it } from 'vitest'
import { agent, as, authenticate, call, gate, jsonRpc, taskOf, user } from '../server/spec/support/agent.js'

function accepting(accept: NonNullable<Execute['accept']>, work: Execute = () => 'done'): Execute {
  return Object.assign((run: Parameters<Execute>[0]) => work(run), { accept })
}

const refusal = new A2AError('AGENT_NOT_FOUND', 'Agent not found: a', { agentId: 'a' })
const send = (a: ReturnType<typeof agent>, params: object = {}, init = {}) =>
  call(jsonRpc, a, 'SendMessage', { message: user('hi'), ...params }, init)

it.each<[string, NonNullable<Execute['accept']>]>([
  [
    'throws',
    () => {
      throw refusal
    },
  ],
  ['rejects with', () => Promise.reject(refusal)],
])('what it %s is the answer, and there is no task', async (_, accept) => {
  const a = agent(accepting(accept))
  expect((await send(a)).error).toMatchObject({ code: -32602, reason: 'AGENT_NOT_FOUND' })
  expect([a.tasks.size(), a.errors]).toEqual([0, []])
})

it('it is called once for each message that begins a task, with the owner', async () => {
  const offers: Offer[] = []
  const work: Execute = (run) => {
    if (run.text === 'hi') void run.requireInput('What?').catch(() => undefined)
  }
  const a = agent(
    accepting((offer) => void offers.push(offer), work),
    { authenticate },
  )
  const metadata = { key: 'value' }
  const { id: taskId } = taskOf(await send(a, { tenant: 'acme', metadata }, as('ann')))
  await send(a, { tenant: 'acme', message: user('more', { taskId }) }, as('ann'))
  expect(offers).toMatchObject([
    {
      text: 'hi',
      metadata,
      tenant: 'acme',
      principal: { id: 'ann' },
      owner: a.tasks.peekTask(taskId)?.owner,
    },
  ])
})

it('a handler that closes during accept begins no task', async () => {
  const [asked, go] = [gate(), gate()]
  const a = agent(
    accepting(async () => {
      asked.open()
      await go.opened
    }),
  )
  const sent = send(a)
  await asked.opened
  const closed = a.handler.close({ graceMs: 1 })
  go.open()
  expect((await sent).error?.reason).toBe('UNAVAILABLE')
  await closed
  expect(a.tasks.size()).toBe(0)
})

it('a handler that is full during accept begins no further task', async () => {
  const [asked, go, begun, end] = [gate(), gate(), gate(), gate()]
  const accept = ({ text }: Offer): void | Promise<void> => {
    if (text !== 'slow') return
    asked.open()
    return go.opened
  }
  const work: Execute = (run) => {
    if (run.text === 'slow') return 'done'
    begun.open()
    return end.opened
  }
  const a = agent(accepting(accept, work), { limits: { maxRuns: 1 } })
  const slow = send(a, { message: user('slow') })
  await asked.opened
  const quick = send(a, { message: user('quick') })
  await begun.opened
  go.open()
  expect((await slow).error?.reason).toBe('UNAVAILABLE')
  end.open()
  expect(taskOf(await quick).status.state).toBe('TASK_STATE_COMPLETED')
})
