/** Runs that leave the memory while they wait: whatever comes at that instant is not lost. */
import { TaskManager } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { faultyStore, gate, type Faults } from '../../support/faulty-store.js'
import { runsAll } from '../../support/samples.js'
import { call, jsonRpc, user } from '../spec/support/agent.js'
import { until } from '../journal/support/children.js'
import {
  begin,
  cluster,
  pass,
  resultOf,
  settle,
  stateAt,
  textOf,
  type Replica,
} from '../durable/support/replicas.js'

const WAITING_MS = 300

interface Agent {
  readonly client: A2AClient
  /** The ids of the messages that it received. */
  readonly received: string[]
  readonly tasks: TaskManager
  /** That of its client, which pauses before it looks again. */
  readonly clock: ManualClock
  readonly finish: () => void
}

/** Another agent, in this process, which works until it is told to end. */
function otherAgent(): Agent {
  const end = gate()
  const received: string[] = []
  const tasks = new TaskManager()
  const handler = createRequestHandler({
    ...{ card: { name: 'Airline', url: 'https://airline.test' }, anonymous: 'shared', tasks },
    execute: async (run) => {
      received.push(run.message.messageId)
      await end.opened
      return 'Booked'
    },
  })
  const clock = new ManualClock()
  const client = new A2AClient({
    clock,
    card: handler.card,
    fetch: (input, init) => handler.fetch(new Request(input, init)),
  })
  return { client, received, tasks, clock, finish: end.open }
}

interface Stage {
  readonly a: Replica
  readonly b: Replica
  readonly id: string
  readonly agent: Agent
  readonly advance: (ms: number) => Promise<void>
}

type Happen = (stage: Stage) => Promise<unknown>

async function tell({ b }: Stage, text: string, taskId: string): Promise<void> {
  await call(jsonRpc, b, 'SendMessage', {
    message: user(text, { taskId, metadata: { of: text } }),
    configuration: { returnImmediately: true },
  })
}

const finish: Happen = ({ agent }) => {
  agent.finish()
  return Promise.resolve()
}
const answer: Happen = (stage) => tell(stage, '12A', stage.id)
const signal: Happen = ({ b, id }) => b.tasks.signal(id, 'paid', 'Ada')
const cancel: Happen = ({ b, id }) => b.tasks.cancelTask(id)
const close: Happen = async ({ a, advance }) => {
  void a.handler.close({ graceMs: 1 })
  await advance(5)
}
/** The process stands still for so long that another one takes the task over. */
const lose: Happen = async ({ a, advance }) => {
  a.store.fail('renew')
  for (let seconds = 0; seconds < 60; seconds += 5) await advance(5_000)
  a.store.mend()
}
const time: Happen = ({ advance }) => advance(60_000)

interface Wait {
  readonly execute: (agent: Agent) => Execute
  /** What ends it, in any order. */
  readonly ends: Readonly<Record<string, Happen>>
  readonly result: readonly string[]
  /** What comes before the run leaves. */
  readonly before?: Happen
}

const WAITS: Readonly<Record<string, Wait>> = {
  'another agent': {
    execute: (agent) => async (run) => (await run.delegate('book', agent.client, 'Lisbon')).text,
    ends: { finish },
    result: ['Booked'],
  },
  'the user': {
    execute: () => async (run) => textOf(await run.requireInput('Which seat?')),
    ends: { answer },
    result: ['12A'],
  },
  'a signal': {
    execute: () => async (run) => await run.waitFor<string>('paid'),
    ends: { signal },
    result: ['Ada'],
  },
  'a signal, while a message waits for the next turn': {
    execute: () => async (run) => (run.text === 'more' ? 'and more' : await run.waitFor<string>('paid')),
    ends: { signal },
    result: ['Ada', 'and more'],
    before: (stage) => tell(stage, 'more', stage.id),
  },
  'a time': {
    execute: () => async (run) => {
      await run.sleep('pause', { ms: 30_000 })
      return 'slept'
    },
    ends: { time },
    result: ['slept'],
  },
  'another agent, a signal and the user': {
    execute: (agent) => async (run) => {
      const all = [
        run.requireInput('Which seat?').then(textOf),
        run.delegate('book', agent.client, 'Lisbon').then(({ text }) => text),
        run.waitFor<string>('paid'),
      ]
      return (await Promise.all(all)).join()
    },
    ends: { finish, signal, answer },
    result: ['12A,Booked,Ada'],
  },
}
const OTHERS: Readonly<Record<string, Happen>> = { cancel, close, lose }

/** Which call of the store by the first process is held up: the n-th since the run began to leave. */
interface Held {
  readonly at: number
  readonly when: 'before' | 'after'
  /** What comes first: the event, or that the run leaves. */
  readonly first: 'event' | 'leaving'
}

/** @returns Whether there was such a call. */
async function play({ execute, ends, result, before }: Wait, event: string, held: Held): Promise<boolean> {
  const agent = otherAgent()
  const reached = gate()
  const go = gate()
  let count = -Infinity
  let isReached = false
  const hold = async (when: Held['when']): Promise<void> => {
    if (when === 'before') count += 1
    if (when !== held.when || count !== held.at || isReached) return
    isReached = true
    reached.open()
    await go.opened
  }
  const faults: Faults = { before: () => hold('before'), after: () => hold('after') }
  const { all, clock } = cluster(
    [execute(agent), execute(agent)],
    { limits: { waitingRunMs: WAITING_MS }, onFollowUp: () => 'queue', manager: { pollIntervalMs: 100_000 } },
    (store, at) => (at === 0 ? faultyStore(store, faults) : store),
  )
  const [a, b] = all
  if (a === undefined || b === undefined) throw new Error('There are two')
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms)
    agent.clock.advance(ms)
    await settle()
  }
  const { id } = await begin(a, 'go')
  await settle()
  const stage: Stage = { a, b, id, agent, advance }
  await before?.(stage)
  await settle()
  const happen = ends[event] ?? OTHERS[event]
  if (happen === undefined) throw new Error('There is such an event')
  count = -1
  if (held.first === 'event') void happen(stage)
  else clock.advance(WAITING_MS)
  await settle()
  const isHeld = isReached
  if (held.first === 'event') clock.advance(WAITING_MS)
  else void happen(stage)
  await settle()
  count = Infinity
  go.open()
  await settle()
  const rest = Object.entries(ends).filter(([name]) => name !== event)
  for (const [name, end] of event === 'cancel' ? [] : rest) {
    if (name === 'time') continue
    await end(stage)
    await settle()
  }
  const state = event === 'cancel' ? 'canceled' : 'completed'
  const isOver = async (): Promise<boolean> => {
    agent.clock.advance(1_000)
    return (await stateAt(b, id)) === state
  }
  await pass(clock, isOver)
  if (event === 'cancel') {
    await until(async () => {
      await advance(5_000)
      return agent.tasks.listTasks().every((task) => task.state === 'canceled')
    })
  } else {
    await pass(clock, async () => (await resultOf(b, id)).length === result.length)
    expect(await resultOf(b, id)).toEqual(result)
  }
  const labels = (await b.tasks.journal(id)).flatMap(({ entry }) =>
    'name' in entry ? [`${entry.kind} ${entry.name}`] : [],
  )
  expect(labels).toEqual([...new Set(labels)])
  expect(agent.received.length).toBeLessThanOrEqual(1)
  if (event !== 'lose') expect([...a.errors, ...b.errors]).toEqual([])
  return isHeld
}

describe.each(Object.entries(WAITS))('a run that waits for %s', (_, wait) => {
  const events = [...Object.keys(wait.ends), ...Object.keys(OTHERS)]
  describe.each(events)('and %s', (event) => {
    test.each(['event', 'leaving'] as const)('the %s comes first', async (first) => {
      for (const when of runsAll ? (['before', 'after'] as const) : (['after'] as const)) {
        for (let at = 0; await play(wait, event, { at, when, first }); at += 1) {
          if (at > 30) throw new Error('Leaving takes no end')
        }
      }
    })
  })
})
