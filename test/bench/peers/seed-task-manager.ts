/**
 * The algorithm of the TaskManager module that this library grew from, as its documentation describes it: a scan over
 * all tasks on every create, and a JSON round trip for every copy.
 */
import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'

interface SeedTask {
  id: string
  skill: string
  state: string
  input: unknown
  output: unknown
  artifacts: unknown[]
  metadata: unknown
  history: { state: string; timestamp: string }[]
  createdAt: string
  updatedAt: string
  message?: unknown
}

interface CreateParams {
  skill: string
  input?: unknown
  metadata?: unknown
}

const TRANSITIONS: Record<string, string[] | undefined> = {
  submitted: ['working', 'failed', 'canceled'],
  working: ['input-required', 'completed', 'failed', 'canceled'],
  'input-required': ['working', 'failed', 'canceled'],
}

export class SeedTaskManager extends EventEmitter {
  readonly tasks = new Map<string, SeedTask>()
  readonly #expiryMs = 86_400_000
  readonly #maxTasks: number
  readonly #maxInputSize = 1_048_576

  constructor(maxTasks: number) {
    super()
    this.#maxTasks = maxTasks
  }

  /** A manager that holds `count` tasks and has room for more. Creating them there would cost O(count²). */
  static withTasks(count: number, params: CreateParams): SeedTaskManager {
    const manager = new SeedTaskManager(2 * count)
    for (let made = 0; made < count; made++) {
      const maker = new SeedTaskManager(1)
      maker.createTask(params)
      for (const [id, task] of maker.tasks) manager.tasks.set(id, task)
    }
    return manager
  }

  createTask(params: CreateParams): SeedTask {
    const size = sizeOf(params.input) + sizeOf(params.metadata)
    if (size > this.#maxInputSize) throw new Error(`Input size (${size} bytes) exceeds the limit`)
    this.#pruneExpired()
    if (this.tasks.size >= this.#maxTasks) throw new Error(`Maximum task limit reached: ${this.#maxTasks}`)
    const task: SeedTask = {
      id: randomUUID(),
      skill: params.skill,
      state: 'submitted',
      input: params.input ?? null,
      output: null,
      artifacts: [],
      metadata: params.metadata ?? {},
      history: [{ state: 'submitted', timestamp: new Date().toISOString() }],
      createdAt: new Date().toISOString(),
      updatedAt: new Date().toISOString(),
    }
    this.tasks.set(task.id, task)
    this.emit('task:created', task)
    return copy(task)
  }

  updateTask(
    id: string,
    update: { state?: string; output?: unknown; artifacts?: unknown[]; message?: unknown },
  ): SeedTask {
    const task = this.tasks.get(id)
    if (task === undefined) throw new Error(`Task not found: ${id}`)
    const allowed = TRANSITIONS[task.state]
    if (allowed === undefined) throw new Error(`Cannot update task in terminal state: ${task.state}`)
    if (update.state !== undefined) {
      if (!allowed.includes(update.state)) throw new Error(`Invalid transition from ${task.state}`)
      const from = task.state
      task.state = update.state
      task.history.push({ state: update.state, timestamp: new Date().toISOString() })
      this.emit('task:stateChange', { taskId: id, from, to: update.state })
    }
    if (update.output !== undefined) task.output = update.output
    if (update.artifacts) task.artifacts = task.artifacts.concat(update.artifacts)
    if (update.message !== undefined) task.message = update.message
    task.updatedAt = new Date().toISOString()
    this.emit('task:updated', copy(task))
    return copy(task)
  }

  getTask(id: string): SeedTask | null {
    const task = this.tasks.get(id)
    return task === undefined ? null : copy(task)
  }

  #pruneExpired(): void {
    const now = Date.now()
    for (const [id, task] of this.tasks) {
      if (now - new Date(task.createdAt).getTime() > this.#expiryMs) this.tasks.delete(id)
    }
  }
}

function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

function sizeOf(value: unknown): number {
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value))
}
