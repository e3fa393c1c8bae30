/** Schedules of several processes over one store, whose clocks a test moves. */
import { TaskManager } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import {
  createRequestHandler,
  createSchedules,
  createWorker,
  textOf,
  type Dispatch,
  type Schedule,
  type Schedules,
  type ScheduleState,
} from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { FaultyStore, settle } from '../durable/support/replicas.js'
import { EVERY } from '../../compat/support/agent.js'
import { call } from '../dialects/support/dialects.js'
import { ORIGIN } from '../spec/support/agent.js'

const card = { name: 'Shop', url: ORIGIN }
const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const START = Date.parse('2026-01-01T00:00:00.000Z')

interface Process {
  readonly schedules: Schedules
  readonly tasks: DurableTaskManager
  readonly store: FaultyStore
  readonly clock: ManualClock
  readonly errors: unknown[]
}

/** Processes over one store, each with a clock of its own. */
function town(dispatch?: Dispatch): {
  readonly open: (given: Record<string, Schedule>, aheadMs?: number) => Process
} {
  const ofStore = new ManualClock(START)
  const shared = memoryStore({ now: () => ofStore.now() })
  return {
    open: (given, aheadMs = 0) => {
      const clock = new ManualClock(START + aheadMs)
      const store = new FaultyStore(shared)
      const errors: unknown[] = []
      const tasks = new DurableTaskManager({
        ...{ store: store.asStore, clock, onError: () => undefined },
        ...{ sweepIntervalMs: false, storeRetryMs: 1 },
      })
      const onError = (error: unknown): unknown => errors.push(error)
      const schedules = createSchedules({ card, tasks, onError, dispatch, schedules: given })
      onTestFinished(async () => {
        await schedules.close()
        await tasks.destroy()
      })
      return { schedules, tasks, store, clock, errors }
    },
  }
}

/** Lets time pass in all of these processes, half a minute at a time. */
async function pass(ms: number, ...processes: readonly Process[]): Promise<void> {
  for (let passed = 0; passed < ms; passed += MINUTE / 2) {
    for (const { clock } of processes) {
      clock.advance(MINUTE / 2)
      await settle()
    }
  }
}

/** The times of the tasks that have begun, in minutes from the start, or what they say. */
async function begun({ tasks }: Process, show: 'minutes' | 'texts' = 'minutes'): Promise<unknown[]> {
  const all = await tasks.listTasks()
  const messages = all.flatMap((task) => task.messages)
  const timeOf = (id: string): number => Date.parse(id.slice(id.lastIndexOf(' ') + 1))
  return messages
    .sort((a, b) => timeOf(a.messageId) - timeOf(b.messageId))
    .map((message) => (show === 'texts' ? textOf(message) : (timeOf(message.messageId) - START) / MINUTE))
}

const every10: Schedule = { everyMs: 10 * MINUTE, message: 'go' }

test('a task begins at each time, once over all processes, and a worker does it', async () => {
  const { open } = town()
  const both = [open({ ten: every10 }), open({ ten: every10 })] as const
  for (const { schedules } of both) schedules.start()
  const seen: unknown[] = []
  const worker = createWorker({
    ...{ card, tasks: both[0].tasks, clock: both[0].clock },
    execute: (run) => void seen.push([run.text, run.metadata]),
  })
  onTestFinished(() => worker.close({ graceMs: 0 }))
  worker.start()
  await settle()
  await pass(31 * MINUTE, ...both)
  expect(await begun(both[0])).toEqual([10, 20, 30])
  expect(seen).toEqual(
    ['10', '20', '30'].map((at) => ['go', { schedule: { name: 'ten', at: `2026-01-01T00:${at}:00.000Z` } }]),
  )
  expect([...both[0].errors, ...both[1].errors]).toEqual([])
})

test('clocks that differ by minutes begin nothing twice, and nothing too late', async () => {
  const { open } = town()
  const all = [
    open({ ten: every10 }, 4 * MINUTE),
    open({ ten: every10 }),
    open({ ten: every10 }, -4 * MINUTE),
  ]
  for (const { schedules } of all) schedules.start()
  await settle()
  const [first] = all
  if (first === undefined) throw new Error('There is one')
  await pass(31 * MINUTE, ...all)
  // The first clock is at 35.
  expect(await begun(first)).toEqual([10, 20, 30])
  expect(all.flatMap(({ errors }) => errors)).toEqual([])
})

describe('times at which no process looked', () => {
  test.each([
    ['skip', 35, [10, 40]],
    ['last', 35, [10, 30, 40]],
    ['all', 35, [10, 20, 30, 40]],
    // Not longer ago than a minute.
    ['skip', 30, [10, 30, 40]],
  ] as const)('%s, until minute %d', async (missed, until, expected) => {
    const { open } = town()
    const schedules = { ten: { ...every10, missed } }
    const first = open(schedules)
    first.schedules.start()
    await settle()
    await pass(11 * MINUTE, first)
    await first.schedules.close()
    const second = open(schedules, until * MINUTE)
    second.schedules.start()
    await settle()
    expect(second.errors).toEqual([])
    await pass((41 - until) * MINUTE, second)
    expect(await begun(second)).toEqual(expected)
  })

  test.each([
    ['are the last 100 at most, whatever their number', () => true, 365 * DAY, 365 * DAY + 1_000, 2_000],
    ['are found among millions', isInJanuary, 300 * DAY, 31 * DAY, 10_000],
  ])('%s', async (_, isIn, days, end, most) => {
    const { open } = town()
    let asked = 0
    const cron = {
      nextRun: (after: Date) => {
        asked += 1
        const next = new Date((Math.floor(after.getTime() / 1_000) + 1) * 1_000)
        return isIn(next) ? next : new Date(Date.UTC(next.getUTCFullYear() + 1, 0))
      },
    }
    const schedules: Record<string, Schedule> = { tick: { cron, message: 'go', missed: 'all' } }
    const first = open(schedules)
    first.schedules.start()
    await settle()
    await first.schedules.close()
    const second = open(schedules, days)
    second.schedules.start()
    for (let turns = 0; turns < 40; turns += 1) await settle()
    const times = Array.from({ length: 100 }, (_each, at) => (Math.floor(end / 1_000) - 100 + at) / 60)
    expect(await begun(second)).toEqual(times)
    expect(asked).toBeLessThan(most)
  })
})

function isInJanuary(date: Date): boolean {
  return date.getUTCMonth() === 0
}

test.each(['skip', 'last', 'all'] as const)('times of the last minute are not missed: %s', async (missed) => {
  const { open } = town()
  const one = open({ second: { everyMs: 1_000, message: 'go', missed } })
  one.schedules.start()
  await settle()
  // The process is busy in between.
  one.clock.advance(20_000)
  await settle()
  expect(await begun(one)).toEqual(Array.from({ length: 20 }, (_, at) => (at + 1) / 60))
})

test('a queue that never answers holds up no task for long', async () => {
  const { open } = town(() => new Promise(() => undefined))
  const one = open({ ten: every10 })
  one.schedules.start()
  await settle()
  await pass(31 * MINUTE, one)
  expect(await begun(one)).toEqual([10, 20, 30])
})

test('a clock that was far ahead shows in the list, and resume begins from now on', async () => {
  const { open } = town()
  const day = 24 * 60 * MINUTE
  const ahead = open({ ten: every10 }, day)
  ahead.schedules.start()
  await settle()
  await ahead.schedules.close()
  const one = open({ ten: every10 })
  one.schedules.start()
  await settle()
  await pass(11 * MINUTE, one)
  expect(await one.schedules.list()).toMatchObject([{ next: new Date(START + day + 10 * MINUTE) }])
  await one.schedules.pause('ten')
  await one.schedules.resume('ten')
  await pass(10 * MINUTE, one)
  expect(await begun(one)).toEqual([20])
})

test('no client can take the place of what keeps the schedules', async () => {
  const begin = async (open: (given: Record<string, Schedule>) => Process, id?: string): Promise<Process> => {
    const one = open({ ten: every10 })
    const handler = createRequestHandler({
      ...{ card, tasks: one.tasks, clock: one.clock, anonymous: 'shared', dialects: EVERY },
      execute: () => 'done',
    })
    onTestFinished(() => handler.close({ graceMs: 0 }))
    if (id !== undefined) {
      const message = { role: 'user', parts: [{ type: 'text', text: 'mine' }] }
      await call({ handler }, 'tasks/send', { id, message })
    }
    one.schedules.start()
    await settle()
    return one
  }
  const [keeper] = await (await begin(town().open)).tasks.listTasks()
  const { tasks } = await begin(town().open, keeper?.id)
  expect(await tasks.countTasks({ owner: null })).toBe(1)
  expect(await tasks.countTasks({ owner: keeper?.owner ?? null })).toBe(1)
})

test('a process that starts again continues, and repeats no task that is gone', async () => {
  const { open } = town()
  const first = open({ ten: every10 })
  first.schedules.start()
  await settle()
  await pass(21 * MINUTE, first)
  await first.schedules.close()
  for (const { id, messages } of await first.tasks.listTasks()) {
    if (messages.length === 0) continue
    await first.tasks.cancelTask(id)
    await first.tasks.deleteTask(id)
  }
  const second = open({ ten: every10 }, 21 * MINUTE)
  const late = open({ ten: every10 }, 19 * MINUTE)
  for (const { schedules } of [second, late]) schedules.start()
  await settle()
  await pass(10 * MINUTE, second, late)
  expect(await begun(second)).toEqual([30])
})

test('a pause holds in all processes and after a restart, and what is in it is skipped', async () => {
  const { open } = town()
  const given = { ten: { ...every10, missed: 'all' }, five: { everyMs: 5 * MINUTE, message: '5' } } as const
  const first = open(given)
  const second = open(given)
  for (const { schedules } of [first, second]) schedules.start()
  await settle()
  const listed = (next?: string): ScheduleState[] => [
    {
      ...{ name: 'ten', isPaused: next === undefined, missed: 'all' },
      ...(next !== undefined && { next: new Date(next) }),
    },
    { name: 'five', next: new Date(START + 15 * MINUTE), isPaused: false, missed: 'last' },
  ]
  await pass(11 * MINUTE, first, second)
  expect(await second.schedules.list()).toEqual(listed('2026-01-01T00:20:00.000Z'))
  await Promise.all([second.schedules.pause('ten'), first.schedules.pause('ten')])
  expect(await first.schedules.list()).toEqual(listed())
  await first.schedules.close()
  await pass(20 * MINUTE, second)
  await second.schedules.close()
  const third = open(given, 31 * MINUTE)
  third.schedules.start()
  await settle()
  await pass(10 * MINUTE, third)
  await third.schedules.resume('ten')
  await pass(10 * MINUTE, third)
  expect((await begun(third, 'texts')).filter((text) => text === 'go')).toHaveLength(2)
  expect(await begun(third)).toEqual([5, 10, 10, 15, 20, 25, 30, 35, 40, 45, 50, 50])
  await expect(third.schedules.pause('tens')).rejects.toMatchObject({
    code: 'INVALID_PARAMS',
    message: 'name is of no schedule: "tens", did you mean "ten"?',
  })
})

test('an outage of the store delays, and loses and repeats nothing', async () => {
  const { open } = town()
  const one = open({ ten: { ...every10, missed: 'all' } })
  one.schedules.start()
  await settle()
  await pass(9 * MINUTE, one)
  one.store.fail()
  await pass(15 * MINUTE, one)
  expect(one.errors.length).toBeGreaterThan(0)
  one.store.mend()
  await pass(8 * MINUTE, one)
  expect(await begun(one)).toEqual([10, 20, 30])
})

test('a document that cannot be written lets the same task begin again, once', async () => {
  const { open } = town()
  const one = open({ ten: every10 })
  one.schedules.start()
  await settle()
  await pass(9 * MINUTE, one)
  one.store.fail('putDocument')
  await pass(3 * MINUTE, one)
  one.store.mend()
  await pass(10 * MINUTE, one)
  expect(await begun(one)).toEqual([10, 20])
})

test('one that fails reports it, and holds up no other', async () => {
  const { open } = town()
  const one = open({
    throws: {
      everyMs: 10 * MINUTE,
      message: () => {
        throw new Error('no text')
      },
    },
    refused: { everyMs: 10 * MINUTE, message: { parts: [] } },
    async: { everyMs: 10 * MINUTE, message: () => Promise.reject(new Error('late')) as never },
    stuck: { cron: { nextRun: (after) => after }, message: 'go' },
    never: { cron: { nextRun: () => null }, message: 'go' },
    works: { everyMs: 10 * MINUTE, message: (at) => `at ${at.toISOString()}`, principal: { id: 'ada' } },
  })
  one.schedules.start()
  await settle()
  await pass(11 * MINUTE, one)
  expect(await begun(one, 'texts')).toEqual(['at 2026-01-01T00:10:00.000Z'])
  const messages = one.errors.map((error) => String(error))
  expect(messages.filter((text) => text.includes('no text')).length).toBeGreaterThan(1)
  // What can never succeed is not tried again.
  expect(messages.filter((text) => text.includes('message.parts'))).toHaveLength(1)
  expect(messages.some((text) => text.includes('a time that is not after'))).toBe(true)
})

test('what keeps the schedules is of no client', async () => {
  const { open } = town()
  const one = open({ ten: every10 })
  one.schedules.start()
  await settle()
  expect(await one.tasks.listTasks({ owner: null })).toEqual([])
  expect(await one.tasks.size()).toBe(1)
})

test('nothing begins after the end', async () => {
  const { open } = town()
  const one = open({ ten: every10 })
  one.schedules.start()
  one.schedules.start()
  await one.schedules.close()
  await pass(21 * MINUTE, one)
  expect(await begun(one)).toEqual([])
  expect(one.schedules.start).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }))
})

describe('is refused', () => {
  const store = memoryStore()
  const manager = (taskTimeoutMs?: number): DurableTaskManager => {
    const made = new DurableTaskManager({ store, taskTimeoutMs })
    onTestFinished(() => made.destroy())
    return made
  }

  test.each<[string, object, RegExp]>([
    ['no schedule', {}, /"schedules" must have 1 to 1000 schedules, got 0/],
    [
      'a schedule without times',
      { a: { message: 'x' } },
      /"schedules.a" must have one of "cron" and "everyMs"/,
    ],
    ['one with two kinds', { a: { everyMs: 1_000, cron: {}, message: 'x' } }, /must have one of/],
    ['a text', { a: { cron: '0 8 * * *', message: 'x' } }, /"schedules.a.cron" must have the method nextRun/],
    ['a time that is too short', { a: { everyMs: 10, message: 'x' } }, /"schedules.a.everyMs" must be/],
    [
      'another policy',
      { a: { everyMs: 1_000, missed: 'none', message: 'x' } },
      /"schedules.a.missed" must be/,
    ],
    ['a misspelt option', { a: { every: 1_000, message: 'x' } }, /Unknown option "schedules.a.every"/],
    ['no message', { a: { everyMs: 1_000 } }, /"schedules.a.message" is missing/],
    ['a long name', { ['a'.repeat(201)]: every10 }, /must have 1 to 200 characters, got 201/],
  ])('%s', (_, schedules, message) => {
    const given = { card, tasks: manager(), schedules } as never
    expect(() => createSchedules(given)).toThrow(message)
  })

  test('a manager in memory, and one whose tasks time out', () => {
    const schedules = { ten: every10 }
    const inMemory = { card, tasks: new TaskManager(), schedules } as never
    expect(() => createSchedules(inMemory)).toThrow(/DurableTaskManager/)
    expect(() => createSchedules({ card, tasks: manager(1_000), schedules })).toThrow(/no "taskTimeoutMs"/)
  })
})
