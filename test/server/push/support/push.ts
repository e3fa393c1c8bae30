/**
 * Webhooks for tests: receivers on loopback, and agents that may send there.
 *
 * @module
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import type { TaskManager } from 'a2a-tasks'
import type * as wire from 'a2a-tasks/schemas'
import {
  createRequestHandler,
  type ErrorContext,
  type Principal,
  type PushOptions,
  type RequestHandler,
  type RequestHandlerOptions,
} from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { onTestFinished } from 'vitest'

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: wire.StreamResponse
  readonly path: string
}

/** A status, or what answers itself. */
type Reply = number | ((response: ServerResponse) => void)

interface Receiver {
  readonly url: string
  readonly port: number
  /** All requests, in the order in which they came. */
  readonly received: Received[]
  /** What has been answered with 2xx. */
  readonly accepted: Received[]
  /** How the next requests are answered; with 204 when there is none left. */
  readonly replies: Reply[]
  /** Waits until so many requests have come. */
  readonly arrived: (count: number) => Promise<Received[]>
}

/** A webhook on its own port until the test is over. */
export async function receiver(...replies: Reply[]): Promise<Receiver> {
  const received: Received[] = []
  const accepted: Received[] = []
  let wake = (): void => undefined
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      const { headers, url: path = '' } = request
      const one = { headers, path, body: JSON.parse(body) as wire.StreamResponse }
      received.push(one)
      const reply = replies.shift() ?? 204
      if (typeof reply === 'number') {
        if (reply < 300) accepted.push(one)
        response.writeHead(reply).end()
      } else {
        reply(response)
      }
      wake()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    ...{ port, received, accepted, replies },
    async arrived(count) {
      while (received.length < count) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return received
    },
  }
}

export interface PushAgent<P extends Principal> {
  readonly handler: RequestHandler<P>
  readonly tasks: TaskManager
  readonly clock: ManualClock
  readonly errors: { readonly error: unknown; readonly context: ErrorContext }[]
  /** The result of a request in A2A 1.0, or the version that is given; rejects with the error as JSON. */
  readonly call: <T>(method: string, params: object, context?: CallContext<P>) => Promise<T>
  /** A task without a run. */
  readonly task: () => string
  readonly create: (taskId: string, config: object, context?: CallContext<P>) => Promise<Made>
}

type Made = wire.TaskPushNotificationConfig & { readonly id: string }

interface CallContext<P extends Principal> {
  readonly principal?: P
  readonly version?: string
}

type PushAgentOptions<P extends Principal> = Partial<Omit<RequestHandlerOptions<P>, 'push'>> & {
  readonly push?: PushOptions
}

/** An agent whose time stands still, and that may send to loopback. Pauses are as long as they may be. */
export function pushAgent<P extends Principal = Principal>(options: PushAgentOptions<P> = {}): PushAgent<P> {
  const clock = new ManualClock()
  const errors: PushAgent<P>['errors'] = []
  const handler = createRequestHandler<P>({
    card: { name: 'Push', url: 'https://push.example' },
    execute: () => 'done',
    onError: (error, context) => errors.push({ error, context }),
    clock,
    ...options,
    push: { allow: ['127.0.0.1'], random: () => 1, ...options.push },
  })
  onTestFinished(() => endOf(handler.close({ graceMs: 1 }), clock))
  const { tasks } = handler
  const call: PushAgent<P>['call'] = async <T>(method: string, params: object, context?: CallContext<P>) => {
    const body = { jsonrpc: '2.0', id: 1, method, params }
    const answer = (await handler.dispatch(body, context)) as { result?: T; error?: object }
    if (answer.error !== undefined) throw new Error(JSON.stringify(answer.error))
    return answer.result as T
  }
  return {
    ...{ handler, tasks, clock, errors, call },
    task: () => tasks.createTask({ skill: 'test' }).id,
    create: (taskId, config, context) =>
      call('CreateTaskPushNotificationConfig', { taskId, ...config }, context),
  }
}

/** Waits for what time brings about. */
export async function endOf<T>(promise: Promise<T>, clock: ManualClock): Promise<T> {
  const settled = new Set<unknown>()
  const settle = (): unknown => settled.add(promise)
  promise.then(settle, settle)
  while (settled.size === 0) {
    clock.advance(1)
    await turn()
  }
  return promise
}

/** Waits until `isSo`: what it waits for is sure to come, or the test takes too long. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await turn()
}

/** What happened, in a word each: `task working`, `artifact one`, `completed`. */
export function summariesOf(received: readonly Received[]): string[] {
  return received.map(({ body: { task, statusUpdate, artifactUpdate } }) => {
    if (task !== undefined) return `task ${stateOf(task.status)}`
    if (statusUpdate !== undefined) return stateOf(statusUpdate.status)
    return `artifact ${artifactUpdate?.artifact.parts.map(({ text }) => text).join('') ?? ''}`
  })
}

function stateOf({ state }: wire.TaskStatus): string {
  return state.replace('TASK_STATE_', '').toLowerCase()
}
