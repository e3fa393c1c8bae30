/**
 * One trial of a durable function: its messages, its crashes, and the task that it leaves.
 *
 * @module
 */
import type { Message, Task } from '../../core/task.js'
import type { TaskStore } from '../../durable/task-store.js'
import { sleep, yieldToEventLoop } from '../../runtime/timers.js'
import { answerPart, openQuestionsOf, QUESTIONS } from '../../wire/question/questions.js'
import { ManualClock } from '../manual-clock.js'
import type { CrashPoint } from './crashing-store.js'
import { Recorder } from './recorder.js'

/** A signal that other code sends to the function. */
export interface Signal {
  readonly signal: string
  /** JSON. Default is `null`. */
  readonly value?: unknown
}

/** Answers to questions that have a schema. */
export interface Answers {
  /** JSON, by the names of the questions or their ids. */
  readonly answers: Readonly<Record<string, unknown>>
}

/** {@link Answers}, as the message that has them. */
export interface AnswerMessage extends Message, Answers {}

/** One process of the function under test, until it crashes. */
export interface Replica {
  readonly isCrashed: boolean
  /** Whether calls of its store are under way. */
  readonly isBusy: boolean
  /** How often it has written to the store. */
  readonly writes: number
  readonly errors: readonly unknown[]
  /**
   * Resolves when the agent has answered, or the process has crashed.
   *
   * @param sender - The id of the principal. Default is that of the owner of the task.
   */
  send(message: Message, sender?: string): Promise<void>
  /** Resolves when the signal is stored, or the process has crashed. */
  signal(taskId: string, signal: Signal): Promise<void>
  task(id: string): Promise<Task | undefined>
  close(): Promise<void>
}

/** What all processes of a trial share. */
export interface Shared {
  readonly store: TaskStore
  readonly clock: ManualClock
  readonly recorder: Recorder
}

/** What all trials of one test have in common. */
export interface TrialOptions {
  /** The first one is a message. */
  readonly script: readonly (Message | AnswerMessage | Signal)[]
  readonly createStore: (clock: { readonly now: () => number }) => TaskStore | Promise<TaskStore>
  readonly startReplica: (shared: Shared, point: CrashPoint | undefined) => Replica
}

export interface Trial {
  readonly task: Task
  readonly recorder: Recorder
  /** How often the first process has written. */
  readonly writes: number
  /** How many processes there were. */
  readonly replicas: number
  /** What the handlers and managers reported. */
  readonly errors: readonly unknown[]
}

const SECOND_MS = 1_000
/** Without a change for so many seconds, nothing is under way but a wait for a time. */
const QUIET_SECONDS = 60
const ROUNDS_PER_JUMP = 5
/** For so many seconds a crashed process may still leave an answer that it has received. */
const UNANSWERED_SECONDS = 10
/** Without anything new in the log for so many rounds, the task does not end. */
const MAX_IDLE_ROUNDS = 3_000
/** For a function that stores something new without end. */
const MAX_ROUNDS = 100_000
/** The longest wait for another agent in one round, in ms. */
const MAX_AGENT_WAIT_MS = 20
/** Turns of the event loop between two seconds. */
const TURNS = 3

/**
 * Plays the messages to a function until its task has ended, and begins a new process after each crash.
 *
 * @param pointOf - Where the n-th process crashes, from 0.
 */
export async function play(
  options: TrialOptions,
  pointOf: (replica: number) => CrashPoint | undefined,
): Promise<Trial> {
  const { createStore, script, startReplica } = options
  const clock = new ManualClock()
  const store = await createStore({ now: () => clock.now() })
  const recorder = new Recorder()
  const processes = new Processes((count) => startReplica({ store, clock, recorder }, pointOf(count)))
  const progress: Progress = { sent: 0, answers: 0, taskId: undefined, signalsBefore: undefined }
  let [quiet, idle, generation] = [0, 0, 0]
  let last: Task | undefined
  for (let round = 0; round < MAX_ROUNDS && idle < MAX_IDLE_ROUNDS; round += 1) {
    const replica = await processes.settled()
    const task = progress.taskId === undefined ? undefined : await replica.task(progress.taskId)
    idle = task === undefined || task.generation === last?.generation ? idle + 1 : 0
    last = task ?? last
    if (task !== undefined && isEnded(task)) return { task, recorder, ...(await processes.close()) }
    await giveNext(script, { replica, recorder, progress, task, quiet })
    quiet = !(await awaitAgents(recorder, idle)) && task?.generation === generation ? quiet + 1 : 0
    generation = task?.generation ?? 0
    clock.advance(pauseAfter(quiet))
  }
  const received = `${progress.sent} of ${script.length} entries of the test`
  throw endless(last, received, processes.errors[0])
}

function endless(task: Task | undefined, received: string, cause: unknown): Error {
  const state = task?.state ?? 'not created'
  return new Error(`The task does not end: it is ${state}, and has received ${received}`, { cause })
}

/** The processes of a trial, one after the other. */
class Processes {
  readonly errors: unknown[] = []
  readonly #start: (count: number) => Replica
  #replica: Replica
  #count = 1
  /** How often the first process has written. */
  #writes = 0

  constructor(start: (count: number) => Replica) {
    this.#start = start
    this.#replica = start(0)
  }

  /** The process when it has nothing to do; a new one after a crash. */
  async settled(): Promise<Replica> {
    for (let turn = 0; turn < TURNS || this.#replica.isBusy; turn += 1) await yieldToEventLoop()
    if (this.#replica.isCrashed) {
      this.#end()
      this.#replica = this.#start(this.#count)
      this.#count += 1
    }
    return this.#replica
  }

  async close(): Promise<Pick<Trial, 'writes' | 'replicas' | 'errors'>> {
    await this.#replica.close()
    this.#end()
    return { writes: this.#writes, replicas: this.#count, errors: this.errors }
  }

  #end(): void {
    if (this.#count === 1) this.#writes = this.#replica.writes
    this.errors.push(...this.#replica.errors)
  }
}

/** What is stored of the script, whatever the process said that stored it: it may have crashed before. */
interface Progress {
  /** How many entries of the script are stored, and how many of them answered a question. */
  sent: number
  answers: number
  taskId: string | undefined
  /** How many signals of its name were stored before the next entry, a signal, was sent. */
  signalsBefore: number | undefined
}

interface Receiver {
  readonly replica: Replica
  readonly recorder: Recorder
  readonly progress: Progress
  readonly task: Task | undefined
  /** For how many seconds nothing has changed. */
  readonly quiet: number
}

/** Sends the next entry of the script: a signal at once, a message where the function waits for one. */
async function giveNext(script: TrialOptions['script'], receiver: Receiver): Promise<void> {
  const { replica, recorder, progress, task, quiet } = receiver
  advance(script, recorder, progress)
  const { sent, answers, taskId } = progress
  const next = script[sent]
  const isAsked = task !== undefined && isWaiting(task) && recorder.questions > answers
  if (next === undefined) {
    if (!isAsked || quiet <= UNANSWERED_SECONDS || expires(task)) return
    throw new Error(`The function waits for an answer, and has received all ${sent} entries of the test`)
  }
  if (!('signal' in next)) {
    if (sent > 0 && !isAsked) return
    const message = 'answers' in next && task !== undefined ? byId(next, task) : next
    await replica.send(taskId === undefined ? message : { ...message, taskId }, senderTo(task))
  } else if (taskId !== undefined) {
    progress.signalsBefore ??= recorder.signalsOf(next.signal)
    await replica.signal(taskId, next)
  }
  advance(script, recorder, progress)
}

/** One of those who may answer, where the owner of the task may not. */
function senderTo(task: Task | undefined): string | undefined {
  return task && openQuestionsOf(task)[0]?.answeredBy?.[0]
}

/** Whether a question ends without an answer. */
function expires(task: Task): boolean {
  return openQuestionsOf(task).some(({ expiresAt }) => expiresAt !== undefined)
}

/** @throws {Error} when the task does not ask one of the questions. */
function byId({ answers, ...message }: AnswerMessage, task: Task): Message {
  const ids = openQuestionsOf(task).map(({ id }) => id)
  const values = Object.entries(answers).map(([name, value]) => {
    const id = ids.find((each) => each === name || each.startsWith(`${name}#`))
    if (id !== undefined) return [id, value]
    throw new Error(`The function does not ask "${name}": open are ${ids.join(', ') || 'none'}`)
  })
  // The agent checks that the values are JSON.
  const part = answerPart(Object.fromEntries(values) as Parameters<typeof answerPart>[0])
  return { ...message, parts: [part], extensions: [QUESTIONS] }
}

/** Passes the entries of the script that are stored. */
function advance(script: TrialOptions['script'], recorder: Recorder, progress: Progress): void {
  for (let next = script[progress.sent]; next !== undefined; next = script[progress.sent]) {
    if ('signal' in next) {
      const { signalsBefore = Infinity } = progress
      if (recorder.signalsOf(next.signal) <= signalsBefore) return
      progress.signalsBefore = undefined
    } else {
      const taskId = recorder.messages.get(next.messageId)
      if (taskId === undefined) return
      progress.taskId ??= taskId
      if (progress.sent > 0) progress.answers += 1
    }
    progress.sent += 1
  }
}

/**
 * Waits a moment for other agents, which answer in their own time, not in that of the clock: longer from round to round,
 * for machines that are slow. Resolves to whether one works.
 */
async function awaitAgents({ delegations }: Recorder, idleRounds: number): Promise<boolean> {
  if (delegations.size === 0) return false
  await sleep(Math.min(1 + idleRounds / 10, MAX_AGENT_WAIT_MS))
  return true
}

/** In ms. After each long pause follow some short ones, in which stores answer the calls that were due. */
function pauseAfter(quietRounds: number): number {
  const jump = (quietRounds - QUIET_SECONDS) / ROUNDS_PER_JUMP
  return Number.isInteger(jump) && jump > 0 ? SECOND_MS * 2 ** Math.min(4 * jump, 20) : SECOND_MS
}

const isWaiting = ({ state }: Task): boolean => state === 'input-required' || state === 'auth-required'

function isEnded({ state }: Task): boolean {
  return state === 'completed' || state === 'failed' || state === 'canceled' || state === 'rejected'
}
