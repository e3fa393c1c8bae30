/** An agent that spends what it is told. */
import type { Task, TaskManager } from 'a2a-tasks'
import type { DurableTaskManager } from 'a2a-tasks/durable'
import {
  createRequestHandler,
  type Execute,
  type Principal,
  type RequestHandler,
  type RequestHandlerOptions,
} from 'a2a-tasks/server'
import type { ManualClock } from 'a2a-tasks/testing'
import { setImmediate as turn } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { pass } from '../../durable/support/replicas.js'
import { as, authenticate, call, jsonRpc, taskOf, user } from '../../spec/support/agent.js'

type Tasks = TaskManager | DurableTaskManager
type Options = Partial<RequestHandlerOptions<Principal, Tasks>>

export const DAY = 86_400_000

export interface Agent {
  readonly handler: RequestHandler<Principal, Tasks>
  readonly tasks: Tasks
  readonly errors: unknown[]
  /** The task when it rests, or the error. */
  readonly say: (owner: string, text: string, taskId?: string) => Promise<Task>
  /** The error of a message that is refused. */
  readonly refusal: (owner: string, text: string, taskId?: string) => Promise<unknown>
}

/** Spends what the messages say: `0.3 0.4` in two steps. Asks at `?`. */
const spendAsTold: Execute = async (run) => {
  for (const [n, amount] of run.text.split(' ').entries()) {
    if (amount === '?') await run.requireInput('Go on?')
    else await run.step(`step ${n}`, () => run.spend({ cost: Number(amount) }))
  }
  return 'done'
}

export function serve(tasks: Tasks, clock: ManualClock, options: Options): Agent {
  const errors: unknown[] = []
  const handler = createRequestHandler<Principal, Tasks>({
    card: { name: 'Agent', url: 'http://agent.test' },
    onError: (error) => errors.push(error),
    ...{ tasks, clock, authenticate, principalOf: (id) => ({ id }), execute: spendAsTold, ...options },
  })
  onTestFinished(async () => {
    let isClosed = false
    const closed = handler.close({ graceMs: 1 }).finally(() => (isClosed = true))
    await pass(clock, () => isClosed)
    await closed
    await tasks.destroy()
  })
  const send = (owner: string, text: string, taskId?: string): ReturnType<typeof call> => {
    const message = user(text, taskId === undefined ? {} : { taskId })
    const params = { message, configuration: { returnImmediately: true } }
    return call(jsonRpc, { handler }, 'SendMessage', params, as(owner))
  }
  return {
    ...{ handler, tasks, errors },
    async say(owner, text, taskId) {
      const { id } = taskOf((await send(owner, text, taskId)) as never)
      for (;;) {
        const task = await tasks.getTask(id)
        if (task !== null && !['submitted', 'working'].includes(task.state)) return task
        await turn()
      }
    },
    async refusal(owner, text, taskId) {
      const { error } = await send(owner, text, taskId)
      return error
    },
  }
}
