import { setImmediate as turn } from 'node:timers/promises'
import { TaskManager } from 'a2a-tasks'
import type { JsonObject } from 'a2a-tasks/schemas'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { v0_3, v1, v1_1 } from '../../src/wire/index.js'
import { ask, asking, draft, pending, preview, SPEAKING, taskOf, user } from './support/generation.js'
import type { Numbered } from './support/generation.js'
import { agent, BINDINGS, gate, get, SseReader, type Binding } from './spec/support/agent.js'
import type { Streaming, TestAgent, Unary } from './spec/support/agent.js'

/** The text of a stream, and the results of its events. */
async function stream(
  { handler }: TestAgent,
  binding: Binding,
  operation: Streaming,
  params: object,
): Promise<{ id: string | undefined; value: JsonObject }[]> {
  const response = await handler.fetch(binding.request(operation, params, { headers: SPEAKING['1.1'] }))
  const reader = new SseReader(response)
  const events: { id: string | undefined; value: JsonObject }[] = []
  for (let event = await reader.next(); event !== undefined; event = await reader.next()) {
    if ('comment' in event) continue
    const { result, error } = binding.unwrap(JSON.parse(event.data) as JsonObject)
    if (error !== undefined) throw new Error(JSON.stringify(error))
    events.push({ id: event.id, value: result as JsonObject })
  }
  return events
}

describe('a client that does not ask for 1.1 never sees a generation', () => {
  /** All that an agent answers, to all operations, in one version. */
  async function transcript(version: keyof typeof SPEAKING, isPreview: boolean): Promise<string[]> {
    const texts: string[] = []
    for (const binding of BINDINGS) {
      const a = agent(
        async (run) => {
          run.update('Reading')
          run.artifact('part')
          if (run.text === 'ask') await run.requireInput('What?')
          run.complete('Done')
        },
        { ...(isPreview && { preview }), tasks: { eventLogSize: 100 } },
      )
      const send = async (operation: Unary | Streaming, params: object): Promise<string> => {
        const init = { headers: { ...SPEAKING[version], 'Last-Event-ID': '2' } }
        const text = await (await a.handler.fetch(binding.request(operation, params, init))).text()
        texts.push(text)
        return text
      }
      const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] }
      await send('SendMessage', { message, configuration: { ifGenerationMatch: 99 } })
      await send('SendStreamingMessage', { message })
      const asked = { ...message, parts: [{ text: 'ask' }] }
      const [, id = ''] = /"task":\{"id":"([^"]*)"/.exec(await send('SendMessage', { message: asked })) ?? []
      expect(a.tasks.getTask(id)?.state).toBe('input-required')
      const answer = { ...message, messageId: 'answer', taskId: id }
      const configuration = version === '1.1' ? {} : { ifGenerationMatch: 99 }
      await send('SendMessage', { message: answer, configuration })
      expect(a.tasks.getTask(id)?.state).toBe('completed')
      await send('GetTask', { id, currentGeneration: 99 })
      await send('ListTasks', { includeArtifacts: true })
      await send('CancelTask', { id })
      await send('SubscribeToTask', { id })
      await send('GetTask', { id: 'unknown' })
      texts.push(await (await a.handler.fetch(get('/.well-known/agent-card.json'))).text())
      await a.handler.close({ graceMs: 0 })
    }
    return texts
  }

  test.each(['1.0', 'none'] as const)('version: %s', async (version) => {
    const texts = await transcript(version, true)
    expect(texts).toHaveLength(20)
    for (const text of texts) expect(text).not.toMatch(/generation/i)
    expect(texts).toEqual(await transcript(version, false))
  })

  test('the same requests in 1.1 are full of them', async () => {
    const texts = await transcript('1.1', true)
    expect(texts.filter((text) => /"generation":\d/.test(text)).length).toBeGreaterThan(10)
  })

  test('the card does not list 1.1, and a client that asks for the card of 1.1 gets that of 1.0', async () => {
    const { handler } = draft(() => 'done')
    const versions = handler.card.supportedInterfaces.map(({ protocolVersion }) => protocolVersion)
    expect(versions).toContain('1.0')
    expect(versions).not.toContain('1.1')
    const ofDraft = await handler.fetch(get('/.well-known/agent-card.json', { headers: SPEAKING['1.1'] }))
    const ofStable = await handler.fetch(get('/.well-known/agent-card.json', { headers: SPEAKING['1.0'] }))
    expect(await ofDraft.json()).toEqual(await ofStable.json())
  })
})

describe('the option', () => {
  const execute: Execute = () => 'done'
  const card = { name: 'A', url: 'https://a.example' }

  test.each(BINDINGS)('$name: without it, 1.1 is not spoken', async (binding) => {
    for (const options of [{}, { preview: {} }, { preview: { generation: false } }]) {
      const { error } = await ask(binding, agent(execute, options), 'ListTasks', {})
      expect(error).toMatchObject({
        reason: 'VERSION_NOT_SUPPORTED',
        details: [{ metadata: { version: '1.1', supported: expect.not.stringContaining('1.1') as string } }],
      })
    }
    expect(await ask(binding, draft(execute), 'ListTasks', {})).not.toHaveProperty('error')
  })

  test('an invalid value is refused', () => {
    const make = (options: object) => () => createRequestHandler({ card, execute, ...options })
    expect(make({ preview: { generation: 'yes' } })).toThrow(/"preview.generation" must be a boolean/)
    expect(make({ preview: { generations: true } })).toThrow(/generations/)
    expect(make({ preview, dialects: [v0_3()] })).toThrow(/requires v1\(\)/)
    expect(make({ preview, dialects: [v1(), v1_1()] })).toThrow(/adds 1.1 itself/)
    expect(make({ longPollMs: 0 })).toThrow(/"longPollMs"/)
  })
})

describe.each(BINDINGS)('$name: numbers', (binding) => {
  test('each event has its own, those of a stream grow, and the last is that of the task', async () => {
    const a = draft(async function* (run) {
      run.update('Reading')
      run.artifact('extra')
      yield* await Promise.resolve(['one', 'two'])
    })
    const events = await stream(a, binding, 'SendStreamingMessage', { message: user('go') })
    const numbers = events.map(({ value }) => Object.values(value)[0] as unknown as Numbered)
    const generations = numbers.map(({ generation }) => generation)
    expect(generations).toEqual([2, 3, 4, 5, 6, 7, 8])
    expect(events.map(({ id }) => Number(id))).toEqual(generations)
    const [task] = numbers
    const found = await taskOf(ask(binding, a, 'GetTask', { id: task?.id }))
    expect(found.generation).toBe(8)
    const { result } = await ask(binding, a, 'ListTasks', {})
    expect(result).toMatchObject({ tasks: [{ id: found.id, generation: 8 }] })
  })

  test('a message takes one that no event has', async () => {
    const a = draft((run) => run.complete('Done'))
    const events = await stream(a, binding, 'SendStreamingMessage', { message: user('go') })
    const generations = events.map(({ value }) => (Object.values(value)[0] as unknown as Numbered).generation)
    // Created, what the user says; what the agent says; to work; done.
    expect(generations).toEqual([2, 4, 5])
  })
})

describe.each(BINDINGS)('$name: ifGenerationMatch', (binding) => {
  const say = (a: TestAgent, text: string, taskId: string, ifGenerationMatch: number | string) =>
    ask(binding, a, 'SendMessage', { message: user(text, taskId), configuration: { ifGenerationMatch } })

  test('of two clients that answer what they have both read, exactly one wins', async () => {
    const a = draft(asking)
    const { id, generation } = await taskOf(ask(binding, a, 'SendMessage', { message: user('go') }))
    const answers = await Promise.all(['left', 'right'].map((text) => say(a, text, id, generation)))
    const texts = a.tasks.getTask(id)?.messages.flatMap(({ role, parts }) => (role === 'user' ? parts : []))
    expect(texts).toEqual([{ text: 'go' }, { text: 'left' }])
    expect(answers[0]?.result).toMatchObject({ task: { id } })
    const [, lost] = answers
    expect(lost?.status).toBe(binding.name === 'JSON-RPC' ? 200 : 409)
    expect(lost?.error).toMatchObject({
      code: binding.name === 'JSON-RPC' ? -32010 : 409,
      reason: 'TASK_GENERATION_MISMATCH',
      details: [{ metadata: { taskId: id, expectedGeneration: String(generation) } }],
    })
  })

  test.each(['queue', 'steer'] as const)('so it is while the task is worked on: %s', async (onFollowUp) => {
    const { opened, open } = gate()
    const a = draft(() => opened, { onFollowUp })
    const configuration = { returnImmediately: true }
    const first = ask(binding, a, 'SendMessage', { message: user('go'), configuration })
    await turn()
    a.clock.advance(0)
    const { id, generation } = await taskOf(first)
    const answers = ['left', 'right'].map((text) => pending(say(a, text, id, String(generation))))
    expect(await Promise.all(answers.map(({ isOver }) => isOver()))).toEqual([false, true])
    expect((await answers[1]?.promise)?.error?.reason).toBe('TASK_GENERATION_MISMATCH')
    open()
    expect((await answers[0]?.promise)?.result).toHaveProperty('task.status.state', 'TASK_STATE_COMPLETED')
    await a.handler.close({ graceMs: 0 })
  })

  test('a refused message leaves no trace, with a stream either', async () => {
    const runs: string[] = []
    const a = draft(
      async (run) => {
        runs.push(run.text)
        await run.requireInput('More?')
      },
      { limits: { maxStreams: 1 } },
    )
    const task = await taskOf(ask(binding, a, 'SendMessage', { message: user('go') }))
    const before = a.tasks.getTask(task.id)
    for (const ifGenerationMatch of [0, task.generation - 1, task.generation + 1, '9223372036854775807']) {
      for (const operation of ['SendMessage', 'SendStreamingMessage', 'SendStreamingMessage'] as const) {
        const params = { message: user('no', task.id), configuration: { ifGenerationMatch } }
        const answer = await ask(binding, a, operation as Unary, params)
        expect(answer.error?.reason).toBe('TASK_GENERATION_MISMATCH')
      }
    }
    await turn()
    expect(a.tasks.getTask(task.id)).toEqual(before)
    expect(runs).toEqual(['go'])
  })

  test('a new task has none to match', async () => {
    const { result } = await ask(
      binding,
      draft(() => 'done'),
      'SendMessage',
      {
        message: user('go'),
        configuration: { ifGenerationMatch: 7 },
      },
    )
    expect(result).toHaveProperty('task.status.state', 'TASK_STATE_COMPLETED')
  })

  test('of a task that has ended, a mismatch is reported before the end', async () => {
    const a = draft(() => 'done')
    const { id, generation } = await taskOf(ask(binding, a, 'SendMessage', { message: user('go') }))
    const reasons = [generation - 1, generation].map(async (expected) => {
      return (await say(a, 'more', id, expected)).error?.reason
    })
    expect(await Promise.all(reasons)).toEqual(['TASK_GENERATION_MISMATCH', 'UNSUPPORTED_OPERATION'])
  })

  test('counts changes of onFollowUp', async () => {
    const { opened, open } = gate()
    const tasks = new TaskManager()
    const handler = createRequestHandler({
      card: { name: 'A', url: 'https://agent.test' },
      execute: () => opened,
      tasks,
      preview,
      onFollowUp: (_, { id }) => {
        tasks.updateTask(id, { message: 'Another client has more to say' })
        return 'queue'
      },
    })
    const configuration = { returnImmediately: true }
    const { id, generation } = await taskOf(
      ask(binding, { handler }, 'SendMessage', { message: user('go'), configuration }),
    )
    const answer = await ask(binding, { handler }, 'SendMessage', {
      message: user('more', id),
      configuration: { ifGenerationMatch: generation },
    })
    expect(answer.error?.reason).toBe('TASK_GENERATION_MISMATCH')
    expect(tasks.getTask(id)?.messages).toHaveLength(1)
    open()
  })
})
