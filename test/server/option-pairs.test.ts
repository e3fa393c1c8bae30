/** Every two options together: the same conversation has the same result, or the constructor refuses them. */
import { TaskManager } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import {
  createRequestHandler,
  textOf,
  type AnyTasks,
  type Principal,
  type RequestHandlerOptions,
} from 'a2a-tasks/server'
import { expect, test } from 'vitest'
import { runsAll } from '../support/samples.js'

type Options = Record<string, unknown>
type Value = unknown

/** Options of the handler, by their paths, and of the manager below `manager`. `undefined` is the default. */
const DIMENSIONS: Readonly<Record<string, readonly Value[]>> = {
  'manager.taskTimeoutMs': [undefined, 60_000],
  'manager.eventLogSize': [undefined, 1, Infinity],
  'manager.limits': [undefined, { maxHistory: 20, maxMessages: 5, maxArtifacts: 2, maxTotalBytes: 100_000 }],
  'manager.maxTasks': [undefined, 2],
  'manager.whenFull': [undefined, 'evict-terminal', 'evict'],
  'manager.feedSize': [undefined, 10],
  'manager.recover': [undefined, 'fail', 'resume'],
  'manager.maxRestarts': [undefined, 0],
  'manager.retention': [undefined, false, { default: { maxCount: 1 } }],
  'manager.sweepIntervalMs': [undefined, false, 5],
  'manager.maxCached': [undefined, 1],
  'manager.expiryMs': [undefined, 60_000, Infinity],
  'manager.pruneIntervalMs': [undefined, 5],
  'manager.maxInputSize': [undefined, 1_000],
  'manager.leaseMs': [undefined, 1_000],
  'manager.pollIntervalMs': [undefined, 1],
  authenticate: [undefined, () => ({ id: 'ada' })],
  anonymous: [undefined, 'shared'],
  idempotency: [undefined, false, { anonymous: true, ttlMs: 1_000 }],
  answerByContext: [undefined, true],
  rateLimit: [undefined, { requests: 1_000, perMs: 1_000 }],
  onFollowUp: [undefined, 'reject', 'queue'],
  checkInputModes: [undefined, true, false],
  retry: [undefined, { attempts: 2 }],
  push: [undefined, false, {}],
  principalOf: [undefined, (id: string) => ({ id })],
  extendedCard: [undefined, () => ({ name: 'Extended', url: 'https://agent.test' })],
  heartbeatMs: [undefined, 1],
  longPollMs: [undefined, 1],
  cardMaxAgeSeconds: [undefined, 1],
  preview: [undefined, { generation: true }],
  'limits.maxRuns': [undefined, 1],
  'limits.maxTasksPerOwner': [undefined, 1],
  'limits.maxRunsPerOwner': [undefined, 1],
  'limits.maxStreamsPerOwner': [undefined, 1],
  'limits.maxWaitingTasks': [undefined, 1],
  'limits.waitingTimeoutMs': [undefined, 60_000, Infinity],
  'limits.runTimeoutMs': [undefined, 60_000],
  'limits.maxNodes': [undefined, 1_000],
  'limits.maxBodyBytes': [undefined, 10_000],
  'limits.maxPendingBytes': [undefined, 1_000_000],
  'limits.stalledTimeoutMs': [undefined, 1_000],
}

/** Rows that hold each pair of values of two dimensions at least once: a greedy covering array. */
function pairs(): Options[] {
  const names = Object.keys(DIMENSIONS)
  const valuesOf = (name: string): readonly Value[] => DIMENSIONS[name] ?? []
  const open = new Set<string>()
  const key = (one: string, at: number, other: string, otherAt: number): string =>
    one < other ? `${one} ${at} ${other} ${otherAt}` : `${other} ${otherAt} ${one} ${at}`
  for (const one of names)
    for (const other of names)
      if (one < other)
        for (const at of valuesOf(one).keys())
          for (const otherAt of valuesOf(other).keys()) open.add(key(one, at, other, otherAt))
  const rows: Options[] = []
  while (open.size > 0) {
    const [first = ''] = open
    const [one = '', at, other = '', otherAt] = first.split(' ')
    const chosen = new Map([
      [one, Number(at)],
      [other, Number(otherAt)],
    ])
    for (const name of names) {
      if (chosen.has(name)) continue
      const covered = [...valuesOf(name).keys()].map(
        (value) => [...chosen].filter(([with_, index]) => open.has(key(name, value, with_, index))).length,
      )
      chosen.set(name, covered.indexOf(Math.max(...covered)))
    }
    for (const [name, value] of chosen)
      for (const [with_, index] of chosen) if (name < with_) open.delete(key(name, value, with_, index))
    rows.push(Object.fromEntries([...chosen].map(([name, value]) => [name, valuesOf(name)[value]])))
  }
  return rows
}

const MEMORY = [
  'taskTimeoutMs',
  'eventLogSize',
  'limits',
  'maxTasks',
  'whenFull',
  'feedSize',
  'expiryMs',
  'pruneIntervalMs',
  'maxInputSize',
]
const DURABLE = [
  'taskTimeoutMs',
  'eventLogSize',
  'limits',
  'recover',
  'maxRestarts',
  'retention',
  'sweepIntervalMs',
  'maxCached',
  ...['maxInputSize', 'leaseMs', 'pollIntervalMs'],
]

/** The options below a path that are set, of those that the taker has. */
function below(row: Options, path: string, names?: readonly string[]): Options {
  const found = Object.entries(row).flatMap(([name, value]) => {
    const [parent, child] = name.includes('.') ? name.split('.') : ['', name]
    const isTaken = parent === path && child !== undefined && (names?.includes(child) ?? true)
    return isTaken && value !== undefined ? [[child, value] as const] : []
  })
  return Object.fromEntries(found)
}

type Kind = (typeof KINDS)[number]
const KINDS = ['its own', 'a TaskManager', 'a DurableTaskManager'] as const

function managerOf(kind: Kind, row: Options): TaskManager | DurableTaskManager | undefined {
  if (kind === 'its own') return undefined
  if (kind === 'a TaskManager') return new TaskManager(below(row, 'manager', MEMORY))
  const { feedSize } = below(row, 'manager', ['feedSize'])
  const store = memoryStore({ feedSize: feedSize as number | undefined })
  return new DurableTaskManager({ ...below(row, 'manager', DURABLE), store })
}

/** One conversation; `refused` where the constructor throws what it should. */
async function talk(kind: Kind, row: Options): Promise<unknown> {
  let handler
  let tasks
  try {
    tasks = managerOf(kind, row)
    handler = createRequestHandler<Principal, AnyTasks>({
      card: { name: 'Test', url: 'https://agent.test' },
      async *execute(run) {
        yield await run.step('once', () => `Hello `)
        yield textOf(await run.requireInput('Who?'))
      },
      ...below(row, ''),
      limits: below(row, 'limits'),
      ...(tasks !== undefined && { tasks }),
    } as RequestHandlerOptions<Principal, AnyTasks>)
  } catch (error) {
    const isClear = error instanceof TypeError || error instanceof RangeError
    return isClear ? `refused: ${error.message}` : error
  }
  const { card, fetch, close } = handler
  const client = new A2AClient({ card, fetch: (url, init) => fetch(new Request(url, init)) })
  const texts: string[] = []
  for (const name of ['Ada', 'Bob']) {
    const result = await client.run('Hi', { onInputRequired: () => name })
    texts.push(`${result.type} ${result.text}`)
  }
  await close({ graceMs: 1_000 })
  await tasks?.destroy()
  return texts.join(', ')
}

const ROWS = pairs()

/** A manager of its own is a TaskManager with the options of the handler. */
const TRIED = runsAll ? KINDS : KINDS.slice(0, 1)

test.each(TRIED)(
  `${ROWS.length} handlers over %s have each pair of options`,
  { timeout: 120_000 },
  async (kind) => {
    const results = new Set<unknown>()
    for (const row of ROWS) results.add(await talk(kind, row))
    expect([...results]).toEqual(['completed Hello Ada, completed Hello Bob'])
  },
)
