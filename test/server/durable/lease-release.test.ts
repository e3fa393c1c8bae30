/** Release of leases after every kind of end of a run. */
import { A2AError } from 'a2a-tasks'
import type { Execute, Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import type { ManualClock } from 'a2a-tasks/testing'
import {
  as,
  authenticate,
  call,
  gate,
  jsonRpc,
  stateName,
  user,
  type Failure,
} from '../spec/support/agent.js'
import {
  begin,
  cluster,
  get,
  holdUp,
  pass,
  replicas,
  resultOf,
  send,
  settle,
  textOf,
  type Replica,
  type ReplicasOptions,
} from './support/replicas.js'

const FAIL = { manager: { recover: 'fail' } } as const

const state = async (at: Replica, id: string): Promise<string> => stateName((await get(at, id)).status.state)

/** Answers every message but the first, which it asks about. */
const asking: Execute = (run) => {
  if (run.text !== 'go') return `to ${run.text}`
  run.requireInput('Which?').catch(() => undefined)
  return undefined
}

const forEver: Execute = async (run) => {
  run.start()
  await new Promise(() => undefined)
}

describe('a message to a run that cannot read it any more', () => {
  test('fails the task of a process that is closing, and does not leave it working', async () => {
    const cleaned = gate()
    const { a, b, clock } = replicas(
      async (run) => {
        try {
          await run.requireInput('Which?')
        } finally {
          await cleaned.opened
        }
      },
      { onFollowUp: 'steer', ...FAIL },
    )
    const { id } = await send(a, 'go')
    const closed = a.handler.close({ graceMs: 60_000 })
    await settle()
    const sent = send(b, 'this', id)
    await settle()
    expect(await state(b, id)).toBe('working')
    cleaned.open()
    await closed
    await pass(clock, async () => (await state(b, id)) === 'failed')
    expect(stateName((await sent).status.state)).toBe('failed')
    expect(a.errors).toEqual([])
  })

  test('answers the question in another process, where its own is closing', async () => {
    const cleaned = gate()
    const answers: string[] = []
    const execute: Execute = async (run) => {
      try {
        answers.push(textOf(await run.requireInput('Which?')))
      } finally {
        await cleaned.opened
      }
    }
    const { a, b, clock } = replicas(execute, { manager: { recover: 'resume' } })
    const { id } = await send(a, 'go')
    const closed = a.handler.close({ graceMs: 60_000 })
    await settle()
    await begin(b, 'this', id)
    await settle()
    cleaned.open()
    await closed
    await pass(clock, async () => (await state(b, id)) === 'completed')
    expect(answers).toEqual(['this'])
  })

  test('begins another, where it has returned', async () => {
    const ended = gate()
    const turns: string[] = []
    const { a, b } = replicas(
      async (run) => {
        run.start()
        if (run.text === 'first') await ended.opened
        turns.push(run.messages.map(textOf).join())
        return 'done'
      },
      { onFollowUp: 'steer' },
    )
    const { id } = await begin(a, 'first')
    await settle()
    a.store.deafen()
    await begin(b, 'second', id)
    ended.open()
    await a.tasks.waitFor(id)
    expect(turns).toEqual(['first', 'first,second'])
  })
})

describe('a task that is working when it is given back', () => {
  const moved = async (
    isClosing: boolean,
  ): Promise<{ a: Replica; b: Replica; clock: ManualClock; id: string }> => {
    const { way, next } = holdUp('release')
    const { all, clock } = cluster([asking, asking], FAIL, (store, at) => (at === 0 ? way(store) : store))
    const [a, b] = all as [Replica, Replica]
    const { called, go } = next()
    const { id } = await send(a, 'go')
    await called
    await b.tasks.patchTask(id, { state: 'working' })
    if (isClosing) void a.handler.close({ graceMs: 0 })
    go()
    await settle()
    return { a, b, clock, id }
  }

  test('fails, and onError is called', async () => {
    const { a, b, id } = await moved(false)
    expect(await state(b, id)).toBe('failed')
    expect(a.errors).toMatchObject([
      { error: { message: 'execute() has ended, but its task has not' }, context: { taskId: id } },
    ])
  })

  test('is kept by a process that is closing, for others to recover', async () => {
    const { a, b, clock, id } = await moved(true)
    expect(await state(b, id)).toBe('working')
    await pass(clock, async () => (await state(b, id)) === 'failed')
    expect((await get(b, id)).status.message).toMatchObject({
      parts: [{ text: 'The agent stopped before this task was finished' }],
    })
    expect(a.errors).toEqual([])
  })
})

test('a task that others work on without a server is left to them, when there is no room for its message', async () => {
  const { a, b } = replicas(forEver, { limits: { maxRuns: 1 } })
  await begin(a, 'keeps it busy')
  const { id } = await b.tasks.createTask({ skill: 'test' })
  await b.tasks.patchTask(id, { state: 'working' })
  const { error } = await call(jsonRpc, a, 'SendMessage', { message: user('more', { taskId: id }) })
  expect(error?.reason).toBe('UNAVAILABLE')
  await settle()
  expect(await state(b, id)).toBe('working')
  expect(a.errors).toEqual([])
})

describe('a message that comes under a lease that is just being taken', () => {
  const racing = async (
    options: ReplicasOptions,
    configuration: (b: Replica, id: string) => Promise<object>,
  ): Promise<{ turns: string[]; b: Replica; id: string; error: Failure | undefined }> => {
    const turns: string[] = []
    const execute: Execute = async (run) => {
      turns.push(run.text)
      if (run.text === 'busy') return await forEver(run)
      if (run.text !== 'go') await settle()
      return asking(run)
    }
    const { way, next } = holdUp('acquire', 'after')
    const { all } = cluster([execute, execute], options, (store, at) => (at === 0 ? way(store) : store))
    const [a, b] = all as [Replica, Replica]
    const { id } = await send(a, 'go')
    await settle()
    if (options.limits !== undefined) await begin(a, 'busy')
    await settle()
    const body = { message: user('from a', { taskId: id }), configuration: await configuration(b, id) }
    const { called, go } = next()
    const init = options.preview === undefined ? {} : { headers: { 'A2A-Version': '1.1' } }
    const answer = call(jsonRpc, a, 'SendMessage', body, init)
    await called
    await begin(b, 'from b', id)
    go()
    const { error } = await answer
    await settle()
    return { turns: turns.filter((text) => text !== 'busy'), b, id, error }
  }

  test('starts a run before the one that the lease was acquired for', async () => {
    const { turns, b, id, error } = await racing({}, () => Promise.resolve({}))
    expect([turns, error]).toEqual([['go', 'from b', 'from a'], undefined])
    expect(await state(b, id)).toBe('completed')
  })

  test('starts a run if the other is refused for its generation', async () => {
    const { turns, b, id, error } = await racing({ preview: { generation: true } }, async (at, taskId) => ({
      ifGenerationMatch: (await at.tasks.peekTask(taskId))?.generation ?? 0,
    }))
    expect(turns).toEqual(['go', 'from b'])
    expect(error?.reason).toBe('TASK_GENERATION_MISMATCH')
    expect(await state(b, id)).toBe('completed')
  })

  test('starts a run if there is no room for the other', async () => {
    const options = { limits: { maxRuns: 1 } }
    const { turns, b, id } = await racing(options, () => Promise.resolve({}))
    expect(turns.slice(0, 2)).toEqual(['go', 'from b'])
    expect(await state(b, id)).toBe('completed')
  })
})

test('a message that arrives while its task is released starts a run', async () => {
  const { way, next } = holdUp('release')
  const execute: Execute = async (run) => {
    if (run.text === 'last') return 'done'
    await run.requireInput('Which?')
    run.requireInput('And which?').catch(() => undefined)
    return undefined
  }
  const { all } = cluster([execute, execute], {}, (store, at) => (at === 0 ? way(store) : store))
  const [a, b] = all as [Replica, Replica]
  const { id } = await send(a, 'go')
  // The note of the lease names the current work, and the lease is not released before.
  const { called, go } = next()
  await begin(b, 'this', id)
  await called
  await settle()
  expect(await state(b, id)).toBe('input-required')
  await begin(b, 'last', id)
  await settle()
  go()
  await settle()
  expect(await state(b, id)).toBe('completed')
})

test('a run that was canceled elsewhere fails with that, whether it has asked for its signal or not', async () => {
  const began = gate<Run>()
  const ended = gate()
  const { a, b } = replicas(async (run) => {
    run.start()
    began.open(run)
    await ended.opened
  })
  const { id } = await begin(a, 'go')
  const run = await began.opened
  await settle()
  await call(jsonRpc, b, 'CancelTask', { id })
  await settle()
  expect(() => run.artifact('late')).toThrow(expect.objectContaining({ code: 'TASK_CANCELED' }) as Error)
  expect(run.signal.reason).toMatchObject({ code: 'TASK_CANCELED' })
  ended.open()
  await settle()
  expect(a.errors).toEqual([])
})

test('a client that may not see a task delays no client that may', async () => {
  const { way, next } = holdUp('get')
  const { all } = cluster([asking, asking], { authenticate }, (store, at) => (at === 1 ? way(store) : store))
  const [a, b] = all as [Replica, Replica]
  const { result } = await call(jsonRpc, a, 'SendMessage', { message: user('go') }, as('alice'))
  const taskId = result?.task?.id ?? ''
  await settle()
  const { called, go } = next()
  const more = (): object => ({ message: user('this', { taskId }) })
  const refused = call(jsonRpc, b, 'SendMessage', more(), as('mallory'))
  await called
  const answer = await call(jsonRpc, b, 'SendMessage', more(), as('alice'))
  expect(stateName(answer.result?.task?.status.state ?? '')).toBe('completed')
  go()
  expect((await refused).error?.reason).toBe('TASK_NOT_FOUND')
})

test('a task is released later when the store was unavailable at its release', async () => {
  const { a, b, clock } = replicas(asking, { manager: { recover: 'resume' } })
  a.store.fail('release')
  const { id } = await begin(a, 'go')
  await pass(clock, () => a.errors.length > 0)
  a.store.mend()
  const passFor = (ms: number): Promise<void> => {
    const end = clock.now() + ms
    return pass(clock, () => clock.now() >= end)
  }
  await passFor(30_000)
  a.store.calls.length = 0
  await passFor(60_000)
  expect(a.store.calls).not.toContain('renew')
  await begin(b, 'this', id)
  expect(await state(b, id)).toBe('completed')
})

test('a repeated answer does not keep a task that waits for a time', async () => {
  const { way, next } = holdUp('acquire')
  const execute: Execute = async (run) => {
    await run.requireInput('Which?')
    return await run.approve('go on', { message: 'Go on?', expiresInMs: 3_000 })
  }
  const { all, clock } = cluster(
    [execute, execute],
    // Nothing but the message itself looks after the task.
    { limits: { waitingRunMs: 1_000 }, manager: { sweepIntervalMs: false, recover: 'resume' } },
    (store, at) => (at === 1 ? way(store) : store),
  )
  const [a, b] = all as [Replica, Replica]
  const { id } = await send(a, 'go')
  await get(b, id)
  b.store.deafen()
  const answer = { message: user('this', { taskId: id }), configuration: { returnImmediately: true } }
  const { called, go } = next()
  // The client has no answer from b yet, and sends its message to a.
  void call(jsonRpc, b, 'SendMessage', answer)
  await called
  await call(jsonRpc, a, 'SendMessage', answer)
  await settle()
  clock.advance(2_000)
  await settle()
  a.store.fail()
  clock.advance(1_000)
  go()
  await pass(clock, async () => (await state(b, id)) === 'completed')
  expect(await resultOf(b, id)).toEqual(['expired'])
})

test('a signal that is stored while its task is released and its manager closes continues the task elsewhere', async () => {
  const [note, commit] = [holdUp('release'), holdUp('commit')]
  const execute: Execute = async (run) => {
    await run.requireInput('Which?')
    return await run.waitFor('go')
  }
  const { all, clock } = cluster(
    [execute, execute],
    { limits: { waitingRunMs: 1_000 }, manager: { recover: 'resume' } },
    (store, at) => (at === 0 ? note.way(commit.way(store)) : store),
  )
  const [a, b] = all as [Replica, Replica]
  const { id } = await send(a, 'go')
  const noting = note.next()
  await begin(a, 'this', id)
  await noting.called
  await settle()
  clock.advance(1_000)
  await settle()
  const storing = commit.next()
  void a.tasks.signal(id, 'go', 'went')
  await storing.called
  const closed = a.tasks.destroy()
  await settle()
  storing.go()
  await settle()
  noting.go()
  await closed
  await pass(clock, async () => (await state(b, id)) === 'completed')
  expect(await resultOf(b, id)).toEqual(['went'])
})

test('an attempt waits for a store that is unavailable, and does not fail the task', async () => {
  let attempts = 0
  const execute: Execute = async (run) => {
    attempts += 1
    await run.step('work', () => 'done')
    if (attempts === 1) throw new Error('Try again')
    return 'done'
  }
  const { a, clock } = replicas(execute, {
    retry: { attempts: 2, backoff: { initialMs: 1_000 } },
    manager: { recover: 'resume' },
  })
  const { id } = await begin(a, 'go')
  await settle()
  a.store.fail('events', 'heads')
  await pass(clock, () => a.errors.some(({ error }) => A2AError.is(error, 'STORE_FAILED')))
  a.store.mend()
  await pass(clock, async () => (await state(a, id)) === 'completed')
  expect(attempts).toBe(2)
})
