/** Turns of a gateway behind a request handler: shutdown, and messages of several callers to one task. */
import { saveTasks } from 'a2a-tasks'
import { setImmediate as turn } from 'node:timers/promises'
import { createRequestHandler } from 'a2a-tasks/server'
import { describe, expect, it } from 'vitest'
import { gatewayRequestHandler } from '../../src/gateway/request-handler.js'
import { pass, setUp } from './support/gateway.js'

const SECRET = 'a secret that every process of the test has'

/** The gateway as an agent, asked without HTTP. */
function served(made: ReturnType<typeof setUp>) {
  const handler = createRequestHandler({
    card: { name: 'gateway', url: 'http://gateway.example' },
    tasks: made.tasks,
    clock: made.clock,
    execute: gatewayRequestHandler(made.gateway),
  })
  const send = async (text: string, more: object = {}): Promise<Record<string, unknown>> => {
    const message = {
      role: 'ROLE_USER',
      messageId: text,
      parts: [{ text }],
      metadata: { agentId: 'a' },
      ...more,
    }
    const params = { message, configuration: { returnImmediately: true } }
    const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params }
    return (await handler.dispatch(body)) as Record<string, unknown>
  }
  return { handler, send }
}

function latest({ tasks }: ReturnType<typeof setUp>) {
  const task = saveTasks(tasks).at(-1)
  if (task === undefined) throw new Error('There is no task')
  return task
}

describe('a gateway that closes while clients wait', () => {
  it('completes no task that continues at its service, and cancels none there', async () => {
    const made = setUp({ handleSecret: SECRET })
    const { send, handler } = served(made)
    const sent = send('work')
    const call = await made.provider.untilCalled('streamTask')
    await call.answer({ ref: { run: 1 }, state: 'working' })
    await pass(made.clock, 1)
    await sent
    const closing = made.gateway.close({ graceMs: 100 })
    await pass(made.clock, 100)
    await closing
    expect(latest(made).state).toBe('working')
    expect(await made.gateway.handleOf(latest(made).id)).toMatch(/^a2ah1\./)
    const ending = handler.close({ graceMs: 10 })
    await pass(made.clock, 10)
    await ending
    expect(latest(made).state).toBe('failed')
    expect(made.provider.of('cancelTask')).toEqual([])
  })
})

describe('a message to a task that works on a message of another caller', () => {
  it('waits its turn, and neither stops that work nor fails the task', async () => {
    const made = setUp({ agent: { maxConcurrentTasks: 1 } })
    const { gateway, provider, tasks, clock } = made
    const { send } = served(made)
    const { id } = await gateway.sendTask('a', 'first', { returnImmediately: true })
    const first = await provider.untilCalled('streamTask')
    await first.answer({ ref: { run: 1 }, state: 'working' })
    await send('second', { taskId: id })
    await pass(clock, 1)
    expect(provider.of('streamTask')).toHaveLength(1)
    await first.answer({ state: 'input-required', message: 'Which?' })
    const second = await provider.untilCalled('streamTask')
    expect([second.task.text, second.task.ref]).toEqual(['second', { run: 1 }])
    await second.answer({ state: 'completed' })
    await turn()
    expect(tasks.peekTask(id)?.state).toBe('completed')
  })
})
