/**
 * One process of a durable function under test: a manager and a handler, until it crashes.
 *
 * @module
 */
import type { Message, Task } from '../../core/task.js'
import { DurableTaskManager } from '../../durable/durable-task-manager.js'
import type { DurableTaskManagerOptions } from '../../durable/options.js'
import type { Clock } from '../../runtime/clock.js'
import type { Principal } from '../../server/caller.js'
import type { RequestHandlerOptions } from '../../server/options.js'
import { createRequestHandler, type RequestHandler } from '../../server/request-handler.js'
import { CrashingStore, type CrashPoint } from './crashing-store.js'
import type { Replica, Shared, Signal } from './trial.js'

type Tasks = DurableTaskManager
export type Execute = RequestHandlerOptions<Principal, Tasks>['execute']

/** Options of the handler and the manager of each process. */
export interface ReplicaOptions {
  readonly execute: Execute
  readonly manager: Partial<Omit<DurableTaskManagerOptions, 'store' | 'clock'>>
  readonly handler: Partial<Omit<RequestHandlerOptions<Principal, Tasks>, 'tasks' | 'execute' | 'clock'>>
}

/** The owner of the tasks. It is known, so that a message that is sent again is recognized. */
const PRINCIPAL: Principal = { id: 'test' }
/** The header that names the principal of a request. */
const SENDER = 'x-sender'

function principalIn({ headers }: Request): { readonly id: string } {
  return { id: decodeURIComponent(headers.get(SENDER) ?? '') }
}
const URL_OF_AGENT = 'https://agent.test'

export class LocalReplica implements Replica {
  readonly errors: unknown[] = []
  readonly #store: CrashingStore
  readonly #tasks: Tasks
  readonly #handler: RequestHandler<Principal, Tasks>

  constructor(
    { execute, manager, handler }: ReplicaOptions,
    { store, clock, recorder }: Shared,
    point: CrashPoint | undefined,
  ) {
    this.#store = new CrashingStore(store, point, recorder.onEvents)
    const own: Clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      schedule: (callback, delayMs) =>
        clock.schedule(() => {
          if (!this.isCrashed) callback()
        }, delayMs),
    }
    const onError = (error: unknown): void => {
      this.errors.push(error)
    }
    this.#tasks = new DurableTaskManager({
      ...{ recover: 'resume', maxRestarts: 1_000_000, leaseMs: 3_000, sweepIntervalMs: 1_000, onError },
      ...manager,
      ...{ store: this.#store.asStore, clock: own },
    })
    this.#handler = createRequestHandler<Principal, Tasks>({
      ...{ card: { name: 'Test', url: URL_OF_AGENT }, principalOf: (id) => ({ id }), onError },
      ...handler,
      ...{ authenticate: principalIn, clock: own, tasks: this.#tasks },
      execute: (run) => execute(recorder.wrap(run)),
    })
  }

  get isCrashed(): boolean {
    return this.#store.isCrashed
  }

  get isBusy(): boolean {
    return this.#store.isBusy
  }

  get writes(): number {
    return this.#store.writes
  }

  async send(message: Message, sender = PRINCIPAL.id): Promise<void> {
    const body = { message: { ...message, role: 'ROLE_USER' }, configuration: { returnImmediately: true } }
    const request = new Request(`${URL_OF_AGENT}/message:send`, {
      ...{ method: 'POST', body: JSON.stringify(body) },
      headers: {
        'content-type': 'application/json',
        'a2a-version': '1.0',
        [SENDER]: encodeURIComponent(sender),
      },
    })
    const response = await this.#store.survive(this.#handler.fetch(request))
    if (response === undefined) return
    const text = await this.#store.survive(response.text())
    if (text === undefined) return
    // The answer of this library's own handler.
    const { task, message: receipt } = JSON.parse(text) as {
      readonly task?: object
      readonly message?: object
    }
    // Another user than the owner of the task does not see it.
    const isTaken = task !== undefined || (sender !== PRINCIPAL.id && receipt !== undefined)
    if (!isTaken) throw new Error(`The agent answered ${response.status}: ${text}`)
  }

  async signal(taskId: string, { signal, value }: Signal): Promise<void> {
    await this.#store.survive(this.#tasks.signal(taskId, signal, value))
  }

  async task(id: string): Promise<Task | undefined> {
    return (await this.#store.survive(this.#tasks.getTask(id))) ?? undefined
  }

  async close(): Promise<void> {
    await this.#handler.close({ graceMs: 0 })
    await this.#tasks.destroy()
  }
}
