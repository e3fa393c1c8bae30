import type { Execute, Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { call, gate, jsonRpc, nameOf, refused, stateName, textsOf, user } from '../spec/support/agent.js'
import { begin, get, replicas, saidIn, send, settle, stream, subscribe, textOf } from './support/replicas.js'

const asking: Execute = async (run) => `You said ${textOf(await run.requireInput('Which?'))}`

const forEverAsking: Execute = async (run) => {
  for (;;) await run.requireInput('More?')
}

/** Works until it is told to end. */
function working(then: Execute = () => 'done'): {
  readonly execute: Execute
  readonly began: Promise<Run>
  readonly finish: () => void
} {
  const began = gate<Run>()
  const ended = gate()
  const execute: Execute = async (run) => {
    run.start()
    began.open(run)
    await ended.opened
    return await then(run)
  }
  return { execute, began: began.opened, finish: () => ended.open() }
}

describe('a task that one process works on, at another', () => {
  test('is read, and listed', async () => {
    const { a, b } = replicas(() => 'done')
    const { id } = await send(a, 'go')
    expect(textsOf(await get(b, id))).toEqual(['done'])
    const { result } = await call(jsonRpc, b, 'ListTasks', {})
    expect(result).toMatchObject({ totalSize: 1, tasks: [{ id }] })
  })

  test('is there as soon as it was answered with', async () => {
    const { execute, finish } = working()
    const { a, b } = replicas(execute)
    const { id } = await begin(a, 'go')
    expect(stateName((await get(b, id)).status.state)).toMatch(/submitted|working/)
    finish()
  })

  test('is streamed to its end, without gap or double', async () => {
    const { execute, began, finish } = working((run) => {
      for (const text of ['1', '2', '3']) run.artifact({ artifactId: 'x', parts: [{ text }] })
    })
    const { a, b } = replicas(execute)
    const { id } = await begin(a, 'go')
    await began
    const events = await subscribe(b, id)
    expect((await events.next())?.value.task?.id).toBe(id)
    finish()
    const names = (await events.rest()).map(nameOf).filter((name) => name !== 'working')
    expect(names).toEqual(['artifact:1', 'artifact:2', 'artifact:3', 'completed'])
  })

  test('is resumed by Last-Event-ID where the other stream broke off', async () => {
    const { execute, began, finish } = working((run) => {
      for (const text of ['2', '3']) run.artifact({ artifactId: 'x', parts: [{ text }] })
    })
    const { a, b } = replicas(execute)
    const first = await stream(a, 'go')
    const id = (await first.next())?.value.task?.id ?? ''
    const run = await began
    run.artifact({ artifactId: 'x', parts: [{ text: '1' }] })
    let last = await first.next()
    while (last !== undefined && nameOf(last) !== 'artifact:1') last = await first.next()
    await first.leave()
    const second = await subscribe(b, id, last?.id)
    finish()
    expect((await second.rest()).map(nameOf)).toEqual(['artifact:2', 'artifact:3', 'completed'])
  })

  test('is canceled: the signal of its run aborts', async () => {
    const { execute, began, finish } = working()
    const { a, b } = replicas(execute)
    const sent = send(a, 'go')
    const run = await began
    const { signal, task } = run
    await settle()
    const { result } = await call(jsonRpc, b, 'CancelTask', { id: task.id })
    expect(stateName(result?.status.state ?? '')).toBe('canceled')
    await settle()
    expect(signal.aborted).toBe(true)
    expect(signal.reason).toMatchObject({ code: 'TASK_CANCELED' })
    expect(() => run.artifact('late')).toThrow(expect.objectContaining({ code: 'TASK_CANCELED' }) as Error)
    expect(stateName((await sent).status.state)).toBe('canceled')
    finish()
    await settle()
    expect(a.errors).toEqual([])
    expect(stateName((await get(a, task.id)).status.state)).toBe('canceled')
  })

  test('is canceled once, however many ask at once', async () => {
    const { execute, began } = working()
    const { a, b } = replicas(execute)
    const { id } = await begin(a, 'go')
    await began
    const answers = await Promise.all([a, b, a, b].map((at) => call(jsonRpc, at, 'CancelTask', { id })))
    expect(answers.map(({ result }) => stateName(result?.status.state ?? ''))).toEqual(
      Array(4).fill('canceled'),
    )
    const { history = [] } = (await b.tasks.getTask(id)) ?? {}
    expect(history.filter(({ state }) => state === 'canceled')).toHaveLength(1)
  })

  test('is not shown to other owners', async () => {
    const { a, b } = replicas(asking, { authenticate: (r) => ({ id: r.headers.get('authorization') ?? '' }) })
    const as = (name: string): { headers: Record<string, string> } => ({ headers: { authorization: name } })
    const { result } = await call(jsonRpc, a, 'SendMessage', { message: user('go') }, as('alice'))
    const taskId = result?.task?.id ?? ''
    const params = { message: user('mine', { taskId }) }
    expect(await refused(jsonRpc, b, 'SendMessage', params, as('mallory'))).toMatchObject({
      reason: 'TASK_NOT_FOUND',
    })
    const answer = await call(jsonRpc, b, 'SendMessage', params, as('alice'))
    expect(answer.result?.task).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } })
  })
})

describe('a message to a task that another process holds', () => {
  test('answers its question: the run continues where it is', async () => {
    const { a, b } = replicas([asking, () => 'not here'])
    const { id, status } = await send(a, 'go')
    expect(stateName(status.state)).toBe('input-required')
    const done = await send(b, 'this', id)
    expect(stateName(done.status.state)).toBe('completed')
    expect(textsOf(done)).toEqual(['You said this'])
    expect(saidIn(done)).toEqual(['go', 'Which?', 'this'])
  })

  test('answers its question in a stream', async () => {
    const { a, b } = replicas([asking, () => 'not here'])
    const { id } = await send(a, 'go')
    const names = (await (await stream(b, 'this', id)).rest()).map(nameOf)
    expect(names[0]).toBe('task')
    expect(names.at(-1)).toMatch(/completed|task/)
    expect(textsOf(await get(b, id))).toEqual(['You said this'])
  })

  test('to a run that asks again and again gets its own answer', async () => {
    const { a, b } = replicas(async (run) => {
      for (let count = 1; count < 4; count += 1) await run.requireInput(`Question ${count}`)
    })
    const { id } = await send(a, 'go')
    for (const [at, count] of [[b, 2] as const, [a, 3] as const]) {
      const task = await send(at, 'go on', id)
      expect([stateName(task.status.state), saidIn(task).at(-1)]).toEqual([
        'input-required',
        `Question ${count}`,
      ])
    }
    const stopped = await (await stream(b, 'end', id)).rest()
    expect(stopped.map(nameOf).filter((name) => name === 'completed').length).toBeLessThan(2)
    expect(stateName((await get(a, id)).status.state)).toBe('completed')
  })

  test('queues: it is the next turn there', async () => {
    const turns: string[] = []
    const { execute, began, finish } = working((run) => {
      turns.push(run.text)
      run.artifact(`to ${run.text}`)
    })
    const { a, b } = replicas([execute, () => 'not here'])
    const { id } = await begin(a, 'first')
    await began
    const answers = [send(b, 'second', id), send(b, 'third', id), send(a, 'fourth', id)]
    await settle()
    finish()
    const [task] = await Promise.all(answers)
    expect(turns.toSorted()).toEqual(['first', 'fourth', 'second', 'third'])
    expect(textsOf(task as never)).toHaveLength(4)
    expect(saidIn(await get(b, id)).toSorted()).toEqual(['first', 'fourth', 'second', 'third'])
  })

  test('queues: it is the answer to what the run asks next', async () => {
    const { execute, began, finish } = working(async (run) => textOf(await run.requireInput('Which?')))
    const { a, b } = replicas([execute, () => 'not here'])
    const { id } = await begin(a, 'go')
    await began
    const sent = send(b, 'this one', id)
    await settle()
    finish()
    expect(textsOf(await sent)).toEqual(['this one'])
  })

  test('steers: the run finds it in its messages, and there is no other turn', async () => {
    const { execute, began, finish } = working((run) => run.messages.map(textOf).join(', '))
    const { a, b } = replicas(execute, { onFollowUp: 'steer' })
    const { id } = await begin(a, 'first')
    await began
    const sent = send(b, 'second', id)
    await settle()
    finish()
    expect(textsOf(await sent)).toEqual(['first, second'])
  })

  test('is refused where the policy says so, and does not join the conversation', async () => {
    const { execute, began, finish } = working()
    const { a, b } = replicas(execute, { onFollowUp: 'reject' })
    const { id } = await begin(a, 'first')
    await began
    const params = { message: user('second', { taskId: id }) }
    expect((await refused(jsonRpc, b, 'SendMessage', params)).reason).toBe('UNSUPPORTED_OPERATION')
    expect(saidIn(await get(b, id))).toEqual(['first'])
    finish()
  })

  test('that arrives while the run returns starts a run, or is refused because the task has ended', async () => {
    for (let round = 0; round < 20; round += 1) {
      const turns: string[] = []
      const { execute, began, finish } = working((run) => {
        turns.push(run.text)
      })
      const { a, b } = replicas(execute)
      const { id } = await begin(a, 'first')
      await began
      await settle()
      const sent = call(jsonRpc, b, 'SendMessage', { message: user('second', { taskId: id }) })
      for (let ticks = 0; ticks < round; ticks += 1) await Promise.resolve()
      finish()
      const { error } = await sent
      if (error === undefined) expect(turns).toEqual(['first', 'second'])
      else expect(error.reason).toBe('UNSUPPORTED_OPERATION')
      expect(stateName((await get(a, id)).status.state)).toBe('completed')
    }
  })

  test('starts a run even if its holder has not received it when the run returns', async () => {
    for (const outcome of ['text', undefined]) {
      const turns: string[] = []
      const { execute, began, finish } = working((run) => {
        turns.push(run.text)
        return outcome
      })
      const { a, b } = replicas([execute, () => 'not here'])
      const { id } = await begin(a, 'first')
      await began
      await settle()
      a.store.deafen()
      await begin(b, 'second', id)
      finish()
      await a.tasks.waitFor(id)
      expect(turns).toEqual(['first', 'second'])
    }
  })

  test('that was canceled elsewhere, which its holder has not received, is refused', async () => {
    const { a, b } = replicas(asking)
    const { id } = await send(a, 'go')
    a.store.deafen()
    await call(jsonRpc, b, 'CancelTask', { id })
    const params = { message: user('this', { taskId: id }) }
    expect(await refused(jsonRpc, a, 'SendMessage', params)).toMatchObject({
      message: 'Cannot send a message to a task in terminal state: canceled',
    })
    expect(saidIn(await get(b, id))).toEqual(['go', 'Which?'])
  })

  test('that has ended is refused', async () => {
    const { a, b } = replicas(() => 'done')
    const { id } = await send(a, 'go')
    const params = { message: user('more', { taskId: id }) }
    expect(await refused(jsonRpc, b, 'SendMessage', params)).toMatchObject({
      reason: 'UNSUPPORTED_OPERATION',
      message: 'Cannot send a message to a task in terminal state: completed',
    })
  })

  test('holds by its generation, whichever process it goes to', async () => {
    const { a, b } = replicas(forEverAsking, { preview: { generation: true } })
    const headers = { 'A2A-Version': '1.1' }
    const body = (text: string, taskId?: string, ifGeneration?: number): object => ({
      message: user(text, taskId === undefined ? {} : { taskId }),
      ...(ifGeneration !== undefined && { configuration: { ifGenerationMatch: ifGeneration } }),
    })
    const { id } = await send(a, 'go')
    const { generation = 0 } = (await b.tasks.peekTask(id)) ?? {}
    const answers = await Promise.all(
      [a, b].map(async ({ handler }, at) => {
        const request = jsonRpc.request('SendMessage', body(`from ${at}`, id, generation), { headers })
        return (await (await handler.fetch(request)).json()) as { error?: object; result?: object }
      }),
    )
    expect(answers.filter(({ error }) => error !== undefined)).toHaveLength(1)
    expect(saidIn(await get(a, id)).filter((text) => text.startsWith('from'))).toHaveLength(1)
  })
})

test('a generation is that of the store, even if the holder has not received it', async () => {
  const { a, b } = replicas(forEverAsking, { preview: { generation: true } })
  const { id } = await send(a, 'go')
  const { generation = 0 } = (await a.tasks.peekTask(id)) ?? {}
  a.store.deafen()
  await begin(b, 'first', id)
  const body = { message: user('late', { taskId: id }), configuration: { ifGenerationMatch: generation } }
  const request = jsonRpc.request('SendMessage', body, { headers: { 'A2A-Version': '1.1' } })
  expect(await (await a.handler.fetch(request)).json()).toMatchObject({ error: { code: -32010 } })
  expect(saidIn(await get(b, id))).not.toContain('late')
})

describe('a task that waits without a holder', () => {
  const turned: Execute = (run) => {
    if (run.messages.length > 1) return `Answered: ${run.text}`
    run.requireInput('Which?').catch(() => undefined)
    return undefined
  }

  test('is worked on by the process that its answer comes to', async () => {
    const { a, b } = replicas([turned, (run) => `At b: ${run.text}`])
    const { id } = await send(a, 'go')
    await settle()
    expect(textsOf(await send(b, 'this', id))).toEqual(['At b: this'])
  })

  test('is streamed from there', async () => {
    const { a, b } = replicas(turned)
    const { id } = await send(a, 'go')
    await settle()
    const events = (await (await stream(b, 'this', id)).rest()).map(nameOf)
    expect(events).toEqual(['task', 'artifact:Answered: this', 'completed'])
  })

  test('has one run, however many answers come at once', async () => {
    let running = 0
    let most = 0
    const { a, b } = replicas(async (run) => {
      if (run.messages.length === 1) return turned(run)
      running += 1
      most = Math.max(most, running)
      await settle()
      running -= 1
      return undefined
    })
    const { id } = await send(a, 'go')
    const texts = ['1', '2', '3', '4', '5', '6']
    const answers = await Promise.all(texts.map((text, at) => begin(at % 2 === 0 ? a : b, text, id)))
    expect(answers).toHaveLength(6)
    await a.tasks.waitFor(id)
    expect(most).toBe(1)
    expect(saidIn(await get(b, id)).toSorted()).toEqual([...texts, 'Which?', 'go'])
  })
})

describe('references', () => {
  test('to tasks of other processes are there when the run asks', async () => {
    const { a, b } = replicas((run) => run.referenceTasks.map(({ artifacts }) => artifacts.length).join())
    const { id } = await send(a, 'go')
    const message = user('again', { referenceTaskIds: [id, 'none'] })
    const { result } = await call(jsonRpc, b, 'SendMessage', { message })
    expect(result?.task?.artifacts).toMatchObject([{ parts: [{ text: '1' }] }])
  })
})
