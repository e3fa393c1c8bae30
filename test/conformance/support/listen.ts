/** HTTP servers of tests, on their own ports. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { toNodeListener } from 'a2a-tasks/server/node'
import { onTestFinished } from 'vitest'
import { createAgents } from '../agents/agent.mjs'

/** Serves until the test is over. `listenerOf` receives the URL. */
export async function listen(listenerOf: (url: string) => RequestListener): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  server.on('request', listenerOf(url))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return url
}

/** Serves the agent of this library. */
export function listenOwn(): Promise<string> {
  return listen((url) => {
    const { fetchFor } = createAgents(url)
    return (request, response) => toNodeListener(fetchFor(request.url ?? '/'))(request, response)
  })
}

/** Serves the agent of this library with a fault: `change` sees the text of each answer that is not a stream. */
export function listenWithFault(change: (text: string) => string): Promise<string> {
  return listen((url) => {
    const { fetch } = createAgents(url)
    return toNodeListener(async (request) => {
      const response = await fetch(request)
      if (response.headers.get('content-type')?.startsWith('text/event-stream') === true) return response
      const { status, headers } = response
      const text = change(await response.text())
      return new Response(text === '' ? null : text, { status, headers })
    })
  })
}
