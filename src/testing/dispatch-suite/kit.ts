/**
 * Types of the suite's tests.
 *
 * @module
 */
import type { Task } from '../../core/task.js'
import type { DurableTaskManager } from '../../durable/durable-task-manager.js'
import type { TaskStore } from '../../durable/task-store.js'
import type { Turn } from '../../server/dispatch.js'
import type { Execute } from '../../server/execute.js'
import type { CrashPoint } from '../durable-functions/crashing-store.js'
import type { QueueUnderTest } from './queue.js'

/** Tests by title. */
export type DispatchTests = Readonly<
  Record<string, (house: DispatchKit, queue: QueueUnderTest) => Promise<void>>
>

export interface ProcessOptions {
  /** Where the process dies. Default is nowhere. */
  readonly point?: CrashPoint | undefined
  /** Default is that of the kit. */
  readonly store?: TaskStore | undefined
}

export interface WorkerOptions extends ProcessOptions {
  /** Default is {@link DispatchKit.work}. */
  readonly execute?: Execute | undefined
  /** What the queue delivers to. Default is `run` as it is. */
  readonly deliver?: ((run: (turn: Turn) => Promise<void>, turn: Turn) => Promise<void>) | undefined
}

export interface HandlerProcess {
  /** Resolves to the id of the task; to `undefined` if the process dies before it has answered. */
  readonly send: (text: string, more?: { messageId?: string; taskId?: string }) => Promise<string | undefined>
  /** Ends all that it would do later, as a death of the process does. */
  readonly die: () => void
}

export interface WorkerProcess {
  readonly isDead: () => boolean
  /** Ends the process: its turns go to other workers. */
  readonly close: () => Promise<void>
}

/** Handlers and workers over one store, and what their turns have done. */
export interface DispatchKit {
  readonly store: TaskStore
  /** A manager that only reads, cancels and signals. */
  readonly tasks: DurableTaskManager
  /** Does some steps, each of which notes that it runs. */
  readonly work: Execute
  /** Notes that the work with this key runs. Returns the how manieth time it is. */
  ran(key: string): number
  /** A process that answers requests. Its default `dispatch` is that of the queue. */
  handler(dispatch?: QueueUnderTest['dispatch'], options?: ProcessOptions): HandlerProcess
  /** A process that takes turns from the queue. */
  worker(options?: WorkerOptions): Promise<WorkerProcess>
  /** Sends a message for each text, and resolves to the ids of the tasks. */
  begin(handler: HandlerProcess, texts: readonly string[]): Promise<string[]>
  /** Sends one message, and resolves to the id of its task. */
  beginOne(handler: HandlerProcess): Promise<string>
  /** Lets time go on until the condition holds. */
  until(what: string, condition: () => boolean | Promise<boolean>, limitMs?: number): Promise<void>
  /** Lets so much time go on, in ms. */
  pass(ms: number): Promise<void>
  /** Waits until all tasks have ended. Throws unless each is completed, by {@link work} whose last run of each step is stored. */
  allDone(ids: readonly string[], limitMs?: number): Promise<void>
  /** As {@link allDone}, where no work has run twice. */
  allDoneOnce(ids: readonly string[], limitMs?: number): Promise<void>
  task(id: string): Promise<Task>
}
