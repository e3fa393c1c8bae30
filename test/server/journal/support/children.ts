/** Agents behind sockets, to which runs delegate. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { TaskManager } from 'a2a-tasks'
import { A2AClient, type ClientOptions } from 'a2a-tasks/client'
import {
  createRequestHandler,
  type Execute,
  type RequestHandler,
  type RequestHandlerOptions,
} from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { expect, onTestFinished } from 'vitest'

export interface Child {
  readonly client: A2AClient
  /** Another client of the agent. */
  readonly clientWith: (options: ClientOptions) => A2AClient
  readonly tasks: TaskManager
  readonly handler: RequestHandler
  /** The ids of the messages that it received. */
  readonly received: string[]
  readonly url: string
}

/** An agent behind a socket. */
export async function child(
  execute: Execute,
  options: Pick<RequestHandlerOptions, 'limits' | 'onError'> = {},
): Promise<Child> {
  const tasks = new TaskManager()
  const received: string[] = []
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const handler = createRequestHandler({
    ...options,
    card: { name: 'Airline', url },
    tasks,
    execute: (run) => {
      received.push(run.message.messageId)
      return execute(run)
    },
  })
  server.on('request', toNodeListener(handler.fetch))
  onTestFinished(async () => {
    await handler.close({ graceMs: 1 })
    server.closeAllConnections()
    server.close()
  })
  const clientWith = (given: ClientOptions): A2AClient => new A2AClient({ ...given, card: handler.card })
  return { client: clientWith({}), clientWith, tasks, handler, received, url }
}

/** Waits for what needs the network. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  await expect.poll(condition).toBe(true)
}

/** A `fetch` that keeps the signals of its requests. */
export function watchedFetch(): { readonly fetch: typeof fetch; readonly isAtWork: () => boolean } {
  const signals: AbortSignal[] = []
  let open = 0
  return {
    fetch: async (input, init) => {
      if (init?.signal) signals.push(init.signal)
      open += 1
      try {
        return await fetch(input, init)
      } finally {
        open -= 1
      }
    },
    isAtWork: () => open > 0 || signals.at(-1)?.aborted !== true,
  }
}
