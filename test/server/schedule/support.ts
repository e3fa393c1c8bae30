/** One agent at two replicas, over each kind of manager: both share a task manager, or a store. */
import { TaskManager } from 'a2a-tasks'
import { DurableTaskManager, memoryStore, type TaskStore } from 'a2a-tasks/durable'
import type { Message, Task } from 'a2a-tasks/schemas'
import {
  createRequestHandler,
  type Execute,
  type Principal,
  type RequestHandlerOptions,
} from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { setImmediate as turn } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { databaseFile } from '../../stores/sqlite/support/sqlite.js'
import { as, authenticate, call, jsonRpc, ORIGIN, taskOf, type Reachable } from '../spec/support/agent.js'
import { EVERY } from '../../compat/support/agent.js'

export type Tasks = TaskManager | DurableTaskManager

export interface Agents {
  readonly a: Reachable
  /** Another process, or the same one over a `TaskManager`. */
  readonly b: Reachable
  readonly tasks: Tasks
  readonly clock: ManualClock
  readonly errors: unknown[]
}

type Options = Partial<Omit<RequestHandlerOptions, 'tasks' | 'execute' | 'clock'>>
export type OpenAgents = (execute: Execute, options?: Options) => Promise<Agents>

function handlersOf(
  managers: readonly Tasks[],
  clock: ManualClock,
  execute: Execute,
  options: Options,
): Agents {
  const errors: unknown[] = []
  const all = managers.map((tasks) => {
    const handler = createRequestHandler<Principal, Tasks>({
      card: { name: 'Test', url: ORIGIN },
      dialects: EVERY,
      authenticate,
      onError: (error) => errors.push(error),
      ...{ clock, tasks, execute, ...options },
    })
    return { handler, tasks }
  })
  const [a, b = a] = all
  if (a === undefined || b === undefined) throw new Error('There is one manager at least')
  return { a, b, tasks: a.tasks, clock, errors }
}

function overStore(connect: (clock: ManualClock) => () => Promise<TaskStore> | TaskStore): OpenAgents {
  return async (execute, options = {}) => {
    const clock = new ManualClock(Date.now())
    const open = connect(clock)
    const managers = await Promise.all(
      [0, 1].map(async () => new DurableTaskManager({ store: await open(), clock })),
    )
    onTestFinished(async () => {
      for (const tasks of managers) await tasks.destroy()
    })
    return handlersOf(managers, clock, execute, options)
  }
}

type Row = readonly [name: string, open: OpenAgents]

export const MANAGERS: readonly [inMemory: Row, inStore: Row, inDatabase: Row] = [
  [
    'TaskManager',
    (execute, options = {}) => {
      const clock = new ManualClock(Date.now())
      return Promise.resolve(handlersOf([new TaskManager({ clock })], clock, execute, options))
    },
  ],
  [
    'DurableTaskManager over memory',
    overStore((clock) => {
      const store = memoryStore({ now: () => clock.now() })
      return () => store
    }),
  ],
  [
    'DurableTaskManager over SQLite',
    overStore(() => {
      const file = databaseFile()
      onTestFinished(() => file.remove())
      return () => file.open()
    }),
  ],
]

/** The result of `promise`. Time passes until there is one: replicas without hints poll their store. */
export async function inTime<T>({ clock }: Agents, promise: Promise<T>): Promise<T> {
  let settled = 0
  const settle = (): unknown => (settled += 1)
  promise.then(settle, settle)
  while (settled === 0) {
    clock.advance(100)
    await turn()
  }
  return await promise
}

/** Sends a message as this user. */
export async function send(
  at: Reachable,
  message: Message,
  {
    who = 'ada',
    ...more
  }: { readonly who?: string; readonly configuration?: object; readonly tenant?: string } = {},
): ReturnType<typeof call<'SendMessage'>> {
  return await call(jsonRpc, at, 'SendMessage', { message, ...more }, as(who))
}

export async function sendForTask(...given: Parameters<typeof send>): Promise<Task> {
  return taskOf(await send(...given))
}

export async function sendInTime(agents: Agents, ...given: Parameters<typeof send>): Promise<Task> {
  return await inTime(agents, sendForTask(...given))
}
