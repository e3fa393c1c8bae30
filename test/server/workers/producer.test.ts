/** Programs that begin and continue tasks without a handler, and workers that do the turns, over one store. */
import { TaskManager, type TaskSnapshot } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import {
  createProducer,
  createRequestHandler,
  createWorker,
  textOf,
  type Dispatch,
  type Execute,
  type Principal,
  type Producer,
  type Turn,
  type Worker,
} from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { FaultyStore, pass, settle } from '../durable/support/replicas.js'
import { call, jsonRpc, ORIGIN, taskOf, user } from '../spec/support/agent.js'

const CARD = { name: 'Shop', url: ORIGIN }
const ADA: Principal = { id: 'ada' }

interface Yard {
  readonly clock: ManualClock
  readonly store: FaultyStore
  readonly errors: unknown[]
  readonly manager: () => DurableTaskManager
  /** Of a process of its own. */
  readonly producer: (dispatch?: Dispatch) => Producer
  readonly worker: (execute: Execute, waitingRunMs?: number) => Worker
  readonly handler: (dispatch: Dispatch) => ReturnType<typeof createRequestHandler>
  /** A manager that only reads. */
  readonly tasks: DurableTaskManager
}

function yard(): Yard {
  const clock = new ManualClock()
  const store = new FaultyStore(memoryStore({ now: () => clock.now() }))
  const errors: unknown[] = []
  const onError = (error: unknown): unknown => errors.push(error)
  const manager = (): DurableTaskManager => {
    const tasks = new DurableTaskManager({ store: store.asStore, clock, onError })
    onTestFinished(() => tasks.destroy())
    return tasks
  }
  const close = (part: { close(options: { graceMs: number }): Promise<void> }): void =>
    onTestFinished(async () => {
      let isClosed = false
      void part.close({ graceMs: 0 }).then(() => (isClosed = true))
      await pass(clock, () => isClosed)
    })
  const common = { card: CARD, clock, onError }
  return {
    ...{ clock, store, errors, manager, tasks: manager() },
    producer: (dispatch) => createProducer({ card: CARD, tasks: manager(), dispatch, onError }),
    worker: (execute, waitingRunMs) => {
      const principalOf = (id: string): Principal => ({ id })
      const options = { ...common, principalOf, limits: { waitingRunMs } }
      const made = createWorker({ ...options, tasks: manager(), execute })
      close(made)
      return made
    },
    handler: (dispatch) => {
      const options = { ...common, authenticate: () => ADA, dispatch }
      const made = createRequestHandler<Principal, DurableTaskManager>({ ...options, tasks: manager() })
      close(made)
      return made
    },
  }
}

function queue(): { readonly turns: Turn[]; readonly dispatch: Dispatch } {
  const turns: Turn[] = []
  return { turns, dispatch: (turn) => void turns.push(turn) }
}

const echo: Execute = (run) => `You said: ${run.text}`
const asking: Execute = async (run) => `took ${textOf(await run.requireInput('Which seat?'))}`

/** The texts of the artifacts. */
async function resultOf(tasks: DurableTaskManager, id: string): Promise<string[]> {
  const { artifacts = [] } = (await tasks.getTask(id)) ?? {}
  return artifacts.map(({ parts = [] }) => textOf({ parts }))
}

describe('a task that a producer begins', () => {
  test('is done by a worker', async () => {
    const { producer, worker, tasks, errors } = yard()
    worker(echo).start()
    const { id, state } = await producer().send('hi')
    expect(state).toBe('submitted')
    await settle()
    expect(await resultOf(tasks, id)).toEqual(['You said: hi'])
    expect(errors).toEqual([])
  })

  test('has the head start that priorityOf gives it, also for a queue', async () => {
    const { manager, store, errors } = yard()
    const { turns, dispatch } = queue()
    const priorityOf = ({ messages }: TaskSnapshot): number =>
      textOf(messages[0] ?? {}) === 'late' ? 60_000 : 0
    const onError = (error: unknown): unknown => errors.push(error)
    const { send } = createProducer({ card: CARD, tasks: manager(), priorityOf, onError })
    await send('early')
    const late = await send('late')
    expect((await store.asStore.orphans(1))[0]?.key.id).toBe(late.id)
    await createProducer({ card: CARD, tasks: manager(), dispatch, priorityOf, onError }).send('late')
    expect(turns).toMatchObject([{ priority: 60_000 }])
    expect(errors).toEqual([])
  })

  test('is the same as one that a handler accepts', async () => {
    const { producer, handler, tasks, store } = yard()
    const front = handler('store')
    const metadata = { trip: 7 }
    const message = user('go', { messageId: 'm', contextId: 'c', metadata: { own: true } })
    const accepted = taskOf(
      await call(jsonRpc, { handler: front }, 'SendMessage', {
        ...{ message, metadata, configuration: { returnImmediately: true } },
      }),
    )
    await settle()
    const handled = await tasks.events(accepted.id)
    const [handledLease] = await store.asStore.orphans(9)
    const made = await producer().send(
      { parts: [{ text: 'go' }], metadata: { own: true } },
      { messageId: 'other', contextId: 'c', principal: ADA, metadata },
    )
    const same = (text: string): unknown =>
      JSON.parse(
        text.replaceAll(made.id, 'ID').replaceAll(accepted.id, 'ID').replaceAll('other', 'm'),
      ) as unknown
    expect(same(JSON.stringify(await tasks.events(made.id)))).toEqual(same(JSON.stringify(handled)))
    const [, lease] = await store.asStore.orphans(9)
    expect(lease?.leaseId).toBe(handledLease?.leaseId)
    expect(lease?.note).toMatchObject({ restarts: -1 })
    expect(handledLease?.note).toMatchObject({ restarts: -1 })
  })

  test('costs one call of the store', async () => {
    const { producer, store } = yard()
    const { send } = producer()
    store.calls.splice(0)
    await send('hi')
    expect(store.calls).toEqual(['create'])
  })

  test('belongs to its principal and tenant, which the code knows', async () => {
    const { producer, worker, tasks } = yard()
    const seen: unknown[] = []
    worker((run) => void seen.push([run.principal, run.tenant, run.metadata])).start()
    const { id, owner } = await producer().send('go', {
      ...{ principal: ADA, tenant: 'shop', metadata: { a: 1 } },
    })
    await settle()
    expect(owner).toBe('\nshop\nada')
    expect(seen).toEqual([[ADA, 'shop', { a: 1 }]])
    expect(await tasks.stateOf(id)).toBe('completed')
  })

  test.each([5, '\ud800'])('is refused for the tenant %j', async (tenant) => {
    const sending = yard()
      .producer()
      .send('go', { tenant: tenant as string })
    await expect(sending).rejects.toMatchObject({ code: 'INVALID_PARAMS', data: { path: 'tenant' } })
  })

  test('with its messageId begins once, whoever sends it, and however often', async () => {
    const { producer, worker, handler, tasks } = yard()
    let done = 0
    worker(() => `${(done += 1)}`).start()
    const producers = [producer(), producer()]
    const options = { messageId: 'invoice-42', principal: ADA }
    const sent = await Promise.all(
      [...producers, ...producers].map((each) => each.send('go', options).then(({ id }) => id)),
    )
    expect(new Set(sent).size).toBe(1)
    await settle()
    const again = await producer().send('go', options)
    expect(again).toMatchObject({ id: sent[0], state: 'completed' })
    const message = user('go', { messageId: 'invoice-42' })
    const accepted = taskOf(await call(jsonRpc, { handler: handler('store') }, 'SendMessage', { message }))
    expect(accepted.id).toBe(sent[0])
    expect(done).toBe(1)
    expect(await tasks.size()).toBe(1)
    await expect(producer().send('stop', options)).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      data: { path: 'message.parts[0].text' },
    })
    // Another user has another task.
    expect((await producer().send('stop', { messageId: 'invoice-42' })).id).not.toBe(sent[0])
  })

  test('is there once after a call whose answer is lost', async () => {
    const { producer, worker, store, clock, tasks } = yard()
    worker(echo).start()
    store.fail('create')
    const sending = producer().send('go')
    await settle()
    store.mend()
    await pass(clock, async () => (await tasks.size()) === 1)
    await sending
    await settle()
    expect(await tasks.countTasks({ state: 'completed' })).toBe(1)
  })

  test('with notBefore begins then, and neither a signal nor a message makes it begin earlier', async () => {
    const { producer, worker, tasks, clock, errors } = yard()
    worker(async (run) => `${await run.waitFor<string>('paid')} ${run.messages.length}`).start()
    const { send, signal } = producer()
    const { id } = await send('go', { notBefore: clock.now() + 3_600_000 })
    await signal(id, 'paid', 'yes')
    await send('and more', { taskId: id })
    const start = clock.now()
    let begun: number | undefined
    for (let minutes = 0; minutes < 70; minutes += 1) {
      await settle()
      if ((await tasks.stateOf(id)) !== 'submitted') begun ??= clock.now() - start
      clock.advance(60_000)
    }
    await settle()
    expect(begun).toBeGreaterThanOrEqual(3_600_000)
    expect(begun).toBeLessThanOrEqual(3_660_000)
    expect(await resultOf(tasks, id)).toContain('yes 2')
    expect(errors).toEqual([])
  })

  test('with notBefore can be canceled before', async () => {
    const { producer, worker, tasks, clock } = yard()
    let calls = 0
    worker(() => void (calls += 1)).start()
    const { id } = await producer().send('go', { notBefore: new Date(clock.now() + 60_000) })
    await tasks.cancelTask(id)
    let seconds = 0
    await pass(clock, () => (seconds += 1) > 120)
    expect({ calls, state: await tasks.stateOf(id) }).toEqual({ calls: 0, state: 'canceled' })
  })

  test('with notBefore in the past begins at once', async () => {
    const { producer, worker, tasks, clock } = yard()
    worker(echo).start()
    const { id } = await producer().send('go', { notBefore: clock.now() - 1 })
    await settle()
    expect(await tasks.stateOf(id)).toBe('completed')
  })
})

describe('a queue', () => {
  test('gets the turn once it is stored, and again if no worker begins it', async () => {
    const { turns, dispatch } = queue()
    const { producer, handler, worker, tasks, clock } = yard()
    handler(dispatch)
    const { id } = await producer(dispatch).send('go', { principal: ADA })
    expect(turns).toEqual([{ id: `${id}-3`, taskId: id, owner: 'ada', priority: 0 }])
    await pass(clock, () => turns.length === 2)
    expect(turns[1]).toEqual(turns[0])
    await worker(echo).run(turns[1] as Turn)
    expect(await resultOf(tasks, id)).toEqual(['You said: go'])
  })

  test('gets a turn that is not to begin before, from a handler, when it is due', async () => {
    const { turns, dispatch } = queue()
    const { producer, handler, worker, tasks, clock } = yard()
    handler(dispatch)
    const dueAt = clock.now() + 600_000
    const { id } = await producer(dispatch).send('go', { notBefore: dueAt })
    await settle()
    const { run } = worker(echo)
    // Whoever runs it earlier finds nothing to do.
    await run({ taskId: id })
    expect(await tasks.stateOf(id)).toBe('submitted')
    await pass(clock, () => turns.length === 1)
    expect(clock.now()).toBeGreaterThanOrEqual(dueAt)
    await run(turns[0] as Turn)
    expect(await resultOf(tasks, id)).toEqual(['You said: go'])
  })

  test('that fails is tried again by a handler, and the task is there', async () => {
    const { turns, dispatch } = queue()
    const { producer, handler, clock, tasks, errors } = yard()
    handler(dispatch)
    const { id } = await producer(() => Promise.reject(new Error('no queue'))).send('go')
    expect(errors).toMatchObject([{ message: 'no queue' }])
    expect(await tasks.stateOf(id)).toBe('submitted')
    await pass(clock, () => turns.length === 1)
  })

  test('gets the turns of messages and signals that a producer sends to tasks that wait', async () => {
    const { turns, dispatch } = queue()
    const { producer, handler, worker, tasks, clock } = yard()
    handler(dispatch)
    const { send, signal } = producer(dispatch)
    const { run } = worker(async (each) => {
      const seat = textOf(await each.requireInput('Which seat?'))
      return `${seat} ${await each.waitFor<string>('paid')}`
    }, 1)
    const { id } = await send('go')
    const doing = async (): Promise<void> => {
      let isDone = false
      void run(turns.at(-1) as Turn).then(() => (isDone = true))
      await pass(clock, () => isDone)
    }
    await doing()
    expect(await tasks.stateOf(id)).toBe('input-required')
    await send('4A', { taskId: id })
    expect(turns).toHaveLength(2)
    await doing()
    await signal(id, 'paid', 'cash')
    await pass(clock, () => turns.length === 3)
    await doing()
    expect(await resultOf(tasks, id)).toEqual(['4A cash'])
  })
})

describe('a message to a task', () => {
  test.each([
    ['whose code is in memory', 60_000],
    ['whose code has left the memory', 1],
  ])('answers a question of one %s', async (_, waitingRunMs) => {
    const { producer, worker, tasks, clock, errors } = yard()
    let calls = 0
    worker((run) => {
      calls += 1
      return asking(run)
    }, waitingRunMs).start()
    const { send } = producer()
    const { id } = await send('go')
    await settle()
    clock.advance(2)
    await settle()
    expect(await tasks.stateOf(id)).toBe('input-required')
    await Promise.all([
      send('4A', { taskId: id, messageId: 'a' }),
      send('4A', { taskId: id, messageId: 'a' }),
    ])
    await pass(clock, async () => (await tasks.stateOf(id)) === 'completed')
    expect(await resultOf(tasks, id)).toEqual(['took 4A'])
    expect(calls).toBe(waitingRunMs === 1 ? 2 : 1)
    expect((await tasks.getTask(id))?.messages.filter(({ role }) => role === 'user')).toHaveLength(2)
    expect(errors).toEqual([])
  })

  test('begins a turn of one whose turn has ended, with the data of its request', async () => {
    const { producer, worker, tasks } = yard()
    const seen: unknown[] = []
    worker((run) => {
      seen.push([run.text, run.metadata, run.principal])
      void run.requireAuth('Show your card').catch(() => undefined)
    }).start()
    const { send } = producer()
    const { id } = await send('go', { principal: ADA })
    await settle()
    expect(await tasks.stateOf(id)).toBe('auth-required')
    await send('here', { taskId: id, principal: ADA, metadata: { card: 1 } })
    await settle()
    expect(seen).toEqual([
      ['go', {}, ADA],
      ['here', { card: 1 }, ADA],
    ])
  })

  test('follows the turn of one at work', async () => {
    const { producer, worker, tasks } = yard()
    const seen: string[] = []
    let end = (): void => undefined
    worker(async (run) => {
      run.start()
      seen.push(run.text)
      if (run.text === 'go') await new Promise<void>((resolve) => (end = resolve))
      return run.text
    }).start()
    const { send } = producer()
    const { id } = await send('go')
    await settle()
    await send('more', { taskId: id })
    end()
    await settle()
    expect(seen).toEqual(['go', 'more'])
    expect(await tasks.stateOf(id)).toBe('completed')
  })

  test('continues one that also waits for a time, which then still comes', async () => {
    const { producer, worker, tasks, clock } = yard()
    worker(async (run) => {
      const asked = run.requireInput('Which seat?')
      await run.sleep('rest', { ms: 3_600_000 })
      return textOf(await asked)
    }, 1).start()
    const { send } = producer()
    const { id } = await send('go')
    await pass(clock, async () => (await tasks.stateOf(id)) === 'input-required')
    let seconds = 0
    await pass(clock, () => (seconds += 1) > 60)
    await send('4A', { taskId: id })
    await settle()
    expect(await resultOf(tasks, id)).toEqual([])
    clock.advance(3_600_000)
    await pass(clock, async () => (await tasks.stateOf(id)) === 'completed')
    expect(await resultOf(tasks, id)).toEqual(['4A'])
  })

  test('is refused as by a handler', async () => {
    const { producer, worker } = yard()
    worker(echo).start()
    const { send } = producer()
    const { id } = await send('go', { principal: ADA })
    await expect(send('x', { taskId: id })).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
    await settle()
    await expect(send('x', { taskId: id, principal: ADA })).rejects.toMatchObject({ code: 'TASK_TERMINAL' })
    await expect(send('x', { taskId: 'none' })).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
  })
})

test('a signal of a manager without a handler continues the turn at a worker', async () => {
  const { producer, worker, manager, tasks, clock } = yard()
  worker(async (run) => `paid ${await run.waitFor<string>('paid')}`, 1).start()
  const { id } = await producer().send('go')
  await pass(clock, async () => (await tasks.journal(id)).some(({ entry }) => entry.kind === 'wait'))
  let seconds = 0
  await pass(clock, () => (seconds += 1) > 60)
  await manager().signal(id, 'paid', 'cash')
  await settle()
  expect(await resultOf(tasks, id)).toEqual(['paid cash'])
})

describe('is refused', () => {
  const producer = (): Producer => yard().producer()

  test.each([
    ['tasks in memory', { tasks: new TaskManager() }, /"tasks" must be shared with the workers/],
    ['another option', { execute: echo }, /Unknown option "execute" of createProducer/],
    ['a dispatch that is neither', { dispatch: 'queue' }, /"dispatch" must be 'store' or a function/],
    ['a card without a name', { card: { url: ORIGIN } }, /name/],
  ])('a producer with %s', (_, options, message) => {
    expect(() => createProducer({ card: CARD, tasks: yard().tasks, ...options } as never)).toThrow(message)
  })

  test.each([
    ['a misspelt option', 'x', { owner: 'ada' }, 'owner'],
    ['a date that is none', 'x', { notBefore: new Date(NaN) }, 'notBefore'],
    ['a time that is text', 'x', { notBefore: '2026-01-01' }, 'notBefore'],
    ['a time for a message to a task', 'x', { taskId: 'a', notBefore: 1 }, 'notBefore'],
    ['a message without parts', { parts: [] }, {}, 'message.parts'],
    ['an id in the message', { parts: [{ text: 'x' }], messageId: 'm' }, {}, 'messageId'],
    ['metadata that are no object', 'x', { metadata: 1 }, 'metadata'],
  ])('%s', async (_, message, options, path) => {
    await expect(producer().send(message as never, options as never)).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      data: { path },
    })
  })

  test('a transaction, over a store that cannot join it', async () => {
    const { send, signal } = producer()
    for (const call of [send('x', { client: {} }), signal('x', 'y', 1, { client: {} })])
      await expect(call).rejects.toThrow(/"client" needs a postgresStore/)
  })
})
