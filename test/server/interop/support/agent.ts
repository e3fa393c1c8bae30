import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AgentCardInput } from 'a2a-tasks/agent-card'
import {
  createRequestHandler,
  type Principal,
  type RequestHandler,
  type RequestHandlerOptions,
} from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { expect, onTestFinished } from 'vitest'

/** A promise that the test, or the agent, settles by hand. */
export interface Gate<T = void> {
  readonly opened: Promise<T>
  readonly open: (value: T) => void
}

export function gate<T = void>(): Gate<T> {
  let open: (value: T) => void = () => undefined
  const opened = new Promise<T>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

export interface Served<P extends Principal = Principal> {
  /** Where the card says that the agent is. */
  readonly url: string
  readonly handler: RequestHandler<P>
  /** What `onError` received. Whatever a test leaves in here fails it. */
  readonly errors: unknown[]
}

export type Options<P extends Principal> = Omit<RequestHandlerOptions<P>, 'card' | 'onError'> & {
  /** What of the card is not `{ name, url }`. */
  readonly card?: (url: string) => Partial<AgentCardInput>
  /** Where on the server the agent is. */
  readonly path?: string
}

/** An agent on its own port until the test is over. */
export async function serve<P extends Principal>(options: Options<P>): Promise<Served<P>> {
  const { card, path = '', ...rest } = options
  const errors: unknown[] = []
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}${path}`
  const handler = createRequestHandler<P>({
    anonymous: 'shared',
    ...rest,
    card: { name: 'Interop', url, ...card?.(url) },
    onError: (error) => errors.push(error),
  })
  server.on('request', toNodeListener(handler.fetch))
  onTestFinished(async () => {
    await handler.close({ graceMs: 1 })
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
    expect(errors).toEqual([])
  })
  return { url, handler, errors }
}

/** All that a stream has, until it ends. */
export async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of stream) items.push(item)
  return items
}

/** What `run` is rejected with, or throws. */
export async function rejection(run: () => unknown): Promise<unknown> {
  try {
    await run()
  } catch (error) {
    return error
  }
  throw new Error('Nothing was thrown')
}

/** `fetch`, with headers of the test's, and what was answered. */
export function spyFetch(headers: Readonly<Record<string, string>> = {}): {
  readonly fetchImpl: typeof fetch
  readonly requests: Request[]
  readonly responses: Response[]
} {
  const requests: Request[] = []
  const responses: Response[] = []
  const fetchImpl: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    for (const [name, value] of Object.entries(headers)) request.headers.set(name, value)
    requests.push(request)
    const response = await fetch(request)
    responses.push(response)
    return response
  }
  return { fetchImpl, requests, responses }
}
