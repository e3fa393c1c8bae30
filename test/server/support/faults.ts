import { TaskManager, type TaskManagerOptions } from 'a2a-tasks'
import type * as wire from 'a2a-tasks/schemas'
import {
  createRequestHandler,
  type DispatchContext,
  type ErrorContext,
  type Execute,
  type RequestHandler,
  type RequestHandlerOptions,
} from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { expect, onTestFinished } from 'vitest'

/** An answer of JSON-RPC, or one event of a stream of them. */
export interface Answer {
  readonly jsonrpc: '2.0'
  readonly id: string | number | null
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

export interface Agent {
  readonly handler: RequestHandler
  readonly tasks: TaskManager
  readonly clock: ManualClock
  /** What `onError` received. Whatever a test leaves in here fails it. */
  readonly errors: { readonly error: unknown; readonly context: ErrorContext }[]
  /** Answers with anything but a stream. */
  readonly call: (method: string, params?: unknown, context?: DispatchContext) => Promise<Answer>
  /** Answers with the result, which must be one. */
  readonly result: <T>(method: string, params?: unknown, context?: DispatchContext) => Promise<T>
  readonly send: (text: string, more?: Sending) => Promise<wire.Task>
  readonly stream: (text: string, more?: Sending) => Promise<AsyncIterableIterator<wire.StreamResponse>>
  readonly get: (id: string) => Promise<wire.Task>
  /** Any body as it is. */
  readonly raw: (body: unknown, context?: DispatchContext) => Promise<Answer>
}

export interface Sending extends Partial<wire.Message> {
  readonly configuration?: object
}

let ids = 0

export function params(text: string, { configuration, ...more }: Sending = {}): object {
  ids += 1
  const message = { messageId: `m-${ids}`, role: 'ROLE_USER', parts: [{ text }], ...more }
  return { message, ...(configuration && { configuration }) }
}

export type AgentOptions = Partial<Omit<RequestHandlerOptions, 'execute' | 'tasks' | 'clock'>> & {
  readonly tasks?: (options: TaskManagerOptions) => TaskManager
}

/** An agent without HTTP, whose time stands still. */
export function agent(execute: Execute, options: AgentOptions = {}): Agent {
  const { tasks: make = (given: TaskManagerOptions) => new TaskManager(given), ...rest } = options
  const clock = new ManualClock()
  const tasks = make({ clock, eventLogSize: 10_000 })
  const errors: Agent['errors'] = []
  const handler = createRequestHandler({
    anonymous: 'shared',
    card: { name: 'Faults', url: 'https://faults.example' },
    onError: (error, context) => errors.push({ error, context }),
    ...rest,
    execute,
    tasks,
    clock,
  })
  onTestFinished(() => {
    expect(errors).toEqual([])
  })

  const raw = async (body: unknown, context?: DispatchContext): Promise<Answer> => {
    const answer = await handler.dispatch(body, context)
    if (Symbol.asyncIterator in answer) throw new Error('The answer is a stream')
    return answer as unknown as Answer
  }
  const call: Agent['call'] = (method, given, context) =>
    raw({ jsonrpc: '2.0', id: 1, method, params: given }, context)
  const result = async <T>(method: string, given?: unknown, context?: DispatchContext): Promise<T> => {
    const answer = await call(method, given, context)
    if (answer.error !== undefined) throw new Error(JSON.stringify(answer.error))
    return answer.result as T
  }
  return {
    ...{ handler, tasks, clock, errors, call, result, raw },
    async send(text, more) {
      const { task } = await result<wire.SendMessageResponse>('SendMessage', params(text, more))
      if (task === undefined) throw new Error('There is no task')
      return task
    },
    async stream(text, more) {
      const body = { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: params(text, more) }
      const answer = await handler.dispatch(body)
      if (!(Symbol.asyncIterator in answer)) throw new Error(JSON.stringify(answer))
      return results(answer)
    },
    get: (id) => result('GetTask', { id }),
  }
}

async function* results(answers: AsyncIterable<object>): AsyncGenerator<wire.StreamResponse, undefined> {
  for await (const answer of answers as AsyncIterable<Answer>) yield answer.result as wire.StreamResponse
}

/** The fields that an error finds fault with. */
export function fieldsOf({ error }: Answer): string[] {
  const details = (error?.data ?? []) as { fieldViolations?: { field: string }[] }[]
  return details.flatMap(({ fieldViolations = [] }) => fieldViolations.map(({ field }) => field))
}

export function textsOf(messages: readonly wire.Message[] | undefined): string[] {
  return (messages ?? []).map(({ parts }) => parts.map(({ text = '' }) => text).join(''))
}

export function artifactTexts({ artifacts = [] }: wire.Task): string[] {
  return artifacts.map(({ parts }) => parts.map(({ text = '' }) => text).join(''))
}
