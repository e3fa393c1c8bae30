/** Several processes that share their tasks, each with a handler and its own manager, over one store. */
import {
  DurableTaskManager,
  memoryStore,
  type DurableTaskManagerOptions,
  type StoreHints,
  type TaskStore,
} from 'a2a-tasks/durable'
import {
  createRequestHandler,
  type ErrorContext,
  type Execute,
  type Principal,
  type RequestHandler,
  type RequestHandlerOptions,
} from 'a2a-tasks/server'
import type { Task } from 'a2a-tasks/schemas'
import { ManualClock, sequentialIds } from 'a2a-tasks/testing'
import { setImmediate as turn } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import {
  call,
  gate,
  jsonRpc,
  open,
  ORIGIN,
  stateName,
  taskOf,
  user,
  type EventStream,
  type Gate,
} from '../../spec/support/agent.js'
import { EVERY } from '../../../compat/support/agent.js'

export interface Replica {
  readonly handler: RequestHandler<Principal, DurableTaskManager>
  readonly tasks: DurableTaskManager
  /** What `onError` received. */
  readonly errors: { readonly error: unknown; readonly context: ErrorContext }[]
  readonly store: FaultyStore
}

export interface Replicas {
  readonly a: Replica
  readonly b: Replica
  readonly clock: ManualClock
}

export interface ReplicasOptions extends Partial<Omit<RequestHandlerOptions, 'tasks' | 'execute' | 'clock'>> {
  readonly manager?: Partial<DurableTaskManagerOptions>
}

export interface Cluster {
  readonly all: readonly Replica[]
  readonly clock: ManualClock
  /** What they share. */
  readonly store: TaskStore
}

/** Two processes. `b` does what `a` does, unless told otherwise. */
export function replicas(
  execute: Execute | readonly [a: Execute, b: Execute],
  options: ReplicasOptions = {},
): Replicas {
  const { all, clock } = cluster(typeof execute === 'function' ? [execute, execute] : execute, options)
  const [a, b] = all
  if (a === undefined || b === undefined) throw new Error('There are two')
  return { a, b, clock }
}

/** A process for each executor. `wayOf` is how each reaches the store. */
export function cluster(
  executes: readonly Execute[],
  { manager, ...options }: ReplicasOptions = {},
  wayOf: (store: TaskStore, at: number) => TaskStore = (store) => store,
): Cluster {
  const clock = new ManualClock()
  const shared = memoryStore({ now: () => clock.now() })
  const ids = sequentialIds()
  const messageIds = sequentialIds('id')
  const all = executes.map((execute, at): Replica => {
    const store = new FaultyStore(wayOf(shared, at))
    const onError = (): void => undefined
    const tasks = new DurableTaskManager({
      store: store.asStore,
      clock,
      onError,
      generateId: ids,
      ...manager,
    })
    const errors: { error: unknown; context: ErrorContext }[] = []
    const handler = createRequestHandler<Principal, DurableTaskManager>({
      anonymous: 'shared',
      card: { name: 'Test', url: ORIGIN },
      dialects: EVERY,
      clock,
      generateId: messageIds,
      onError: (error, context) => errors.push({ error, context }),
      ...options,
      tasks,
      execute,
    })
    onTestFinished(() => tasks.destroy())
    return { handler, tasks, errors, store }
  })
  return { all, clock, store: shared }
}

/** A way to the store that can break. */
export class FaultyStore {
  readonly asStore: TaskStore
  #broken: ReadonlySet<string> | 'all' = new Set()
  #isDeaf = false
  /** Each method that was called. */
  readonly calls: string[] = []

  constructor(store: TaskStore) {
    this.asStore = new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (name === 'hints') return this.#hintsOf(target)
        if (typeof value !== 'function' || typeof name !== 'string') return value
        return (...given: unknown[]) => {
          this.calls.push(name)
          if (this.#broken === 'all' || this.#broken.has(name))
            return Promise.reject(new Error('no connection'))
          // What a method of a store gives is a promise.
          return Reflect.apply(value, target, given) as Promise<unknown>
        }
      },
    })
  }

  /** From now on nothing gets through, or none of these methods. */
  fail(...methods: string[]): void {
    this.#broken = methods.length === 0 ? 'all' : new Set(methods)
  }

  /** From now on it receives no hints of what others do, and has to poll. */
  deafen(): void {
    this.#isDeaf = true
  }

  #hintsOf({ hints }: TaskStore): StoreHints | undefined {
    if (hints === undefined) return undefined
    const listen: StoreHints['listen'] = (onHint, onGap) =>
      hints.listen((taskId) => {
        if (!this.#isDeaf) onHint(taskId)
      }, onGap)
    return { publish: (taskIds) => hints.publish(taskIds), listen }
  }

  mend(): void {
    this.#broken = new Set()
  }
}

/** A way to the store on which one call of `method` is held up, before it is carried out or after. */
export function holdUp(
  method: keyof TaskStore,
  when: 'before' | 'after' = 'before',
): {
  readonly way: (store: TaskStore) => TaskStore
  /** Of the call that comes next. */
  readonly next: () => { readonly called: Promise<void>; readonly go: () => void }
} {
  let stop: { readonly called: Gate<void>; readonly go: Gate<void> } | undefined
  const wait = async (name: string | symbol, at: typeof when): Promise<void> => {
    if (name !== method || at !== when || stop === undefined) return
    const { called, go } = stop
    stop = undefined
    called.open()
    await go.opened
  }
  const way = (store: TaskStore): TaskStore =>
    new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return async (...given: unknown[]) => {
          await wait(name, 'before')
          // What a method of a store gives is a promise.
          const result = await (Reflect.apply(value, target, given) as Promise<unknown>)
          await wait(name, 'after')
          return result
        }
      },
    })
  return {
    way,
    next: () => {
      const present = { called: gate(), go: gate() }
      stop = present
      return { called: present.called.opened, go: () => present.go.open() }
    },
  }
}

/** Lets time pass, a second at a time, until `condition` holds. */
export async function pass(clock: ManualClock, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let seconds = 0; seconds < 900; seconds += 1) {
    for (let turns = 0; turns < 5; turns += 1) await turn()
    if (await condition()) return
    clock.advance(1_000)
  }
  throw new Error('It did not come to pass in fifteen minutes')
}

/** Lets everything happen that needs no time. */
export async function settle(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await turn()
}

export async function send(at: Replica, text: string, taskId?: string): Promise<Task> {
  return taskOf(await call(jsonRpc, at, 'SendMessage', messageOf(text, taskId)))
}

/** Answers as soon as there is a task. */
export async function begin(at: Replica, text: string, taskId?: string): Promise<Task> {
  const configuration = { returnImmediately: true }
  return taskOf(await call(jsonRpc, at, 'SendMessage', { ...messageOf(text, taskId), configuration }))
}

export async function stream(at: Replica, text: string, taskId?: string): Promise<EventStream> {
  return await open(jsonRpc, at, 'SendStreamingMessage', messageOf(text, taskId))
}

export async function subscribe(at: Replica, id: string, lastEventId?: string): Promise<EventStream> {
  const init = lastEventId === undefined ? {} : { headers: { 'last-event-id': lastEventId } }
  return await open(jsonRpc, at, 'SubscribeToTask', { id }, init)
}

export async function get(at: Replica, id: string): Promise<Task> {
  const { result, error } = await call(jsonRpc, at, 'GetTask', { id })
  if (result === undefined) throw new Error(JSON.stringify(error))
  return result
}

/** What was said, in order. */
export function saidIn({ history = [] }: Task): string[] {
  return history.map(({ parts }) => parts.map(({ text = '' }) => text).join(''))
}

export const textOf = (message: { readonly parts: readonly { readonly text?: string }[] }): string =>
  message.parts.map(({ text = '' }) => text).join('')

function messageOf(text: string, taskId: string | undefined): object {
  return { message: user(text, taskId === undefined ? {} : { taskId }) }
}

export async function stateAt(at: Replica, id: string): Promise<string> {
  return stateName((await get(at, id)).status.state)
}

/** The texts of the task's artifacts. */
export async function resultOf(at: Replica, id: string): Promise<string[]> {
  const { artifacts = [] } = await get(at, id)
  return artifacts.map((artifact) => textOf(artifact))
}
