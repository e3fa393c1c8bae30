/**
 * Questions with a schema against those without, asked and answered by the same agent, in process.
 *
 * One is a message, a question, its answer in words, and the end of the task.
 */
import type * as Core from 'a2a-tasks'
import type * as Durable from 'a2a-tasks/durable'
import type * as Server from 'a2a-tasks/server'
import * as z from 'zod'
import type { Build } from './build.js'
import { compare, type Variant } from './harness.js'
import { timesTheFloor } from './report.js'
import type { RpcAnswer } from './requests.js'
import type { Case } from './workload.js'

type Kind = 'typed' | 'plain'

const ASKED = 100
/** Made once, as agents do. */
const CITY = z.string()

async function openAsking({ url }: Build, isStored: boolean): Promise<(kind: Kind) => Variant> {
  const file = (path: string): string => new URL(path, url).href
  // What was built from these folders of src has their exports.
  const { TaskManager } = (await import(file('index.js'))) as typeof Core
  const { createRequestHandler, textOf } = (await import(file('server/index.js'))) as typeof Server
  const { DurableTaskManager, memoryStore } = (await import(file('durable/index.js'))) as typeof Durable
  const execute: Server.Execute = async (run) =>
    run.text === 'typed'
      ? await run.requireInput('Where?', { schema: CITY })
      : textOf(await run.requireInput('Where?'))
  const common = { card: { name: 'Asks', url: 'http://localhost/' }, execute }
  const handler = isStored
    ? createRequestHandler({ ...common, tasks: new DurableTaskManager({ store: memoryStore() }) })
    : createRequestHandler({ ...common, tasks: new TaskManager({ whenFull: 'evict' }) })
  const send = async (text: string, taskId?: string): Promise<string> => {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] }
    const params = { message: taskId === undefined ? message : { ...message, taskId } }
    // It is an answer of JSON-RPC.
    const answer = (await handler.dispatch({
      ...{ jsonrpc: '2.0', id: 1, method: 'SendMessage', params },
    })) as RpcAnswer
    const { task } = answer.result ?? {}
    if (task?.status.state !== (taskId === undefined ? 'TASK_STATE_INPUT_REQUIRED' : 'TASK_STATE_COMPLETED'))
      throw new Error(JSON.stringify(answer))
    return task.id
  }
  const run = async (kind: Kind): Promise<void> => {
    for (let asked = 0; asked < ASKED; asked++) await send('Rome', await send(kind))
  }
  return (kind) => ({
    ops: ASKED,
    run: () => run(kind),
    ...(kind === 'typed' && {
      close: async () => {
        await handler.close({ graceMs: 0 })
        await handler.tasks.destroy()
      },
    }),
  })
}

export const questionCases: readonly Case[] = [
  ['TaskManager', false] as const,
  ['memoryStore', true] as const,
].map(([over, isStored]) => ({
  name: `a question with a schema, ${over}`,
  run: async (build) => {
    const variant = await openAsking(build, isStored)
    const typed = variant('typed')
    const times = await compare(typed, variant('plain'), { rounds: 21 })
    await typed.close?.()
    return [
      timesTheFloor(`a question with a schema over ${over}`, 'one without', times, { gate: 2, goal: 1.2 }),
    ]
  },
}))
