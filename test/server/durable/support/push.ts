/** Several processes that share their tasks and webhooks, each with its own clock: one whose clock stands still is dead. */
import { setImmediate as turn } from 'node:timers/promises'
import { DurableTaskManager, memoryStore, type TaskDocument, type TaskStore } from 'a2a-tasks/durable'
import type { DurableTaskManagerOptions } from 'a2a-tasks/durable'
import type { TaskPushNotificationConfig } from 'a2a-tasks/schemas'
import {
  createRequestHandler,
  type ErrorContext,
  type Execute,
  type Principal,
  type PushHealth,
  type PushOptions,
  type RequestHandler,
} from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { onTestFinished } from 'vitest'
import { FaultyStore } from './replicas.js'
import { endOf, receiver } from '../../push/support/push.js'

export interface PushReplica {
  readonly handler: RequestHandler<Principal, DurableTaskManager>
  readonly tasks: DurableTaskManager
  readonly clock: ManualClock
  readonly store: FaultyStore
  readonly errors: { readonly error: unknown; readonly context: ErrorContext }[]
  /** The result of a request in A2A 1.0, or the version that is given; rejects with the error as JSON. */
  readonly call: <T>(method: string, params: object, version?: string) => Promise<T>
  readonly create: (taskId: string, config: object, version?: string) => Promise<Made>
  readonly list: (taskId: string) => Promise<string[]>
  readonly remove: (taskId: string, id: string) => Promise<null>
}

export type Made = TaskPushNotificationConfig & { readonly id: string }

export interface PushReplicaOptions {
  readonly push?: PushOptions
  readonly manager?: Partial<DurableTaskManagerOptions>
  readonly execute?: Execute
  /** Called for each error, beside `errors`. */
  readonly onError?: () => void
}

export interface SharedStore {
  readonly store: TaskStore
  /** Another process. */
  readonly open: (options?: PushReplicaOptions) => PushReplica
  /** All documents of a kind. */
  readonly documents: (kind: string) => Promise<readonly TaskDocument[]>
}

/** A store, and as many processes as are opened. `wrap`: the store as the processes see it. */
export function sharedStore(wrap: (store: TaskStore) => TaskStore = (store) => store): SharedStore {
  const time = new ManualClock()
  const store = memoryStore({ now: () => time.now() })
  return {
    store,
    open: (options) => open(wrap(store), options ?? {}),
    documents: (kind) => store.allDocuments(kind, undefined, 1_000),
  }
}

function open(
  shared: TaskStore,
  { push, manager, execute = () => 'done', onError }: PushReplicaOptions,
): PushReplica {
  const clock = new ManualClock()
  const store = new FaultyStore(shared)
  const tasks = new DurableTaskManager({ store: store.asStore, clock, onError: () => undefined, ...manager })
  const errors: PushReplica['errors'] = []
  const handler = createRequestHandler<Principal, DurableTaskManager>({
    card: { name: 'Push', url: 'https://push.example' },
    onError(error, context) {
      errors.push({ error, context })
      onError?.()
    },
    push: { allow: ['127.0.0.1'], random: () => 1, ...push },
    ...{ clock, execute, tasks },
  })
  onTestFinished(async () => {
    await endOf(handler.close({ graceMs: 1 }), clock)
    await endOf(tasks.destroy(), clock)
  })
  const call: PushReplica['call'] = async <T>(method: string, params: object, version?: string) => {
    const body = { jsonrpc: '2.0', id: 1, method, params }
    const context = version === undefined ? {} : { version }
    const answer = (await handler.dispatch(body, context)) as { result?: T; error?: object }
    if (answer.error !== undefined) throw new Error(JSON.stringify(answer.error))
    return answer.result as T
  }
  return {
    ...{ handler, tasks, clock, store, errors, call },
    create: (taskId, config, version) =>
      call(
        version === '0.3' ? 'tasks/pushNotificationConfig/set' : 'CreateTaskPushNotificationConfig',
        version === '0.3' ? { taskId, pushNotificationConfig: config } : { taskId, ...config },
        version,
      ),
    async list(taskId) {
      const { configs } = await call<{ configs: Made[] }>('ListTaskPushNotificationConfigs', { taskId })
      return configs.map(({ id }) => id)
    },
    remove: (taskId, id) => call('DeleteTaskPushNotificationConfig', { taskId, id }),
  }
}

/** A new task. */
export async function task({ tasks }: PushReplica): Promise<string> {
  const { id } = await tasks.createTask({ skill: 'test' })
  return id
}

export interface Registering extends PushReplicaOptions {
  /** How the webhook answers. */
  readonly replies?: Parameters<typeof receiver>
  /** The version in which it is registered. */
  readonly version?: string
  /** What is waited for, as `a` and as the store has it. */
  readonly state?: string
}

/** Two processes, and a task whose webhook `a` has registered and tells. */
export async function registered({ replies = [], version, state = 'idle', ...options }: Registering = {}) {
  const hook = await receiver(...replies)
  const world = sharedStore()
  const [a, b] = [world.open(options), world.open(options)]
  const id = await task(a)
  const config = await a.create(id, { url: hook.url }, version)
  for (const at of [a, b]) await stateIs(at, id, state)
  return { hook, world, a, b, id, config }
}

/** Of the only configuration that the task has, as this process tells it. */
export async function healthAt({ handler }: PushReplica, taskId: string): Promise<PushHealth> {
  const [health] = await handler.push.health(taskId)
  if (health === undefined) throw new Error('There is no configuration')
  return health
}

export async function stateIs(at: PushReplica, taskId: string, state: string): Promise<void> {
  while ((await healthAt(at, taskId)).state !== state) await turn()
}

/** Lets everything happen that needs no time, requests on loopback included, as long as `turns` says. */
export async function calm(turns = 200): Promise<void> {
  for (let count = 0; count < turns; count += 1) await turn()
}

/** The ids of notifications, without the task's and the configuration's: generations, as they came. */
export function generationsOf(received: readonly { readonly headers: object }[]): number[] {
  return received.map(({ headers }) => {
    const { 'x-a2a-notification-id': id } = headers as { 'x-a2a-notification-id'?: string }
    return Number(id?.split('/')[2])
  })
}
