/**
 * A test of durable functions: crashes at each write, and a comparison with the run without a crash.
 *
 * @module
 */
import { SPENDING } from '../../core/spending.js'
import type { Message, Part, Task } from '../../core/task.js'
import { memoryStore } from '../../durable/memory-store.js'
import type { TaskStore } from '../../durable/task-store.js'
import { readOptions, requireFunction, requireFunctions } from '../../runtime/options.js'
import { questionsIn } from '../../wire/question/questions.js'
import type { CrashPoint } from './crashing-store.js'
import { LocalReplica, type Execute, type ReplicaOptions } from './replica.js'
import { play, type Answers, type Signal, type Trial, type TrialOptions } from './trial.js'

/** What the user says: a text, or a message without the fields that the test sets. */
export type UserMessage = string | Pick<Message, 'parts' | 'metadata' | 'extensions'>

/** Options of {@link testDurable}. */
export interface TestDurableOptions {
  /**
   * The messages of the user: the first one begins the task, each further one answers the next question. `{ answers }` has the
   * values of questions with a schema, by the names of the questions or their ids. `{ signal, value }` sends a signal to the task,
   * by `tasks.signal`, as soon as all before it is sent.
   */
  readonly messages: readonly [UserMessage, ...(UserMessage | Answers | Signal)[]]
  /** Creates an empty store for each trial. Its leases expire by `now`. Default is `memoryStore`. */
  readonly createStore?:
    ((options: { readonly now: () => number }) => TaskStore | Promise<TaskStore>) | undefined
  /**
   * The properties of the ended task that have to be the same with and without crashes. Default are its state, its output,
   * its artifacts, its metadata and its conversation, with all ids. What the library keeps in the metadata is left out.
   */
  readonly resultOf?: ((task: Task) => unknown) | undefined
  /** Options of `createRequestHandler`. The test sets `tasks`, `execute`, `clock` and `authenticate`. */
  readonly handler?: ReplicaOptions['handler'] | undefined
  /** Options of `DurableTaskManager`. The test sets `store` and `clock`. */
  readonly manager?: ReplicaOptions['manager'] | undefined
}

/** What {@link testDurable} has tried. */
export interface DurableReport {
  /** The task at the end of the run without a crash. */
  readonly task: Task
  /** The number of moments at which a process crashed. */
  readonly crashPoints: number
  /** How often the work of steps began in all trials, and how often it would have begun without crashes. */
  readonly steps: { readonly begun: number; readonly needed: number }
}

const OPTIONS = ['messages', 'createStore', 'resultOf', 'handler', 'manager']

/**
 * Runs `execute` once without a crash, then once for each write to the store and each of two moments: the process crashes
 * before the write, or after it. Another process continues the task. In two last trials every process crashes, as soon as it
 * has added to the journal of the task.
 *
 * Every trial has to end with the same result, and no step may begin again once its output is stored. Time is simulated, so
 * sleeps and leases take none. `run.random()` and `run.uuid()` return the same values in all trials. What a step does has to be
 * the same each time: pass fakes for services.
 *
 * @example
 * await testDurable(execute, { messages: ['Book a flight', 'Rome', 'yes'] })
 * @returns The trials, in numbers.
 * @throws {Error} As a rejection, when a trial ends otherwise or not at all. The text names the crash, and both results.
 * @throws {TypeError} As a rejection, naming the invalid option.
 */
export async function testDurable(execute: Execute, options: TestDurableOptions): Promise<DurableReport> {
  requireFunction('execute', execute)
  const { resultOf = standardResult, ...given } = readOptions(options, OPTIONS, 'testDurable()')
  requireFunctions(given, ['createStore'])
  requireFunction('resultOf', resultOf)
  const trialOptions = toTrialOptions(execute, given)
  const reference = await play(trialOptions, () => undefined)
  const expected = textOf(resultOf(reference.task))
  const { stepsBegun: needed } = reference.recorder
  const report = { task: reference.task, crashPoints: 0, steps: { begun: 0, needed: 0 } }
  for (const { name, pointOf } of plansFor(reference.writes)) {
    const trial = await named(name, () => play(trialOptions, pointOf))
    compare(name, trial, expected, textOf(resultOf(trial.task)))
    report.crashPoints += trial.replicas - 1
    report.steps.begun += trial.recorder.stepsBegun
    report.steps.needed += needed
  }
  return report
}

function toTrialOptions(
  execute: Execute,
  { messages, createStore = memoryStore, handler = {}, manager = {} }: Omit<TestDurableOptions, 'resultOf'>,
): TrialOptions {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new TypeError('"messages" must be a list with the message that begins the task')
  }
  refuseOwn('handler', handler, ['tasks', 'execute', 'clock', 'authenticate'])
  refuseOwn('manager', manager, ['store', 'clock'])
  return {
    createStore,
    startReplica: (shared, point) => new LocalReplica({ execute, handler, manager }, shared, point),
    script: messages.map((entry: UserMessage | Answers | Signal, index) => {
      if (typeof entry !== 'string' && 'signal' in entry) return entry
      if (typeof entry !== 'string' && 'answers' in entry)
        return { ...entry, parts: [], role: 'user', messageId: `message-${index + 1}` }
      const message = typeof entry === 'string' ? { parts: [{ text: entry }] } : entry
      return { ...message, role: 'user', messageId: `message-${index + 1}` }
    }),
  }
}

/** @throws {TypeError} for an option that the test would replace. */
function refuseOwn(name: string, given: object, own: readonly string[]): void {
  const set = own.find((key) => key in given)
  if (set !== undefined) throw new TypeError(`"${name}.${set}" is set by testDurable() itself: leave it out`)
}

interface Plan {
  readonly name: string
  readonly pointOf: (replica: number) => CrashPoint | undefined
}

function* plansFor(writes: number): Generator<Plan> {
  for (let write = 1; write <= writes; write += 1) {
    for (const when of ['before', 'after'] as const) {
      const name = `a crash ${when} write ${write} of ${writes}`
      yield { name, pointOf: (replica) => (replica === 0 ? { n: write, of: 'writes', when } : undefined) }
    }
  }
  // Each process gets one entry further.
  yield { name: 'a crash after each entry', pointOf: () => ({ n: 1, of: 'entries', when: 'after' }) }
  yield { name: 'a crash before each second entry', pointOf: () => ({ n: 2, of: 'entries', when: 'before' }) }
}

async function named(name: string, work: () => Promise<Trial>): Promise<Trial> {
  try {
    return await work()
  } catch (error) {
    throw new Error(`With ${name}: ${String(error)}`, { cause: error })
  }
}

function compare(name: string, { recorder, errors }: Trial, expected: string, actual: string): void {
  const [repeated] = recorder.repeated
  if (repeated !== undefined)
    throw new Error(`With ${name}: step ${repeated} ran again after its output was stored`)
  if (actual === expected) return
  const text = `With ${name} the result is different\nwithout: ${expected}\nwith:    ${actual}`
  throw new Error(text, { cause: errors[0] })
}

function standardResult({ state, artifacts, messages, metadata, output }: Task): unknown {
  // An attempt that a crash ends has spent, too.
  const ownMetadata = Object.fromEntries(Object.entries(metadata).filter(([key]) => key !== SPENDING))
  const conversation = messages.map(({ messageId, role, parts, metadata }) => ({
    ...{ messageId, role, metadata },
    // When a question expires depends on when it was asked.
    parts: parts.map((part) => (questionsIn({ parts: [part] }).length > 0 ? withoutTimes(part) : part)),
  }))
  return { state, output, artifacts, metadata: ownMetadata, conversation }
}

function withoutTimes(part: Part): unknown {
  return JSON.parse(JSON.stringify(part, (key, value: unknown) => (key === 'expiresAt' ? undefined : value)))
}

/** JSON with the properties of objects in the order of their names. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
