/** A handler that accepts, stores and answers, and workers that do its turns, over one store. */
import { createServer } from 'node:http'
import { TaskManager, type Message } from 'a2a-tasks'
import { DurableTaskManager, memoryStore, type TaskStore } from 'a2a-tasks/durable'
import {
  createRequestHandler,
  createWorker,
  type Dispatch,
  type Execute,
  textOf,
  type PriorityOf,
  type Run,
  type Principal,
  type Turn,
  type Worker,
} from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  begin,
  FaultyStore,
  pass,
  resultOf,
  send,
  settle,
  stateAt,
  textOf as textIn,
  stream,
  type Replica,
} from '../durable/support/replicas.js'
import { listen } from '../../support/browser.js'
import { call, gate, jsonRpc, nameOf, ORIGIN, taskOf, user } from '../spec/support/agent.js'

const CARD = { name: 'Shop', url: ORIGIN }

interface House {
  /** A process with a handler. */
  readonly front: Replica
  readonly clock: ManualClock
  readonly store: TaskStore
  readonly errors: unknown[]
  /** The manager of the handler. */
  readonly tasks: DurableTaskManager
  /** How often any process has tried to take a task. */
  readonly acquisitions: () => number
  /** A process with a worker. */
  readonly worker: (
    execute: Execute,
    options?: { readonly concurrency?: number; readonly limits?: { readonly waitingRunMs: number } },
  ) => Worker
}

function house(
  dispatch: Dispatch,
  options: { readonly principalOf?: (id: string) => Principal; readonly priorityOf?: PriorityOf } = {},
): House {
  const clock = new ManualClock()
  const faulty = new FaultyStore(memoryStore({ now: () => clock.now() }))
  const store = faulty.asStore
  const errors: unknown[] = []
  const onError = (error: unknown): unknown => errors.push(error)
  const manager = (): DurableTaskManager => {
    const tasks = new DurableTaskManager({ store, clock, onError })
    onTestFinished(() => tasks.destroy())
    return tasks
  }
  const common = { card: CARD, clock, onError }
  const handler = createRequestHandler<Principal, DurableTaskManager>({
    ...{ ...common, ...options },
    anonymous: 'shared',
    tasks: manager(),
    dispatch,
  })
  const closeLast = (closable: { close(options: { graceMs: number }): Promise<void> }): void =>
    onTestFinished(async () => {
      let isClosed = false
      void closable.close({ graceMs: 0 }).then(() => (isClosed = true))
      await pass(clock, () => isClosed)
    })
  closeLast(handler)
  const worker: House['worker'] = (execute, more) => {
    const made = createWorker({ ...common, ...options, ...more, tasks: manager(), execute })
    closeLast(made)
    return made
  }
  // Requests need the handler only.
  const front = { handler } as Replica
  const acquisitions = (): number => faulty.calls.filter((name) => name === 'acquire').length
  return { front, clock, store, errors, worker, tasks: handler.tasks, acquisitions }
}

/** A queue that a worker reads, as an engine would. */
function queue(): { readonly turns: Turn[]; readonly dispatch: Dispatch } {
  const turns: Turn[] = []
  return { turns, dispatch: (turn) => void turns.push(turn) }
}

/** Lets minutes pass, with time for all that happens in each. */
async function passMinutes(clock: ManualClock, minutes: number): Promise<void> {
  for (let seconds = 0; seconds < minutes * 60; seconds += 5) {
    clock.advance(5_000)
    await settle()
  }
}

const echo: Execute = (run) => `You said: ${run.text}`

describe('a worker that was started', () => {
  test('does the turns of the messages that a handler accepts', async () => {
    const { front, worker, errors } = house('store')
    worker(echo).start()
    const task = await send(front, 'hi')
    expect(await resultOf(front, task.id)).toEqual(['You said: hi'])
    expect(errors).toEqual([])
  })

  test('finds the turns that were there before it', async () => {
    const { front, worker } = house('store')
    const { id } = await begin(front, 'hi')
    await settle()
    expect(await stateAt(front, id)).toBe('submitted')
    worker(echo).start()
    await settle()
    expect(await resultOf(front, id)).toEqual(['You said: hi'])
  })

  test('has a run that is whole: steps, a question, and a stream to the client of the handler', async () => {
    const { front, worker, errors } = house('store')
    const attempts: number[] = []
    let booked = 0
    worker(async (run) => {
      attempts.push(run.attempt)
      await run.step('look', () => 'seats')
      const seat = await run.requireInput('Which seat?')
      run.artifact(`took ${seat.parts.map(({ text }) => text).join('')}`)
      return await run.step('book', () => `booked ${String((booked += 1))}`)
    }).start()
    const asking = await (await stream(front, 'go')).rest()
    expect(asking.map(nameOf)).toEqual(['task', 'working', 'input-required'])
    const id = asking[0]?.value.task?.id ?? ''
    expect(await stateAt(front, id)).toBe('input-required')
    await send(front, '4A', id)
    expect(await resultOf(front, id)).toEqual(['took 4A', 'booked 1'])
    expect(attempts).toEqual([1])
    expect(errors).toEqual([])
  })

  test('continues after a sleep, and for a signal that is sent where no code runs', async () => {
    const { front, worker, clock, tasks } = house('store')
    worker(async (run) => {
      await run.sleep('rest', { ms: 600_000 })
      const paid = await run.waitFor<string>('paid')
      return `paid ${paid}`
    }).start()
    const { id } = await begin(front, 'go')
    await pass(clock, async () => (await tasks.journal(id)).some(({ entry }) => entry.kind === 'wait'))
    let seconds = 0
    await pass(clock, () => (seconds += 1) > 300)
    await tasks.signal(id, 'paid', '42 €')
    await settle()
    expect(await resultOf(front, id)).toEqual(['paid 42 €'])
  })

  test('does as many turns at a time as it may, the oldest first', async () => {
    const { front, worker } = house('store')
    const begun: string[] = []
    const ends = gate()
    const { start, stats } = worker(
      async (run) => {
        begun.push(run.text)
        await ends.opened
        return 'done'
      },
      { concurrency: 2 },
    )
    start()
    const ids: string[] = []
    for (const text of ['1', '2', '3', '4']) {
      ids.push((await begin(front, text)).id)
      await settle()
    }
    expect(begun).toEqual(['1', '2'])
    expect(stats()).toEqual({ working: 2, waiting: 0 })
    ends.open()
    await settle()
    expect(begun).toEqual(['1', '2', '3', '4'])
    for (const id of ids) expect(await stateAt(front, id)).toBe('completed')
  })

  test('seldom tries to take what another worker takes', async () => {
    const { front, worker, acquisitions } = house('store')
    const done: string[] = []
    const workers = Array.from({ length: 8 }, () => worker((run) => void done.push(run.text)))
    const texts = Array.from({ length: 200 }, (_, at) => `${at}`)
    for (const text of texts) await begin(front, text)
    await settle()
    for (const each of workers) each.start()
    for (let waits = 0; waits < 200 && done.length < texts.length; waits += 1) await settle()
    expect(done.sort()).toEqual(texts.sort())
    expect(acquisitions()).toBeLessThan(3 * texts.length)
  })

  test('stops for a client that cancels at the handler', async () => {
    const { front, worker, tasks } = house('store')
    let reason: unknown
    worker((run) => {
      run.start()
      return new Promise((_, reject) => {
        run.signal.addEventListener('abort', () => {
          reason = run.signal.reason
          reject(new Error('stopped'))
        })
      })
    }).start()
    const { id } = await begin(front, 'go')
    await settle()
    await tasks.cancelTask(id)
    await settle()
    expect(await stateAt(front, id)).toBe('canceled')
    expect(reason).toMatchObject({ code: 'TASK_CANCELED' })
  })

  test('hands its turns over when it closes', async () => {
    const { front, worker, clock } = house('store')
    const first = worker((run) => {
      run.start()
      return new Promise(() => undefined)
    })
    first.start()
    const { id } = await begin(front, 'go')
    await settle()
    const closed = first.close({ graceMs: 1 })
    await pass(clock, async () => (await stateAt(front, id)) === 'working')
    worker(echo).start()
    await pass(clock, async () => (await stateAt(front, id)) === 'completed')
    await closed
  })

  test('does not start again once it is closed', async () => {
    const { worker } = house('store')
    const { start, close } = worker(echo)
    start()
    await close({ graceMs: 0 })
    expect(start).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }))
  })

  test('knows the principal of the request by its id', async () => {
    const { front, worker } = house('store', { principalOf: (id) => ({ id }) })
    worker((run) => `for ${run.principal?.id ?? 'nobody'}`).start()
    const { id } = await begin(front, 'go')
    await settle()
    expect(await resultOf(front, id)).toEqual(['for nobody'])
  })
})

describe('a queue', () => {
  test('gets each turn once, after it is stored', async () => {
    const { turns, dispatch } = queue()
    const { front, worker, clock } = house(dispatch)
    const { run } = worker(async (each) => {
      const seat = await each.requireInput('Which seat?')
      return `took ${seat.parts.map(({ text }) => text).join('')}`
    })
    const { id } = await begin(front, 'go')
    await settle()
    expect(turns).toEqual([{ id: expect.stringMatching(`^${id}-\\d+$`) as string, taskId: id, priority: 0 }])
    const asked = run(turns[0] as Turn)
    await settle()
    clock.advance(120_000)
    await asked
    expect(await stateAt(front, id)).toBe('input-required')
    await begin(front, '4A', id)
    await settle()
    expect(turns).toHaveLength(2)
    expect(turns[1]?.id).not.toBe(turns[0]?.id)
    const answered = run(turns[1] as Turn)
    await settle()
    await answered
    expect(await resultOf(front, id)).toEqual(['took 4A'])
    clock.advance(600_000)
    await settle()
    expect(turns).toHaveLength(2)
  })

  test('may deliver a turn twice, late and to several workers', async () => {
    const { turns, dispatch } = queue()
    const { front, worker } = house(dispatch)
    let done = 0
    const execute: Execute = async (run) => await run.step('work', () => `${(done += 1)}`)
    const workers = [worker(execute), worker(execute)]
    const { id } = await begin(front, 'go')
    await settle()
    const [turn] = turns
    if (turn === undefined) throw new Error('There is one')
    await Promise.all([...workers, ...workers].map((each) => each.run(turn)))
    for (const each of workers) await each.run(turn)
    expect(await resultOf(front, id)).toEqual(['1'])
  })

  test('gets a turn again that no worker has begun', async () => {
    const { turns, dispatch } = queue()
    const { front, worker, clock } = house(dispatch)
    const { id } = await begin(front, 'go')
    await settle()
    await pass(clock, () => turns.length === 2)
    expect(turns[1]).toEqual(turns[0])
    await worker(echo).run(turns[1] as Turn)
    expect(await resultOf(front, id)).toEqual(['You said: go'])
  })

  test('that is long is not filled with repetitions of a turn that waits in it', async () => {
    const minutes: number[] = []
    let begunAt = 0
    const { front, clock } = house(() => void minutes.push(Math.round((clock.now() - begunAt) / 60_000)))
    begunAt = clock.now()
    await begin(front, 'go')
    for (let hours = 0; hours < 5; hours += 1) await passMinutes(clock, 60)
    // After 1, 2, 4, 8, 16, 32, and then 60 minutes each.
    expect(minutes).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183, 243])
  })

  test('gets the next turn of a task as soon again as the first', async () => {
    const { turns, dispatch } = queue()
    const { front, worker, clock } = house(dispatch)
    const { run } = worker(async (each) => `took ${textIn(await each.requireInput('Which seat?'))}`)
    const { id } = await begin(front, 'go')
    await passMinutes(clock, 20)
    const asked = run(turns[0] as Turn)
    await pass(clock, async () => (await stateAt(front, id)) === 'input-required')
    await passMinutes(clock, 2)
    await asked
    await begin(front, '4A', id)
    await settle()
    const answered = turns.length
    await passMinutes(clock, 2)
    expect(turns).toHaveLength(answered + 1)
  })

  test('may deliver a turn after its deadline: the code is not called', async () => {
    const { turns, dispatch } = queue()
    const { front, worker, clock } = house(dispatch)
    const deadline = new Date(clock.now() + 20_000).toISOString()
    const lineage = { parentTaskId: 'p', rootTaskId: 'p', depth: 1, path: ['https://other.test'], deadline }
    const metadata = { 'https://a2a-tasks.dev/extensions/lineage/v1': lineage }
    const message = user('go', { metadata })
    const configuration = { returnImmediately: true }
    const { id } = taskOf(await call(jsonRpc, front, 'SendMessage', { message, configuration }))
    await settle()
    let isClosed = false
    void front.handler.close({ graceMs: 0 }).then(() => (isClosed = true))
    await pass(clock, () => isClosed && clock.now() > Date.parse(deadline))
    let calls = 0
    await worker(() => `${(calls += 1)}`).run(turns[0] as Turn)
    const { state } = (await front.handler.tasks.peekTask(id)) ?? {}
    expect({ calls, state }).toEqual({ calls: 0, state: 'failed' })
  })

  test('has all turns before the handler has closed', async () => {
    const kept = gate()
    const { front, clock } = house(() => kept.opened)
    await begin(front, 'go')
    await settle()
    let isClosed = false
    void front.handler.close({ graceMs: 60_000 }).then(() => (isClosed = true))
    await settle()
    expect(isClosed).toBe(false)
    kept.open()
    await pass(clock, () => isClosed)
  })

  test('that fails is tried again', async () => {
    const turns: Turn[] = []
    let isDown = true
    const { front, clock, errors } = house((turn) => {
      if (isDown) throw new Error('no queue')
      turns.push(turn)
    })
    await begin(front, 'go')
    await settle()
    expect(errors).toMatchObject([{ message: 'no queue' }])
    // However long: each minute.
    await passMinutes(clock, 20)
    expect(errors.length).toBeGreaterThan(18)
    isDown = false
    await passMinutes(clock, 2)
    expect(turns).toHaveLength(1)
  })

  test('gets the turn of a worker that has died', async () => {
    const { turns, dispatch } = queue()
    const { front, worker, clock, store } = house(dispatch)
    const { id } = await begin(front, 'go')
    await settle()
    const lease = { id: 'dead', ttlMs: 30_000, note: { restarts: 0, note: {} } }
    const task = await front.handler.tasks.peekTask(id)
    if (task === null) throw new Error('There is one')
    await store.renew([{ key: task, id: 'parked' }], 0)
    expect(await store.acquire(task, lease)).toMatchObject({ leaseId: 'dead' })
    await pass(clock, () => turns.length === 2)
    await worker(echo).run(turns[1] as Turn)
    expect(await resultOf(front, id)).toEqual(['You said: go'])
  })
})

describe('priorities', () => {
  /** A message says how many seconds its task comes sooner. */
  const bySeconds: PriorityOf = ({ messages }) => Number(textOf(messages[0] as Message)) * 1_000

  test('let a turn come before those that wait for less longer than its head start', async () => {
    const { front, worker, clock } = house('store', { priorityOf: bySeconds })
    for (const text of ['0', '10', '5', '20']) {
      await begin(front, text)
      await settle()
      clock.advance(7_000)
    }
    const begun: string[] = []
    worker((run) => void begun.push(run.text), { concurrency: 1 }).start()
    await settle()
    // By the time at which they would have come: 0, -3, 9 and 1.
    expect(begun).toEqual(['10', '0', '20', '5'])
  })

  test.each<[string, (run: Run) => unknown, (given: House, id: string) => unknown]>([
    ['after a sleep', (run) => run.sleep('rest', { ms: 120_000 }), () => undefined],
    ['for an answer', (run) => run.requireInput('Go on?'), ({ front }, id) => begin(front, 'yes', id)],
    ['for a signal', (run) => run.waitFor('go'), ({ tasks }, id) => tasks.signal(id, 'go')],
  ])('hold where a turn goes on: %s', async (_, wait, goOn) => {
    const given = house('store', { priorityOf: bySeconds })
    const { front, worker, clock, tasks } = given
    const begun: string[] = []
    const ends = gate()
    worker(
      async (run) => {
        if (run.text === '0') await ends.opened
        else if (run.text === '3600') await wait(run)
        begun.push(run.text)
      },
      { concurrency: 1, limits: { waitingRunMs: 1 } },
    ).start()
    const { id } = await begin(front, '3600')
    await pass(clock, async () => (await tasks.backlog()).busy === 0 && (await tasks.journal(id)).length > 1)
    for (const text of ['0', '1', '2']) {
      await begin(front, text)
      await settle()
    }
    const at = clock.now()
    await pass(clock, () => clock.now() > at + 180_000)
    await goOn(given, id)
    await settle()
    ends.open()
    await pass(clock, () => begun.length === 4)
    expect(begun).toEqual(['0', '3600', '2', '1'])
  })

  test('that cannot be used are none, and are reported', async () => {
    const { turns, dispatch } = queue()
    const given: unknown[] = [() => -1, () => 2_592_000_001, () => NaN, () => '1', () => Promise.resolve(1)]
    // Its rejection must not end the process.
    given.push(() => Promise.reject(new Error('late')))
    const { front, errors } = house(dispatch, {
      priorityOf: () => (given.shift() as () => number)(),
    })
    const count = given.length
    for (let at = 0; at < count; at += 1) await begin(front, 'go')
    await settle()
    expect(turns.map(({ priority }) => priority)).toEqual(Array.from({ length: count }, () => 0))
    expect(errors).toHaveLength(count)
    expect(errors[0]).toEqual(
      new RangeError('priorityOf() must return a number of ms from 0 to 2592000000, got -1'),
    )
  })

  test('are in the turns of a queue', async () => {
    const { turns, dispatch } = queue()
    const { front } = house(dispatch, { priorityOf: bySeconds })
    await begin(front, '30')
    await settle()
    expect(turns).toMatchObject([{ priority: 30_000 }])
  })
})

describe('the backlog', () => {
  test('counts the turns that wait for a worker and those that are under way, not those that sleep', async () => {
    const { front, worker, clock, tasks } = house('store')
    expect(await tasks.backlog()).toEqual({ waiting: 0, oldestMs: 0, busy: 0 })
    await begin(front, 'sleep')
    await settle()
    clock.advance(2_000)
    await begin(front, 'work')
    await settle()
    clock.advance(3_000)
    expect(await tasks.backlog()).toEqual({ waiting: 2, oldestMs: 5_000, busy: 0 })
    const ends = gate()
    worker(async (run) => {
      run.start()
      if (run.text === 'sleep') await run.sleep('rest', { ms: 3_600_000 })
      else await ends.opened
    }).start()
    let isAsleep = false
    await pass(clock, async () => {
      const { waiting, busy } = await tasks.backlog()
      return (isAsleep = waiting === 0 && busy === 1)
    })
    expect(isAsleep).toBe(true)
    ends.open()
    await settle()
    expect(await tasks.backlog()).toEqual({ waiting: 0, oldestMs: 0, busy: 0 })
  })

  test('is read by an autoscaler over HTTP', async () => {
    const { front, tasks } = house('store')
    await begin(front, 'hi')
    await settle()
    const server = createServer(
      toNodeListener(async () => {
        const { waiting, busy } = await tasks.backlog()
        return Response.json({ turns: waiting + busy })
      }),
    )
    const url = await listen(server)
    expect(await (await fetch(url)).json()).toEqual({ turns: 1 })
  })

  test('is refused over a store that cannot count', async () => {
    const tasks = new DurableTaskManager({
      store: new Proxy(memoryStore(), {
        get: (target, name) => {
          const value: unknown = name === 'leaseCounts' ? undefined : Reflect.get(target, name)
          return typeof value === 'function' ? (value.bind(target) as unknown) : value
        },
      }),
    })
    onTestFinished(() => tasks.destroy())
    await expect(tasks.backlog()).rejects.toThrow(
      new TypeError('backlog() needs a store with the method "leaseCounts": this one has none'),
    )
  })
})

test('a handler finds users by their ids, for an inspector that acts in their names', () => {
  const principalOf = (id: string): Principal => ({ id })
  const { front } = house('store', { principalOf })
  expect(front.handler.principalOf).toBe(principalOf)
})

describe('is refused', () => {
  const tasks = (): DurableTaskManager => {
    const manager = new DurableTaskManager({ store: memoryStore() })
    onTestFinished(() => manager.destroy())
    return manager
  }

  test.each([
    ['code that the handler would not run', { execute: echo }, /pass "execute" to createWorker/],
    ['a retry that the handler would not do', { retry: {} }, /pass "retry" to createWorker/],
    [
      'a budget that it would not hold',
      { limits: { budget: { cost: 1 } } },
      /pass "limits.budget" to createWorker/,
    ],
    ['a limit on runs', { limits: { maxRuns: 5 } }, /pass "limits.maxRuns" to createWorker/],
    ['a decision about budgets', { onBudget: () => undefined }, /pass "onBudget" to createWorker/],
    ['a dispatch that is neither', { dispatch: 'queue' }, /"dispatch" must be 'store' or a function/],
    [
      'a priority that nothing would use',
      { dispatch: undefined, execute: echo, priorityOf: () => 1 },
      '"priorityOf" needs "dispatch"',
    ],
    ['tasks that no worker can share', { tasks: undefined }, /"dispatch" needs "tasks"/],
  ])('%s', (_, options, message) => {
    // The types refuse them too.
    const given = { card: CARD, tasks: tasks(), dispatch: 'store', ...options } as never
    expect(() => createRequestHandler(given)).toThrow(message)
  })

  test('a worker without a store, and one with an option of HTTP', () => {
    const inMemory = { card: CARD, execute: echo, tasks: new TaskManager() } as never
    expect(() => createWorker(inMemory)).toThrow(
      /"tasks" must be shared with the handlers: a DurableTaskManager/,
    )
    const given = { card: CARD, tasks: tasks(), execute: echo, rateLimit: {} } as never
    expect(() => createWorker(given)).toThrow(/"rateLimit" of createWorker/)
  })

  test.each<[string, (given: object) => unknown]>([
    ['a handler', (given) => createRequestHandler({ ...given, dispatch: 'store' } as never)],
    ['a worker', (given) => createWorker({ ...given, execute: echo } as never)],
  ])('a limit that workers do not hold, at %s', (_, create) => {
    const given = { card: CARD, tasks: tasks(), limits: { maxRunsPerOwner: 5 } }
    expect(() => create(given)).toThrow('Workers do not hold "limits.maxRunsPerOwner": leave it out')
  })

  test('a worker with two limits on its turns', () => {
    const given = { card: CARD, tasks: tasks(), execute: echo, limits: { maxRuns: 5 } }
    expect(() => createWorker(given)).toThrow(/"limits.maxRuns" of a worker is its option "concurrency"/)
  })

  test('a worker with a limit on requests', () => {
    const given = { card: CARD, tasks: tasks(), execute: echo, limits: { maxBodyBytes: 1_000 } }
    expect(() => createWorker(given)).toThrow(/A worker would ignore "limits.maxBodyBytes"/)
  })

  test('what is no turn', async () => {
    const worker = createWorker({ card: CARD, tasks: tasks(), execute: echo })
    await expect(worker.run('turn' as never)).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    await expect(worker.run({ taskId: 'unknown' })).resolves.toBeUndefined()
  })
})
