/**
 * An agent whose function is durable, in process: by a store, and by the build that is measured.
 */
import type * as Durable from 'a2a-tasks/durable'
import type * as Server from 'a2a-tasks/server'
import { sendBody, type RpcAnswer } from './requests.js'

export interface Agent {
  readonly tasks: Durable.DurableTaskManager
  /** Sends a message that no other one is like, and resolves to the id of its task when that has ended, or asks. */
  readonly send: (options?: SendOptions) => Promise<string>
  readonly close: () => Promise<void>
}

interface SendOptions {
  readonly taskId?: string
  /** Resolves when there is a task. */
  readonly returnImmediately?: boolean
}

interface AgentOptions {
  /** The specifier of the build. */
  readonly url: string
  readonly store: Durable.TaskStore
  readonly execute: (run: Server.Run) => Promise<string>
  readonly manager?: Partial<Durable.DurableTaskManagerOptions>
}

export async function openAgent({ url, store, execute, manager }: AgentOptions): Promise<Agent> {
  const file = (path: string): string => new URL(path, url).href
  // What was built from these folders of src has their exports.
  const { createRequestHandler } = (await import(file('server/index.js'))) as typeof Server
  const { DurableTaskManager } = (await import(file('durable/index.js'))) as typeof Durable
  const tasks = new DurableTaskManager({ store, ...manager })
  const handler = createRequestHandler({
    ...{ card: { name: 'Steps', url: 'http://localhost/' }, tasks, execute },
    ...{ anonymous: 'shared' as const, limits: { maxRuns: 1_000 } },
  })
  return {
    tasks,
    send: async ({ taskId, ...configuration } = {}) => {
      const message = {
        ...{ messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'go' }] },
        ...(taskId !== undefined && { taskId }),
      }
      const body = { ...sendBody(0), params: { message, configuration } }
      // It is an answer of JSON-RPC.
      const answer = (await handler.dispatch(body)) as RpcAnswer
      const { task } = answer.result ?? {}
      if (task === undefined) throw new Error(JSON.stringify(answer))
      return task.id
    },
    close: async () => {
      await handler.close({ graceMs: 0 })
      await tasks.destroy()
    },
  }
}

/** Runs `work` so many times, at most `width` of them at a time. */
export async function inParallel(count: number, width: number, work: () => Promise<unknown>): Promise<void> {
  let left = count
  const worker = async (): Promise<void> => {
    while (left-- > 0) await work()
  }
  await Promise.all(Array.from({ length: width }, worker))
}

/** The value below which a share of them lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.ceil(share * sorted.length) - 1] ?? NaN
}
