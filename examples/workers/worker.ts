/**
 * An agent on Cloudflare Workers. Its tasks live in a Durable Object, which saves each of them in its storage and loads
 * them again after an eviction or a deployment.
 */
import { TaskManager, type TaskSnapshot, restoreTasks } from 'a2a-tasks'
import { createRequestHandler, textOf, type RequestHandler } from 'a2a-tasks/server'

/** The used part of the types of Workers. In your project, `wrangler types` writes all of them. */
interface DurableObjectState {
  readonly storage: {
    list(options: { readonly prefix: string }): Promise<Map<string, unknown>>
    put(key: string, value: unknown): Promise<void>
    delete(key: string): Promise<unknown>
  }
  blockConcurrencyWhile(load: () => Promise<void>): Promise<void>
  waitUntil(work: Promise<unknown>): void
}
interface Env {
  readonly AGENT: {
    getByName(name: string): { fetch(request: Request): Promise<Response> }
  }
  readonly AGENT_URL: string
}

export class Agent {
  readonly #state: DurableObjectState
  readonly #tasks = new TaskManager({ whenFull: 'evict', eventLogSize: 10_000 })
  readonly #handler: RequestHandler

  constructor(state: DurableObjectState, env: Env) {
    this.#state = state
    // No request is handled before the saved tasks are in memory.
    void state.blockConcurrencyWhile(() => this.#load())
    this.#handler = createRequestHandler({
      card: { name: 'Greeter', url: env.AGENT_URL },
      tasks: this.#tasks,
      async execute(run) {
        if (run.messages.length > 1) return `Hello ${run.text}`
        return `Hello ${textOf(await run.requireInput('What is your name?'))}`
      },
    })
  }

  fetch(request: Request): Promise<Response> {
    return this.#handler.fetch(request)
  }

  async #load(): Promise<void> {
    const tasks = this.#tasks
    const { storage } = this.#state
    const save = (task: TaskSnapshot): void => void storage.put(`task:${task.id}`, task)
    const remove = ({ id }: TaskSnapshot): void => void storage.delete(`task:${id}`)
    const saved = await storage.list({ prefix: 'task:' })
    // `save` wrote them.
    restoreTasks(tasks, [...saved.values()] as TaskSnapshot[])
    tasks.on('task:created', save)
    tasks.on('task:updated', save)
    tasks.on('task:expired', remove)
    tasks.on('task:evicted', remove)
    // The work on these tasks ended with the object that was evicted.
    for (const { id, state } of tasks.listTasks()) {
      if (state !== 'submitted' && state !== 'working') continue
      tasks.updateTask(id, { state: 'failed', message: 'The agent was restarted' })
    }
    // Work continues after the response, and keeps the object in memory until the task ends or waits for the user.
    tasks.on('task:stateChange', ({ taskId, to }) => {
      if (to !== 'working') return
      const working = tasks.waitFor(taskId, { until: 'interrupted' })
      // It rejects when the task is removed.
      this.#state.waitUntil(working.catch(() => undefined))
    })
  }
}

export default {
  // One object serves all clients. For an object per user or tenant, pass its id to getByName.
  fetch: (request: Request, env: Env): Promise<Response> => env.AGENT.getByName('agent').fetch(request),
}
