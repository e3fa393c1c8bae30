/**
 * One task that many small things happen to, while a client reads along.
 *
 * Both sides are driven alike: the client is there before the first event and takes every one of them, which is
 * verified, and the producer gives way to the event loop as often on either side.
 */
import { TaskState } from '@a2a-js/sdk'
import type { TaskManager } from 'a2a-tasks'
import type { Library } from './build.js'
import { compare, growthExponent, measure, median, type Variant } from './harness.js'
import { chunkOf, statusOf, streamOfficial } from './peers/official.js'
import { fasterThan, formatNs, type Bounds, type Row } from './report.js'
import {
  expectEqual,
  OFFICIAL,
  textLength,
  YIELD_EVERY,
  yieldToLoop,
  type Case,
  type Work,
} from './workload.js'

const COUNT = 2_000
/** The peer's events, beside those in question: the task, and its completion. Ours has a snapshot for the first. */
const FRAME = 2
/** A run of ours takes milliseconds, one of the peer's seconds. */
const OUR_RUNS = 10

const chunkText = (index: number): string => `chunk ${index} of the answer `
const statusText = (index: number): string => `Reading page ${index}`

const TEXT_LENGTH = Array.from({ length: COUNT }, (_, index) => chunkText(index)).join('').length

/** What happens to our task `COUNT` times. */
type Step = (manager: TaskManager, id: string, index: number) => void

async function streamOurs(
  { TaskManager }: Library,
  step: Step,
): Promise<{ manager: TaskManager; id: string }> {
  const manager = new TaskManager()
  const { id } = manager.createTask({ skill: 'write' })
  manager.updateTask(id, { state: 'working' })
  const read = async (): Promise<number> => {
    let received = 0
    for await (const event of manager.subscribe(id)) received += event.type === 'resync' ? NaN : 1
    return received
  }
  const client = read()
  for (let index = 0; index < COUNT; index++) {
    step(manager, id, index)
    if ((index + 1) % YIELD_EVERY === 0) await yieldToLoop()
  }
  manager.updateTask(id, { state: 'completed' })
  expectEqual(await client, COUNT + FRAME, 'events that our subscriber got')
  return { manager, id }
}

const appendOurs: Step = (manager, id, index) => {
  manager.appendArtifact(id, { artifactId: 'answer', parts: [{ text: chunkText(index) }] })
}

const reportOurs: Step = (manager, id, index) => {
  manager.updateTask(id, { message: { role: 'agent', parts: [{ text: statusText(index) }] } })
}

const addOurs: Step = (manager, id, index) => {
  manager.addMessage(id, { role: 'agent', parts: [{ text: statusText(index) }] })
}

function oursVariant(
  library: Library,
  step: Step,
  verify: (manager: TaskManager, id: string) => void,
): Variant {
  return {
    ops: COUNT * OUR_RUNS,
    run: async () => {
      for (let run = 0; run < OUR_RUNS; run++) {
        const { manager, id } = await streamOurs(library, step)
        verify(manager, id)
      }
    },
  }
}

export function appending({ library }: { library: Library }): Variant {
  return oursVariant(library, appendOurs, (manager, id) => {
    const [artifact] = manager.peekTask(id)?.artifacts ?? []
    expectEqual(textLength(artifact), TEXT_LENGTH, 'UTF-16 units that we hold')
  })
}

function reporting({ library }: { library: Library }): Variant {
  return oursVariant(library, reportOurs, (manager, id) => {
    expectEqual(manager.peekTask(id)?.generation ?? 0, COUNT + 3, 'our generation')
  })
}

function adding({ library }: { library: Library }): Variant {
  return oursVariant(library, addOurs, (manager, id) => {
    expectEqual(manager.peekTask(id)?.messages.length ?? 0, COUNT, 'messages that we hold')
  })
}

export const officialAppend: Variant = {
  ops: COUNT,
  run: async () => {
    const { task, received } = await streamOfficial(COUNT, (id, index) =>
      chunkOf(id, 'answer', chunkText(index)),
    )
    expectEqual(received, COUNT + FRAME, 'events that the official client got')
    expectEqual(task?.artifacts[0]?.parts.length ?? 0, COUNT, 'chunks that the official store holds')
  },
}

const officialStatus: Variant = {
  ops: COUNT,
  run: async () => {
    const { task, received } = await streamOfficial(COUNT, (id, index) =>
      statusOf(id, TaskState.TASK_STATE_WORKING, statusText(index)),
    )
    expectEqual(received, COUNT + FRAME, 'events that the official client got')
    expectEqual(task?.history.length ?? 0, COUNT, 'messages that the official store holds')
  },
}

async function append(build: { library: Library }): Promise<Row[]> {
  const times = await compare(appending(build), officialAppend, { rounds: 3, warmUpOps: COUNT })
  const bounds = { gate: 300, goal: 1_000 }
  return [fasterThan('append 2,000 chunks, subscribed', OFFICIAL, times, bounds)]
}

/** Every message of a status goes into the official task's history: as ours is a status message, or kept as well. */
async function messages(build: { library: Library }): Promise<Row[]> {
  const [report, add] = [reporting(build), adding(build)]
  const plan = { rounds: 3, warmUpOps: COUNT }
  const [ofReport = [], ofAdd = [], peer = []] = await measure([report, add, officialStatus], plan)
  const bounds: Bounds = { gate: 300, goal: 1_800 }
  return [
    fasterThan('2,000 status messages (updateTask)', OFFICIAL, { ours: ofReport, peer }, bounds),
    fasterThan('2,000 messages kept (addMessage)', OFFICIAL, { ours: ofAdd, peer }, bounds),
  ]
}

const GROWTH_SIZES = [10_000, 100_000, 1_000_000]

function growing({ TaskManager }: Library, count: number): Variant {
  return {
    ops: count,
    run: () => {
      const manager = new TaskManager({ limits: { maxArtifactsSize: Infinity } })
      const { id } = manager.createTask({ skill: 'write' })
      manager.updateTask(id, { state: 'working' })
      for (let index = 0; index < count; index++) appendOurs(manager, id, index)
    },
  }
}

async function appendGrowth({ library }: { library: Library }): Promise<Row[]> {
  const variants = GROWTH_SIZES.map((count) => growing(library, count))
  const samples = await measure(variants, { rounds: 5, warmUpOps: 20_000 })
  const [smallest = [], , largest = []] = samples
  const range = `${formatNs(median(smallest))} → ${formatNs(median(largest))}`
  return [
    {
      ...{ work: 'append, growth 10,000 → 1,000,000 chunks', peer: '–', ours: range, theirs: '–' },
      ...{ value: growthExponent(GROWTH_SIZES, samples), unit: 'exponent', good: 'at most' },
      ...{ gate: 0.15, goal: 0.05 },
    },
    {
      ...{ work: 'append, a chunk at 1,000,000', peer: '–', ours: formatNs(median(largest)), theirs: '–' },
      ...{ value: median(largest), unit: 'ns', good: 'at most', goal: 1_400 },
    },
  ]
}

export const streamWorks: readonly Work[] = [
  { name: 'a chunk of 2,000, subscribed', open: (build) => Promise.resolve(appending(build)) },
  { name: 'a status message of 2,000 (updateTask)', open: (build) => Promise.resolve(reporting(build)) },
  { name: 'a message of 2,000 (addMessage)', open: (build) => Promise.resolve(adding(build)) },
]

export const streamCases: readonly Case[] = [
  { name: 'append 2,000 chunks', run: append },
  { name: 'append growth', run: appendGrowth },
  { name: '2,000 status messages', run: messages },
]
