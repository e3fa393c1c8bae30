import type { Execute, FollowUpPolicy, Run } from 'a2a-tasks/server'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { agent, BINDINGS, call, gate, nameOf, open, refused, taskOf, textsOf, user } from './support/agent.js'
import type { TestAgent, TestAgentOptions } from './support/agent.js'

const textOf = (message: { readonly parts: readonly { readonly text?: string }[] }) =>
  message.parts.map(({ text = '' }) => text).join('')

interface Busy extends TestAgent {
  readonly id: string
  readonly run: Run
  /** Ends the first turn. */
  readonly finish: () => void
}

/** An agent in the middle of its first turn; `then` is what it does in each. */
async function busy(
  onFollowUp: TestAgentOptions['onFollowUp'],
  then: Execute = () => undefined,
): Promise<Busy> {
  const { opened, open: finish } = gate()
  const began = gate<Run>()
  const a = agent(
    async (run) => {
      run.start()
      began.open(run)
      await opened
      return await then(run)
    },
    onFollowUp === undefined ? {} : { onFollowUp },
  )
  const params = { message: user('first'), configuration: { returnImmediately: true } }
  const sent = a.handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
  const run = await began.opened
  await sent
  return { ...a, id: run.task.id, run, finish: () => finish() }
}

describe.each(BINDINGS)('$name: a message to a task that is worked on', (binding) => {
  test("queue: it is the next turn's, and its answer waits for that", async () => {
    const turns: string[] = []
    const a = await busy(undefined, (run) => {
      turns.push(run.text)
      run.artifact(`to ${run.text}`)
    })
    const second = call(binding, a, 'SendMessage', { message: user('second', { taskId: a.id }) })
    const third = call(binding, a, 'SendMessage', { message: user('third', { taskId: a.id }) })
    while (a.run.messages.length < 3) await turn()
    a.finish()
    const [task] = [taskOf(await second), taskOf(await third)]
    expect(turns).toEqual(['first', 'second', 'third'])
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(textsOf(task)).toEqual(['to first', 'to second', 'to third'])
    expect(task.history?.map(textOf)).toEqual(['first', 'second', 'third'])
  })

  test('queue: it is the answer to what the run asks next', async () => {
    const a = await busy('queue', async (run) => textOf(await run.requireInput('Which?')))
    const sent = call(binding, a, 'SendMessage', { message: user('this one', { taskId: a.id }) })
    while (a.run.messages.length < 2) await turn()
    a.finish()
    expect(textsOf(taskOf(await sent))).toEqual(['this one'])
  })

  test('queue: the end of the task ends the queue', async () => {
    const turns: string[] = []
    const a = await busy('queue', (run) => {
      turns.push(run.text)
      run.fail('no')
    })
    const sent = call(binding, a, 'SendMessage', { message: user('second', { taskId: a.id }) })
    while (a.run.messages.length < 2) await turn()
    a.finish()
    expect(taskOf(await sent).status.state).toBe('TASK_STATE_FAILED')
    expect(turns).toEqual(['first'])
  })

  test('steer: the run finds it in its messages', async () => {
    const a = await busy('steer', (run) => run.messages.map(textOf).join(', '))
    const sent = call(binding, a, 'SendMessage', { message: user('second', { taskId: a.id }) })
    while (a.run.messages.length < 2) await turn()
    a.finish()
    expect(textsOf(taskOf(await sent))).toEqual(['first, second'])
  })

  test('reject: it is unsupported, and the conversation is as it was', async () => {
    const a = await busy('reject')
    for (const operation of ['SendMessage', 'SendStreamingMessage'] as const) {
      const error = await refused(binding, a, operation, { message: user('second', { taskId: a.id }) })
      expect(error.reason).toBe('UNSUPPORTED_OPERATION')
    }
    expect(a.run.messages).toHaveLength(1)
    a.finish()
    await a.tasks.waitFor(a.id)
    expect(a.errors).toEqual([])
  })

  test('a function decides by the message and the task', async () => {
    const asked: unknown[] = []
    const a = await busy((message, task): FollowUpPolicy => {
      asked.push([textOf(message), task.state])
      return textOf(message) === 'stop' ? 'reject' : 'steer'
    })
    const params = { message: user('stop', { taskId: a.id }) }
    expect((await refused(binding, a, 'SendMessage', params)).reason).toBe('UNSUPPORTED_OPERATION')
    const configuration = { returnImmediately: true }
    const more = { message: user('go on', { taskId: a.id }), configuration }
    expect(taskOf(await call(binding, a, 'SendMessage', more)).status.state).toBe('TASK_STATE_WORKING')
    expect(asked).toEqual([
      ['stop', 'working'],
      ['go on', 'working'],
    ])
    a.finish()
    await a.tasks.waitFor(a.id)
  })

  test('no policy is asked about an answer that the task waits for', async () => {
    const asked: unknown[] = []
    const a = agent(async (run) => textOf(await run.requireInput('Which?')), {
      onFollowUp: () => {
        asked.push(1)
        return 'reject'
      },
    })
    const { id } = taskOf(await call(binding, a, 'SendMessage', { message: user('go') }))
    const stream = await open(binding, a, 'SendStreamingMessage', { message: user('this', { taskId: id }) })
    expect((await stream.rest()).map(nameOf)).toEqual(['task', 'artifact:this', 'completed'])
    expect(asked).toEqual([])
  })

  test('a turn that ends with a question leaves the answer to another run', async () => {
    const turns: string[] = []
    const a = agent((run) => {
      turns.push(run.text)
      if (turns.length === 1) run.requireInput('Which?').catch(() => undefined)
      else run.complete('Thanks')
    })
    const asked = taskOf(await call(binding, a, 'SendMessage', { message: user('go') }))
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    const done = taskOf(
      await call(binding, a, 'SendMessage', { message: user('this', { taskId: asked.id }) }),
    )
    expect([done.id, done.status.state]).toEqual([asked.id, 'TASK_STATE_COMPLETED'])
    expect(turns).toEqual(['go', 'this'])
  })
})
