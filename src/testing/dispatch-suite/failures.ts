/**
 * Tests of processes that die, of a store and a queue that are away, and of messages that are no turns.
 *
 * @module
 */
import type { TaskStore } from '../../durable/task-store.js'
import type { Turn } from '../../server/dispatch.js'
import { equal } from '../task-store-suite/checks.js'
import type { CrashPoint } from '../durable-functions/crashing-store.js'
import type { DispatchTests } from './kit.js'
import { texts } from './texts.js'

/** Past the last write of a turn: it takes up the message, does three steps, and ends. */
const LAST_WRITE = 8
/** Tasks that begin before each worker does. */
const TASKS_PER_WORKER = 5
/** For how long the store fails, in ms. */
const AWAY_MS = 300_000
/** In ms for each turn, at most: a slow machine does 100 in a second. */
const TURN_MS = 10

export const failureTests: DispatchTests = {
  'the turns of workers that die at each write are done': async (house) => {
    const handler = house.handler()
    const ids: string[] = []
    for (const point of pointsUpTo(LAST_WRITE)) {
      ids.push(
        ...(await house.begin(
          handler,
          texts(TASKS_PER_WORKER).map((text) => `${text} of ${ids.length}`),
        )),
      )
      const worker = await house.worker({ point })
      await house.until('the worker dies', () => worker.isDead())
      await worker.close()
    }
    await house.worker()
    await house.allDone(ids)
  },

  'the turns of handlers that die at each write are handed out': async (house) => {
    await house.worker()
    const ids: string[] = []
    for (const point of pointsUpTo(2)) {
      const messageId = `at ${JSON.stringify(point)}`
      // A client that has no answer sends its message again, to another process.
      const handlers = [house.handler(undefined, { point }), house.handler()]
      for (const { send } of handlers) {
        const id = await send(messageId, { messageId })
        if (id !== undefined && !ids.includes(id)) ids.push(id)
      }
    }
    await house.allDone(ids)
    const all = await house.tasks.listTasks()
    await house.allDone(all.map(({ id }) => id))
  },

  'the turns of a handler that dies before it hands them out are handed out by another': async (house) => {
    const dying = house.handler(() => undefined)
    const ids = await house.begin(dying, texts(10))
    dying.die()
    await house.worker()
    house.handler()
    await house.allDoneOnce(ids)
  },

  'the turns of a worker that closes are done by another': async (house) => {
    const ids = await house.begin(house.handler(), texts(10))
    let begun = 0
    const first = await house.worker({
      execute: (run) => {
        begun += 1
        run.start()
        return new Promise(() => undefined)
      },
    })
    await house.until('a turn has begun', () => begun > 0)
    await first.close()
    await house.worker()
    await house.allDoneOnce(ids)
  },

  'what is no turn, or is one of a task that has ended or is gone, does not stop the queue': async (
    house,
    queue,
  ) => {
    let seen: Turn | undefined
    const handler = house.handler((turn) => {
      seen = turn
      return queue.dispatch(turn)
    })
    await house.worker()
    const ended = await house.beginOne(handler)
    await house.allDoneOnce([ended])
    const poison = [seen, { id: 'gone', taskId: 'gone' }, { id: 'a number', taskId: 5 }, { id: 'nothing' }]
    // A queue may have anything in it.
    for (const each of poison) await queue.dispatch(each as Turn)
    await house.allDoneOnce([ended, await house.beginOne(handler)])
  },

  'the turns are done that a worker could not begin because the store failed': async (house) => {
    const ids = await house.begin(house.handler(), texts(10))
    let isAway = true
    let refused = 0
    const store: TaskStore = new Proxy(house.store, {
      get: (target, name): unknown => {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (...given: unknown[]): unknown => {
          if (!isAway) return Reflect.apply(value, target, given)
          refused += 1
          return Promise.reject(new Error('The store is away'))
        }
      },
    })
    await house.worker({ store })
    await house.until('the store is asked', () => refused > 0)
    await house.pass(AWAY_MS)
    isAway = false
    await house.allDoneOnce(ids)
  },
}

/** A test of a queue whose server can be ended. */
export const absenceTests: DispatchTests = {
  'all turns are done after the server of the queue was away': async (house, { halt, restart }) => {
    if (halt === undefined || restart === undefined)
      throw new TypeError('testDispatch: "supports.halt" needs a queue with "halt" and "restart"')
    const handler = house.handler()
    const before = await house.begin(handler, texts(20))
    await house.worker()
    await halt()
    const during = await house.begin(
      handler,
      texts(20).map((text) => `${text} meanwhile`),
    )
    await house.pass(120_000)
    await restart()
    await house.allDone([...before, ...during])
    await house.allDone([await house.beginOne(handler)])
  },
}

export function backlogTest(count: number): DispatchTests {
  return {
    [`${count} turns that wait in the queue are done once each`]: async (house) => {
      const ids = await house.begin(house.handler(), texts(count))
      equal('tasks', ids.length, count)
      await house.worker()
      await house.worker()
      await house.allDoneOnce(ids, 60_000 + count * TURN_MS)
    },
  }
}

/** Before and after each of the first `last` writes. */
function pointsUpTo(last: number): CrashPoint[] {
  const whens = ['before', 'after'] as const
  return Array.from({ length: last }, (_, at) => at + 1).flatMap((n) =>
    whens.map((when) => ({ n, of: 'writes' as const, when })),
  )
}
