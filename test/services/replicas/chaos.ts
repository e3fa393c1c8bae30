/** Tasks on replicas that are killed, and what must hold of every one of them after. */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { evolve, isInterrupted, isTerminal, type TaskEvent, type TaskSnapshot } from '../../../src/index.js'
import type { TaskStore } from '../../../src/durable/index.js'
import { Client, hasEnded, RefusedError, type Reading } from './client.js'
import type { Cluster } from './cluster.js'

/** What a client was told of one task. */
interface Story {
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
export async function runTasks({ isEnough, concurrency, cluster }: ChaosOptions): Promise<Story[]> {
  const client = new Client(cluster)
  const stories: Story[] = []
  let next = 0
  const work = async (): Promise<void> => {
    while (!isEnough(next)) {
      const kind = KINDS[next++ % KINDS.length]
      if (kind !== undefined) stories.push(await kind(client))
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  return stories
}

type Kind = (client: Client) => Promise<Story>

const counting: Kind = async (client) => {
  const story = newStory()
  const reading = newReading(story)
  const message = toMessage(`count ${Math.floor(Math.random() * 30)}`)
  await client.read(reading, 'SendStreamingMessage', { message })
  story.taskId = reading.taskId
  if (story.taskId === undefined) return story
  story.messageIds.push(message.messageId)
  // A second reader, from the beginning, at another replica.
  const other = newReading(story)
  other.taskId = story.taskId
  await Promise.all([follow(client, reading), follow(client, other)])
  return story
}

const asking: Kind = async (client) => {
  const story = newStory()
  await send(client, story, Math.random() < 0.5 ? 'ask' : 'turn')
  if (story.taskId === undefined) return story
  const reading = newReading(story)
  reading.taskId = story.taskId
  const followed = follow(client, reading)
  while (!hasEnded(reading.state)) {
    if (reading.state === 'TASK_STATE_INPUT_REQUIRED') await send(client, story, 'count 5')
    await delay(20)
  }
  await followed
  return story
}

const canceling: Kind = async (client) => {
  const story = newStory()
  await send(client, story, 'hold', { returnImmediately: true })
  if (story.taskId === undefined) return story
  const reading = newReading(story)
  reading.taskId = story.taskId
  const followed = follow(client, reading)
  await delay(Math.random() * 50)
  while (!hasEnded(reading.state)) {
    try {
      const canceled = await client.ask('CancelTask', { id: story.taskId })
      story.isCanceled ||= canceled?.task.status.state === 'TASK_STATE_CANCELED'
    } catch (error) {
      // It has ended otherwise: its replica was killed.
      if (!(error instanceof RefusedError)) throw error
    }
    await delay(50)
  }
  await followed
  return story
}

const queueing: Kind = async (client) => {
  const story = newStory()
  await send(client, story, 'count 20', { returnImmediately: true })
  if (story.taskId === undefined) return story
  const reading = newReading(story)
  reading.taskId = story.taskId
  const followed = follow(client, reading)
  await send(client, story, 'count 3', { returnImmediately: true })
  await followed
  return story
}

const KINDS: readonly Kind[] = [counting, asking, canceling, queueing]

function newStory(): Story {
  return { taskId: undefined, readings: [], messageIds: [], isCanceled: false }
}

function newReading(story: Story): Reading {
  const reading: Reading = { taskId: undefined, told: [], state: undefined }
  story.readings.push(reading)
  return reading
}

interface Sent {
  readonly messageId: string
}

function toMessage(text: string, taskId?: string): Sent & Record<string, unknown> {
  return { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...(taskId && { taskId }) }
}

async function send(client: Client, story: Story, text: string, configuration?: object): Promise<void> {
  const message = toMessage(text, story.taskId)
  try {
    const answer = await client.ask('SendMessage', { message, ...(configuration && { configuration }) })
    if (answer === undefined) return
    story.taskId = answer.task.id
    story.messageIds.push(message.messageId)
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
      reading.told.length === 0 ? await client.ask('GetTask', { id }).catch(() => undefined) : undefined
    if (hasEnded(answer?.task.status.state)) reading.state = answer?.task.status.state
  }
}

/** Which events streams tell. */
const TOLD = new Set(['status', 'artifact', 'output'])

/** What is wrong with a task, by the log of the store and what its clients know. */
export async function faultsOf(
  store: TaskStore,
  { id, createdAt }: TaskSnapshot<string>,
  story?: Story,
): Promise<string[]> {
  const stored = await store.get(id)
  if (stored === undefined) return [`${id}: is gone`]
  const log: TaskEvent[] = []
  for (;;) {
    const page = await store.events({ id, createdAt }, log.length, 500)
    // Handlers have the protocol's own states.
    log.push(...(page as readonly TaskEvent[]))
    if (page.length < 500) break
  }
  const faults: string[] = []
  const say = (fault: string): void => void faults.push(`${id}: ${fault}`)
  log.forEach(({ generation }, index) => {
    if (generation !== index + 1) say(`event ${index + 1} of the log has the generation ${generation}`)
  })
  const task = log.reduce<TaskSnapshot | undefined>(evolve, undefined)
  const kept = stored.events.reduce((now, event) => evolve<string>(now, event), stored.checkpoint)
  if (JSON.stringify(task) !== JSON.stringify(kept)) say('the log does not give the task')
  if (task === undefined) return [...faults, `${id}: has no log`]
  const { state } = task
  // A question that was not delivered, because its replica was killed, waits for its answer.
  if (!isTerminal(state) && !(isInterrupted(state) && story === undefined)) say(`has not ended: ${state}`)
  const ends = log.filter((event) => event.type === 'status' && isTerminal(event.to))
  if (isTerminal(state) && (ends.length !== 1 || ends[0] !== log.at(-1))) say(`has ${ends.length} ends`)
  for (const problem of [...numberFaults(task), ...storyFaults(log, task, story)]) say(problem)
  return faults
}

/** A run counts from 0: in each of its turns no number is missing, and none comes twice. */
function numberFaults(task: TaskSnapshot<string>): string[] {
  const parts = task.artifacts.find(({ artifactId }) => artifactId === 'numbers')?.parts ?? []
  const numbers = parts.map((part) => Number(part.text))
  return numbers.flatMap((number, index) => {
    const before = numbers[index - 1]
    const isNext = number === 0 || (before !== undefined && number === before + 1)
    return isNext ? [] : [`${number} comes after ${before}`]
  })
}

function storyFaults(log: readonly TaskEvent[], task: TaskSnapshot<string>, story?: Story): string[] {
  if (story === undefined) return []
  const faults: string[] = []
  for (const messageId of story.messageIds) {
    const times = task.messages.filter((message) => message.messageId === messageId).length
    if (times !== 1) faults.push(`message ${messageId} is there ${times} times`)
  }
  if (story.isCanceled && task.state !== 'canceled') faults.push(`was canceled, and is ${task.state}`)
  for (const { told } of story.readings) {
    const [first] = told
    if (first === undefined) continue
    const expected = log.filter(({ type, generation }) => TOLD.has(type) && generation > first.id)
    const ids = told.slice(1).map(({ id }) => id)
    const wanted = expected.map(({ generation }) => generation)
    if (first.kind !== 'task') faults.push(`a stream began with ${first.kind}`)
    if (JSON.stringify(ids) !== JSON.stringify(wanted)) {
      faults.push(`a reader got ${ids.join(' ')} after ${first.id} of ${wanted.join(' ')}`)
    }
  }
  return faults
}
