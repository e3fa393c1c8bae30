/** Durable functions on replicas that are killed, or replaced, one after the other. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { DurableTaskManager } from '../../../src/durable/index.js'
import { Client, hasEnded } from '../replicas/client.js'
import { Cluster } from '../replicas/cluster.js'
import { openStore } from '../replicas/stores.js'
import { STEPS } from './book.js'

const CONCURRENCY = 40
/** How long a process lives on average: of three, one ends each second. */
const LIFE_MS = 3_000
/** How many tasks end at least while a process lives, so that a slow machine does not repeat a larger share of the steps. */
const LIFE_TASKS = 30
/** One of so many ends as a deployment ends it. */
const DEPLOY_EVERY = 3
/** More tasks begin until so many processes have ended, however fast the machine is. */
const MIN_KILLS = 3

export interface Outcome {
  /** What is wrong with any task. */
  readonly faults: readonly string[]
  /** At least three. */
  readonly kills: number
  readonly stepsRun: number
  readonly stepsNeeded: number
  /** Steps that ran again after the run of theirs that was committed. */
  readonly doubled: number
}

export interface Options {
  /** As `openStore` knows them. */
  readonly name: string
  readonly url: string
  readonly replicas: number
  /** At least. */
  readonly tasks: number
  /** Who does the turns, as `rolesOf` knows them. Default is the process that accepts the message. */
  readonly work?: string
  /** What the processes find in their environment. */
  readonly env?: Readonly<Record<string, string>>
}

export async function bookUnderKills(options: Options): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'functions-'))
  const file = join(folder, 'steps')
  await writeFile(file, '')
  try {
    const { ids, kills } = await runUnderKills('book', options, { ...options.env, STEPS_FILE: file })
    return { ...(await check(options.name, options.url, ids, file)), kills }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Runs tasks that begin with the message `text` to their ends. Resolves to their ids. */
export async function runUnderKills(
  text: string,
  { name, url, replicas, tasks, work = 'here' }: Options,
  others: Record<string, string> = {},
): Promise<{ readonly ids: readonly string[]; readonly kills: number }> {
  const env = { STORE: name, STORE_URL: url, RECOVER: 'resume', WORK: work, ...others }
  const cluster = await Cluster.start(replicas, env)
  const over = new AbortController()
  const ids: string[] = []
  const isOver = (): boolean => over.signal.aborted
  const killing = (async () => {
    for (let count = 1; !isOver(); count += 1) {
      const enough = ids.length + LIFE_TASKS / replicas
      await delay(LIFE_MS / replicas)
      while (ids.length < enough && !isOver()) await delay(50)
      await cluster.replace(count % DEPLOY_EVERY === 0 ? 'stop' : 'SIGKILL')
    }
  })()
  try {
    const client = new Client(cluster)
    let left = tasks
    const worker = async (): Promise<void> => {
      while (left-- > 0 || cluster.kills < MIN_KILLS) ids.push(await converse(client, text))
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, worker))
    over.abort()
    await killing
    return { ids, kills: cluster.kills }
  } finally {
    over.abort()
    await killing
    await cluster.stop()
  }
}

/** One task, from its message over its question to its end. A message that was not acknowledged is sent again. */
async function converse(client: Client, text: string): Promise<string> {
  const id = await say(client, text)
  let isAnswered = false
  for (;;) {
    await delay(100)
    const state = (await client.ask('GetTask', { id, historyLength: 0 }))?.task.status.state
    if (hasEnded(state)) return id
    if (state !== 'TASK_STATE_INPUT_REQUIRED' || isAnswered) continue
    await say(client, 'yes', id)
    isAnswered = true
  }
}

async function say(client: Client, text: string, taskId?: string): Promise<string> {
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...(taskId && { taskId }) }
  for (;;) {
    const configuration = { returnImmediately: true }
    const answer = await client.ask('SendMessage', { message, configuration })
    if (answer !== undefined) return answer.task.id
    await delay(50)
  }
}

async function check(
  name: string,
  url: string,
  ids: readonly string[],
  file: string,
): Promise<Omit<Outcome, 'kills'>> {
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
  const runs = new Map<string, string[]>()
  for (const line of lines) {
    const [key = '', run = ''] = line.split(' ')
    runs.set(key, [...(runs.get(key) ?? []), run])
  }
  const { store, close } = await openStore(name, url)
  const tasks = new DurableTaskManager({ store, sweepIntervalMs: false })
  const faults: string[] = []
  let doubled = 0
  for (const id of ids) {
    const task = await tasks.getTask(id)
    const said = task?.artifacts.map(({ parts }) => parts?.map(({ text }) => text).join('')).join()
    if (task?.state !== 'completed' || said !== 'You said yes') {
      faults.push(`${id}: ${task?.state} ${said} ${JSON.stringify(task?.message)}`)
    }
    const done = (await tasks.journal(id)).flatMap(({ entry }) => (entry.kind === 'step' ? [entry] : []))
    if (done.length !== STEPS) faults.push(`${id}: has ${done.length} steps`)
    for (const entry of done) {
      const ran = runs.get(`${id}/${entry.name}`) ?? []
      const committed = ran.findIndex((run) => 'output' in entry && entry.output === run)
      if (committed < 0) faults.push(`${id}/${entry.name}: is stored, and has not run`)
      doubled += ran.length - 1 - committed
    }
  }
  await tasks.destroy()
  await close()
  return { faults: faults.slice(0, 20), stepsRun: lines.length, stepsNeeded: STEPS * ids.length, doubled }
}
