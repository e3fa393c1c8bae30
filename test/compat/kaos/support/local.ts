/**
 * Local task managers with predictable time and ids.
 *
 * @module
 */
import { TaskManager, type Task } from 'a2a-tasks'
import {
  LocalTaskManager,
  type LocalTaskManagerOptions,
  type ProcessContext,
  type ProcessFn,
} from 'a2a-tasks/compat'
import { type ErrorContext } from 'a2a-tasks/server'
import { ManualClock, sequentialIds } from 'a2a-tasks/testing'
import { gate } from '../../../server/spec/support/agent.js'

export interface LocalOptions extends LocalTaskManagerOptions {
  readonly tasks?: TaskManager
}

export interface Setup {
  readonly manager: LocalTaskManager
  readonly tasks: TaskManager
  readonly clock: ManualClock
  readonly errors: { readonly error: unknown; readonly context: ErrorContext }[]
}

export function setup(processFn: ProcessFn, options: LocalOptions = {}): Setup {
  const clock = new ManualClock()
  const tasks = options.tasks ?? new TaskManager({ clock, generateId: sequentialIds() })
  const errors: Setup['errors'] = []
  const onError = (error: unknown, context: ErrorContext): void => void errors.push({ error, context })
  return {
    manager: new LocalTaskManager(processFn, { tasks, clock, onError, ...options }),
    tasks,
    clock,
    errors,
  }
}

export interface Working extends Setup {
  readonly sent: Promise<Task>
  readonly context: ProcessContext
  readonly finish: (text: string) => void
}

/** A manager in the middle of work that heeds its signal, if at all, by ending. */
export async function working({
  heeds = true,
  ...options
}: LocalOptions & { heeds?: boolean } = {}): Promise<Working> {
  const began = gate<ProcessContext>()
  const done = gate<string>()
  const all = setup(async (_, context) => {
    began.open(context)
    if (heeds) context.signal.addEventListener('abort', () => done.open('late'))
    return done.opened
  }, options)
  const sent = all.manager.sendMessage('go')
  return { ...all, sent, context: await began.opened, finish: done.open }
}

export function textsOf(task: Task | null): string[] {
  return (task?.messages ?? []).map(({ role, parts }) => `${role}: ${parts.map(({ text }) => text).join('')}`)
}

export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error('It was not rejected')
    },
    (error: unknown) => error,
  )
}

export function fail(error: unknown): never {
  throw error
}
