/** An executor of the SDK 1.3.0 behind the handler of this library, without HTTP. */
import type { AgentExecutor, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server'
import { TaskManager } from 'a2a-tasks'
import { fromAgentExecutor, type FromAgentExecutorOptions, type Ignored } from 'a2a-tasks/migrate'
import type { SendMessageResponse } from 'a2a-tasks/schemas'
import { createRequestHandler, type HandlerLimits, type RequestHandler } from 'a2a-tasks/server'
import type { ManualClock } from 'a2a-tasks/testing'
import { expect, onTestFinished } from 'vitest'
import { Publisher } from './modern-executors.js'

export type Act = (publish: Publisher, context: RequestContext, bus: ExecutionEventBus) => unknown

interface Agent {
  readonly handler: Pick<RequestHandler, 'close'>
  readonly tasks: TaskManager
  readonly errors: unknown[]
  readonly ignored: Ignored[]
  readonly canceled: string[]
  readonly send: (more?: object, configuration?: object) => Promise<SendMessageResponse>
  readonly rpc: (method: string, params: object) => Promise<{ result?: unknown; error?: { code: number } }>
}

export interface Options extends FromAgentExecutorOptions {
  readonly limits?: HandlerLimits
  readonly clock?: ManualClock
  readonly tasks?: TaskManager
  readonly cancelTask?: AgentExecutor['cancelTask']
  readonly principal?: { readonly id: string; readonly plan: string }
}

export function agent(act: Act, given: Options = {}): Agent {
  const { limits, clock, tasks = new TaskManager(), cancelTask, principal, ...options } = given
  const errors: unknown[] = []
  const ignored: Ignored[] = []
  const canceled: string[] = []
  const executor: AgentExecutor = {
    async execute(context, bus) {
      await act(new Publisher(context, bus), context, bus)
    },
    async cancelTask(taskId, bus) {
      canceled.push(taskId)
      await cancelTask?.(taskId, bus)
    },
  }
  const handler = createRequestHandler({
    card: { name: 'Faults', url: 'https://faults.example' },
    execute: fromAgentExecutor(executor, { onIgnored: (each) => ignored.push(each), ...options }),
    ...{ tasks, limits, clock, onError: (error: unknown) => errors.push(error) },
    authenticate: principal && (() => principal),
  })
  onTestFinished(() => handler.close({ graceMs: 1 }))
  const rpc: Agent['rpc'] = async (method, params) => {
    const request = { jsonrpc: '2.0', id: 1, method, params }
    // Not a stream.
    return (await handler.dispatch(request, principal && { principal })) as Awaited<ReturnType<Agent['rpc']>>
  }
  const send: Agent['send'] = async (more = {}, configuration = {}) => {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hi' }], ...more }
    const { result, error } = await rpc('SendMessage', { message, configuration })
    expect(error).toBeUndefined()
    return result as SendMessageResponse
  }
  return { handler, tasks, errors, ignored, canceled, send, rpc }
}
