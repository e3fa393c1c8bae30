/** At most so many turns with one key at a time, over all workers of a store. */
import { TaskManager, type TaskSnapshot } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import {
  createProducer,
  createRequestHandler,
  createWorker,
  textOf,
  type Execute,
  type Principal,
  type Producer,
  type Run,
  type Turn,
  type TurnsPerKey,
  type Worker,
  type WorkerOptions,
} from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { FaultyStore, pass, settle } from '../durable/support/replicas.js'
import { gate, ORIGIN, type Gate } from '../spec/support/agent.js'

const CARD = { name: 'Shop', url: ORIGIN }

/** The first word of the first message. */
const byWord = ({ messages: [first] }: TaskSnapshot): string | undefined =>
  first === undefined ? undefined : textOf(first).split(' ')[0]

const ONE: TurnsPerKey = { keyOf: byWord, max: 1 }

type Options = Partial<Omit<WorkerOptions<Principal, DurableTaskManager>, 'tasks' | 'execute'>>

interface Shop {
  readonly clock: ManualClock
  /** Of the producer. */
  readonly tasks: DurableTaskManager
  readonly send: Producer['send']
  readonly errors: unknown[]
  readonly manager: () => DurableTaskManager
  readonly way: () => FaultyStore
  /** A process that works. */
  readonly work: (execute: Execute, options?: Options, store?: FaultyStore) => Worker
}

function shop(): Shop {
  const clock = new ManualClock()
  const memory = memoryStore({ now: () => clock.now() })
  const errors: unknown[] = []
  const onError = (error: unknown): unknown => errors.push(error)
  const way = (): FaultyStore => new FaultyStore(memory)
  const manager = (store = way()): DurableTaskManager => {
    const made = new DurableTaskManager({ store: store.asStore, clock, onError })
    onTestFinished(() => made.destroy())
    return made
  }
  const tasks = manager()
  const { send } = createProducer({ card: CARD, tasks, onError })
  const work: Shop['work'] = (execute, options, store) => {
    const given = { card: CARD, clock, onError, perKey: ONE, ...options }
    const worker = createWorker<Principal, DurableTaskManager>({ ...given, tasks: manager(store), execute })
    worker.start()
    return worker
  }
  return { clock, tasks, send, errors, manager, way, work }
}

/** Code that begins, and ends when it is told. */
function manual(): {
  readonly begun: string[]
  readonly execute: Execute
  readonly end: (text: string) => void
} {
  const begun: string[] = []
  const ends = new Map<string, Gate<void>>()
  const endOf = (text: string): Gate<void> => {
    const end = ends.get(text) ?? gate()
    ends.set(text, end)
    return end
  }
  return {
    begun,
    execute: async (run) => {
      begun.push(run.text)
      await endOf(run.text).opened
      return 'done'
    },
    end: (text) => endOf(text).open(),
  }
}

async function sendAll({ send }: Pick<Shop, 'send'>, texts: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (const text of texts) {
    ids.push((await send(text)).id)
    await settle()
  }
  return ids
}

/** A little more than that, a second at a time, so that leases are renewed. */
async function passMinute(clock: ManualClock): Promise<void> {
  const end = clock.now() + 61_000
  await pass(clock, () => clock.now() >= end)
}

describe('turns with one key', () => {
  test('are done one at a time over all workers, the first that has waited at once after the one before', async () => {
    const given = shop()
    const { begun, execute, end } = manual()
    given.work(execute)
    given.work(execute)
    const ids = await sendAll(given, ['a 1', 'a 2', 'a 3', 'b 1', 'a 4'])
    expect(begun).toEqual(['a 1', 'b 1'])
    for (const next of ['a 1', 'a 2', 'a 3']) {
      end(next)
      await settle()
    }
    expect(begun).toEqual(['a 1', 'b 1', 'a 2', 'a 3', 'a 4'])
    end('a 4')
    end('b 1')
    await settle()
    for (const id of ids) expect(await given.tasks.stateOf(id)).toBe('completed')
    expect(given.errors).toEqual([])
  })

  test('wait in no process, and leave it to others', async () => {
    const given = shop()
    const { begun, execute, end } = manual()
    const { stats } = given.work(execute, { concurrency: 2 })
    await sendAll(given, ['a 1', 'a 2', 'a 3', 'a 4', 'b 1'])
    expect(begun).toEqual(['a 1', 'b 1'])
    expect(stats()).toEqual({ working: 2, waiting: 0 })
    expect(await given.tasks.backlog()).toMatchObject({ waiting: 0, busy: 2 })
    for (const text of ['b 1', 'a 1', 'a 2', 'a 3', 'a 4']) end(text)
    await settle()
    expect(begun).toHaveLength(5)
  })

  test('may be several', async () => {
    const given = shop()
    const { begun, execute, end } = manual()
    given.work(execute, { perKey: { keyOf: byWord, max: 3 } })
    await sendAll(given, ['a 1', 'a 2', 'a 3', 'a 4', 'a 5'])
    expect(begun).toEqual(['a 1', 'a 2', 'a 3'])
    end('a 2')
    await settle()
    expect(begun).toEqual(['a 1', 'a 2', 'a 3', 'a 4'])
    for (const text of ['a 1', 'a 3', 'a 4', 'a 5']) end(text)
    await settle()
  })

  test('are not limited without a key', async () => {
    const given = shop()
    const { begun, execute, end } = manual()
    given.work(execute, { perKey: { keyOf: () => undefined, max: 1 } })
    await sendAll(given, ['a 1', 'a 2'])
    expect(begun).toEqual(['a 1', 'a 2'])
    end('a 1')
    end('a 2')
    await settle()
    expect(await given.tasks.size()).toBe(2)
  })

  test.each<[string, (run: Run) => unknown, (shop: Shop, id: string) => unknown]>([
    ['the user', (run) => run.requireInput('Go on?'), ({ send }, taskId) => send('yes', { taskId })],
    ['a signal', (run) => run.waitFor('go'), ({ tasks }, id) => tasks.signal(id, 'go')],
    ['a time', (run) => run.sleep('rest', { ms: 60_000 }), ({ clock }) => passMinute(clock)],
    [
      'its next attempt',
      (run) => {
        if (run.attempt === 1) throw new Error('once')
      },
      ({ clock }) => passMinute(clock),
    ],
  ])('leave their place while they wait for %s', async (_, wait, goOn) => {
    const given = shop()
    const { begun, execute, end } = manual()
    const retry = { attempts: 2, backoff: { initialMs: 60_000 } }
    const both: Execute = async (run) => {
      if (run.text === 'a 1') await wait(run)
      return await execute(run)
    }
    given.work(both, { retry })
    const [id = ''] = await sendAll(given, ['a 1'])
    given.clock.advance(1)
    await settle()
    await sendAll(given, ['a 2', 'a 3'])
    expect(begun).toEqual(['a 2'])
    await goOn(given, id)
    await settle()
    given.clock.advance(1_000)
    await settle()
    // It comes after the one that has waited longer.
    expect(begun).toEqual(['a 2'])
    end('a 2')
    await settle()
    end('a 3')
    await pass(given.clock, () => begun.length === 3)
    expect(begun).toEqual(['a 2', 'a 3', 'a 1'])
    end('a 1')
    await pass(given.clock, async () => (await given.tasks.stateOf(id)) === 'completed')
  })

  test('that are canceled while they wait end at once, and are passed over', async () => {
    const given = shop()
    const { begun, execute, end } = manual()
    given.work(execute)
    const [, second = '', third = ''] = await sendAll(given, ['a 1', 'a 2', 'a 3', 'a 4'])
    await given.tasks.cancelTask(second)
    expect(await given.tasks.stateOf(second)).toBe('canceled')
    await given.tasks.cancelTask(third)
    await given.tasks.deleteTask(third)
    end('a 1')
    await settle()
    expect(begun).toEqual(['a 1', 'a 4'])
    end('a 4')
    await settle()
  })

  test('read the messages that have come while they waited', async () => {
    const given = shop()
    const { execute, end } = manual()
    const seen: string[][] = []
    given.work(async (run) => {
      seen.push(run.messages.map(textOf))
      return await execute(run)
    })
    const [, id = ''] = await sendAll(given, ['a 1', 'a 2'])
    await given.send('and more', { taskId: id })
    await settle()
    expect(seen).toHaveLength(1)
    for (const text of ['a 1', 'a 2', 'and more']) {
      end(text)
      await settle()
    }
    expect(seen).toEqual([['a 1'], ['a 2', 'and more'], ['a 2', 'and more']])
    expect(await given.tasks.stateOf(id)).toBe('completed')
  })

  test('that have a head start begin before others of the key that wait', async () => {
    const given = shop()
    const { begun, execute, end } = manual()
    const priorityOf = (task: TaskSnapshot): number => (byWord(task) === 'a' ? 0 : 60_000)
    given.work(execute, { priorityOf, perKey: { keyOf: () => 'all', max: 1 } })
    await sendAll(given, ['a 1', 'a 2', 'urgent'])
    for (const text of ['a 1', 'urgent', 'a 2']) {
      end(text)
      await settle()
    }
    expect(begun).toEqual(['a 1', 'urgent', 'a 2'])
  })

  test('share one key where theirs cannot be told, which is reported', async () => {
    const given = shop()
    const { begun, execute, end } = manual()
    // Its rejection must not end the process.
    const late = (): unknown => Promise.reject(new Error('late'))
    const keys = [() => '', () => 'x'.repeat(201), late, () => null]
    given.work(execute, { perKey: { keyOf: () => keys.shift()?.() as string, max: 1 } })
    await sendAll(given, ['a', 'b', 'c'])
    expect(begun).toEqual(['a'])
    expect(given.errors[0]).toEqual(
      new TypeError('perKey.keyOf() must return undefined, or 1 to 200 characters, got 0 characters'),
    )
    expect(given.errors.length).toBeGreaterThanOrEqual(3)
    end('a')
    end('b')
    end('c')
    await pass(given.clock, () => begun.length === 3)
  })
})

describe('a rate', () => {
  test('lets so many turns of a key begin within its time', async () => {
    const given = shop()
    const begun: string[] = []
    const rate = { max: 2, perMs: 10_000 }
    const start = given.clock.now()
    given.work(
      (run) => void begun.push(`${run.text} at ${Math.floor((given.clock.now() - start) / 10_000)}`),
      {
        perKey: { keyOf: byWord, max: 5, rate },
      },
    )
    await sendAll(given, ['a 1', 'a 2', 'a 3', 'a 4', 'a 5', 'b 1'])
    expect(begun).toEqual(['a 1 at 0', 'a 2 at 0', 'b 1 at 0'])
    await pass(given.clock, () => begun.length === 6)
    expect(begun.slice(3)).toEqual(['a 3 at 1', 'a 4 at 1', 'a 5 at 2'])
  })
})

describe('a worker that dies', () => {
  test('leaves its place with its turn, which another one goes on with', async () => {
    const given = shop()
    const { begun, execute, end } = manual()
    const way = given.way()
    const never: Execute = (run) => {
      run.start()
      return new Promise(() => undefined)
    }
    given.work(never, {}, way)
    const [first = ''] = await sendAll(given, ['a 1', 'a 2'])
    way.fail()
    given.work(execute)
    await pass(given.clock, () => begun.length === 1)
    expect(begun).toEqual(['a 1'])
    end('a 1')
    await settle()
    expect(begun).toEqual(['a 1', 'a 2'])
    end('a 2')
    await pass(given.clock, async () => (await given.tasks.stateOf(first)) === 'completed')
  })

  test('leaves its place when its task is canceled', async () => {
    const given = shop()
    const { begun, execute, end } = manual()
    const way = given.way()
    given.work(() => new Promise(() => undefined), {}, way)
    const [first = ''] = await sendAll(given, ['a 1'])
    way.fail()
    given.work(execute)
    await given.tasks.cancelTask(first)
    await sendAll(given, ['a 2'])
    expect(begun).toEqual([])
    const at = given.clock.now()
    await pass(given.clock, () => begun.length === 1)
    expect(given.clock.now() - at).toBeLessThan(60_000)
    end('a 2')
    await settle()
  })
})

describe('a worker that closes', () => {
  test('hands its turns over, with one of the key at a time', async () => {
    const given = shop()
    const { begun, execute, end } = manual()
    const first = given.work((run) => {
      run.start()
      return new Promise(() => undefined)
    })
    const [id = '', second = ''] = await sendAll(given, ['a 1', 'a 2'])
    let isClosed = false
    void first.close({ graceMs: 1 }).then(() => (isClosed = true))
    await pass(given.clock, () => isClosed)
    given.work(execute)
    await pass(given.clock, () => begun.length === 1)
    await settle()
    expect(begun).toHaveLength(1)
    end('a 1')
    end('a 2')
    for (const each of [id, second])
      await pass(given.clock, async () => (await given.tasks.stateOf(each)) === 'completed')
  })
})

describe('a queue', () => {
  test('gets a turn again when it may begin: `run` resolves before', async () => {
    const given = shop()
    const { begun, execute, end } = manual()
    const turns: Turn[] = []
    const dispatch = (turn: Turn): unknown => turns.push(turn)
    createRequestHandler<Principal, DurableTaskManager>({
      ...{ card: CARD, clock: given.clock, tasks: given.manager(), dispatch },
    })
    const { send } = createProducer({ card: CARD, tasks: given.tasks, dispatch })
    const worker = createWorker({
      card: CARD,
      clock: given.clock,
      tasks: given.manager(),
      execute,
      perKey: ONE,
    })
    for (const text of ['a 1', 'a 2']) await send(text)
    const [one, two] = turns as [Turn, Turn]
    const first = worker.run(one)
    await settle()
    await worker.run(two)
    expect(begun).toEqual(['a 1'])
    end('a 1')
    await settle()
    await first
    await pass(given.clock, () => turns.length === 3)
    expect(turns[2]).toEqual(two)
    const second = worker.run(two)
    end('a 2')
    await settle()
    await second
    expect(begun).toEqual(['a 1', 'a 2'])
  })
})

describe('is refused', () => {
  const execute = (): string => 'done'

  test.each<[string, object, string | RegExp]>([
    ['a key that is none', { max: 1 }, /"perKey.keyOf" must be a function/],
    ['no limit', { keyOf: byWord }, /"perKey.max" must be an integer from 1 to 1000|positive integer/],
    ['a limit of none', { keyOf: byWord, max: 0 }, /"perKey.max"/],
    ['a limit that is too high', { keyOf: byWord, max: 1_001 }, /"perKey.max"/],
    ['another option', { keyOf: byWord, max: 1, min: 1 }, /Unknown option "perKey.min" of createWorker/],
    ['a rate that is none', { keyOf: byWord, max: 1, rate: 5 }, /"perKey.rate" must be an object/],
    ['a rate without a time', { keyOf: byWord, max: 1, rate: { max: 1 } }, /"perKey.rate.perMs"/],
    [
      'a rate over days',
      { keyOf: byWord, max: 1, rate: { max: 1, perMs: 86_400_001 } },
      /"perKey.rate.perMs" must be a positive integer|from 1 to 86400000/,
    ],
  ])('%s', (_, perKey, message) => {
    const { tasks } = shop()
    // The types refuse most of them too.
    expect(() => createWorker({ card: CARD, execute, tasks, perKey: perKey as TurnsPerKey })).toThrow(message)
  })

  test('a handler, whose turns would not wait, and a manager in memory', () => {
    const { tasks } = shop()
    expect(() => createRequestHandler({ card: CARD, execute, tasks, perKey: ONE } as never)).toThrow(
      /Unknown option "perKey" of createRequestHandler/,
    )
    const inMemory = { card: CARD, execute, tasks: new TaskManager(), perKey: ONE } as never
    expect(() => createWorker(inMemory)).toThrow(/a DurableTaskManager/)
  })

  test('a manager that ends tasks after a time, also those that keep something', () => {
    const tasks = new DurableTaskManager({ store: memoryStore(), taskTimeoutMs: 1_000 })
    onTestFinished(() => tasks.destroy())
    expect(() => createWorker({ card: CARD, execute, tasks, perKey: ONE })).toThrow(
      '"tasks" of createWorker with "perKey" must have no "taskTimeoutMs", which would end its keys',
    )
  })
})
