/** Tasks on replicas that are killed, and what must hold of every one of them after. */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { textOf } from 'a2a-tasks/server'
import { evolve, isInterrupted, isTerminal, type TaskEvent, type TaskSnapshot } from '../../../src/index.js'
import { A2A_LIFECYCLE } from '../../../src/core/lifecycle.js'
import { unfold } from '../../../src/durable/cache/checkpoint.js'
import type { TaskStore } from '../../../src/durable/index.js'
import { fromStored } from '../../../src/durable/stored-events.js'
import { Client, hasEnded, RefusedError, type Reading } from './client.js'
import type { Cluster } from './cluster.js'

/** What a client has received of one task, and was acknowledged. */
interface ClientRecord {
  taskId: string | undefined
  readonly readings: Reading[]
  /** Messages that were acknowledged: they must be in the log, once. */
  readonly messageIds: string[]
  /** A cancel that was acknowledged. */
  isCanceled: boolean
}

export interface ChaosOptions {
  /** Whether so many tasks are enough. */
  readonly isEnough: (tasks: number) => boolean
  readonly concurrency: number
  readonly cluster: Cluster
}

/** Runs tasks of all kinds, and resolves to what their clients know when each has ended. */
export async function runTasks({ isEnough, concurrency, cluster }: ChaosOptions): Promise<ClientRecord[]> {
  const client = new Client(cluster)
  const records: ClientRecord[] = []
  let next = 0
  const work = async (): Promise<void> => {
    while (!isEnough(next)) {
      const kind = KINDS[next++ % KINDS.length]
      if (kind !== undefined) records.push(await kind(client))
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  return records
}

type Kind = (client: Client) => Promise<ClientRecord>

const counting: Kind = async (client) => {
  const record = newRecord()
  const reading = newReading(record)
  const message = toMessage(`count ${Math.floor(Math.random() * 30)}`)
  await client.read(reading, 'SendStreamingMessage', { message })
  record.taskId = reading.taskId
  if (record.taskId === undefined) return record
  record.messageIds.push(message.messageId)
  // A second reader, from the beginning, at another replica.
  const other = newReading(record)
  other.taskId = record.taskId
  await Promise.all([follow(client, reading), follow(client, other)])
  return record
}

const asking: Kind = async (client) => {
  const record = newRecord()
  await send(client, record, Math.random() < 0.5 ? 'ask' : 'turn')
  if (record.taskId === undefined) return record
  const reading = newReading(record)
  reading.taskId = record.taskId
  const followed = follow(client, reading)
  while (!hasEnded(reading.state)) {
    if (reading.state === 'TASK_STATE_INPUT_REQUIRED') await send(client, record, 'count 5')
    await delay(20)
  }
  await followed
  return record
}

const canceling: Kind = async (client) => {
  const record = newRecord()
  await send(client, record, 'hold', { returnImmediately: true })
  if (record.taskId === undefined) return record
  const reading = newReading(record)
  reading.taskId = record.taskId
  const followed = follow(client, reading)
  await delay(Math.random() * 50)
  while (!hasEnded(reading.state)) {
    try {
      const canceled = await client.ask('CancelTask', { id: record.taskId })
      record.isCanceled ||= canceled?.task.status.state === 'TASK_STATE_CANCELED'
    } catch (error) {
      // It has ended otherwise: its replica was killed.
      if (!(error instanceof RefusedError)) throw error
    }
    await delay(50)
  }
  await followed
  return record
}

const queueing: Kind = async (client) => {
  const record = newRecord()
  await send(client, record, 'count 20', { returnImmediately: true })
  if (record.taskId === undefined) return record
  const reading = newReading(record)
  reading.taskId = record.taskId
  const followed = follow(client, reading)
  await send(client, record, 'count 3', { returnImmediately: true })
  await followed
  return record
}

const KINDS: readonly Kind[] = [counting, asking, canceling, queueing]

function newRecord(): ClientRecord {
  return { taskId: undefined, readings: [], messageIds: [], isCanceled: false }
}

function newReading(record: ClientRecord): Reading {
  const reading: Reading = { taskId: undefined, received: [], state: undefined }
  record.readings.push(reading)
  return reading
}

interface Sent {
  readonly messageId: string
}

function toMessage(text: string, taskId?: string): Sent & Record<string, unknown> {
  return { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...(taskId && { taskId }) }
}

async function send(
  client: Client,
  record: ClientRecord,
  text: string,
  configuration?: object,
): Promise<void> {
  const message = toMessage(text, record.taskId)
  try {
    const answer = await client.ask('SendMessage', { message, ...(configuration && { configuration }) })
    if (answer === undefined) return
    record.taskId = answer.task.id
    record.messageIds.push(message.messageId)
  } catch (error) {
    // The task has ended: its replica was killed.
    if (!(error instanceof RefusedError)) throw error
  }
}

/** Reads a task to its end, over as many replicas as it takes. */
async function follow(client: Client, reading: Reading): Promise<void> {
  const id = reading.taskId
  while (!hasEnded(reading.state)) {
    await client.read(reading, 'SubscribeToTask', { id })
    if (hasEnded(reading.state)) return
    await delay(10)
    // A stream of a terminal task is refused to a client that has received no event of it.
    const answer =
      reading.received.length === 0 ? await client.ask('GetTask', { id }).catch(() => undefined) : undefined
    if (hasEnded(answer?.task.status.state)) reading.state = answer?.task.status.state
  }
}

/** The events that streams send. */
const STREAMED = new Set(['status', 'artifact', 'output'])

/** What is wrong with a task, by the log of the store and what its clients know. */
export async function faultsOf(
  store: TaskStore,
  { id, createdAt }: TaskSnapshot<string>,
  record?: ClientRecord,
): Promise<string[]> {
  const stored = await store.get(id)
  if (stored === undefined) return [`${id}: is gone`]
  const log: TaskEvent[] = []
  for (;;) {
    const page = await store.events({ id, createdAt }, log.length, 500)
    // Handlers have the protocol's own states.
    log.push(...(page.map(fromStored) as readonly TaskEvent[]))
    if (page.length < 500) break
  }
  const faults: string[] = []
  const say = (fault: string): void => void faults.push(`${id}: ${fault}`)
  log.forEach(({ generation }, index) => {
    if (generation !== index + 1) say(`event ${index + 1} of the log has the generation ${generation}`)
  })
  const task = log.reduce<TaskSnapshot | undefined>(evolve, undefined)
  const kept = unfold(stored, A2A_LIFECYCLE)
  if (JSON.stringify(task) !== JSON.stringify(kept)) say('the log does not give the task')
  if (task === undefined) return [...faults, `${id}: has no log`]
  const { state } = task
  // A question that was not delivered, because its replica was killed, waits for its answer.
  if (!isTerminal(state) && !(isInterrupted(state) && record === undefined)) say(`has not ended: ${state}`)
  const ends = log.filter((event) => event.type === 'status' && isTerminal(event.to))
  if (isTerminal(state) && (ends.length !== 1 || ends[0] !== log.at(-1))) say(`has ${ends.length} ends`)
  for (const problem of [...numberFaults(task), ...clientFaults(log, task, record)]) say(problem)
  return faults
}

/** A run counts from 0: in each of its turns no number is missing, and none comes twice. */
function numberFaults(task: TaskSnapshot<string>): string[] {
  const said = textOf(task.artifacts.find(({ artifactId }) => artifactId === 'numbers') ?? {})
  const numbers = said.split(' ').filter(Boolean).map(Number)
  return numbers.flatMap((number, index) => {
    const before = numbers[index - 1]
    const isNext = number === 0 || (before !== undefined && number === before + 1)
    return isNext ? [] : [`${number} comes after ${before}`]
  })
}

function clientFaults(
  log: readonly TaskEvent[],
  task: TaskSnapshot<string>,
  record?: ClientRecord,
): string[] {
  if (record === undefined) return []
  const faults: string[] = []
  for (const messageId of record.messageIds) {
    const times = task.messages.filter((message) => message.messageId === messageId).length
    if (times !== 1) faults.push(`message ${messageId} is there ${times} times`)
  }
  if (record.isCanceled && task.state !== 'canceled') faults.push(`was canceled, and is ${task.state}`)
  for (const { received } of record.readings) {
    const [first] = received
    if (first === undefined) continue
    const expected = log.filter(({ type, generation }) => STREAMED.has(type) && generation > first.id)
    const ids = received.slice(1).map(({ id }) => id)
    const wanted = expected.map(({ generation }) => generation)
    if (first.kind !== 'task') faults.push(`a stream began with ${first.kind}`)
    if (JSON.stringify(ids) !== JSON.stringify(wanted)) {
      faults.push(`a reader got ${ids.join(' ')} after ${first.id} of ${wanted.join(' ')}`)
    }
  }
  return faults
}
