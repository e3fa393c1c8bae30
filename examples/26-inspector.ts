/** A page shows the tasks of an agent, at an address that only its reader knows. The tour ends with this page, too. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pathToFileURL } from 'node:url'
import { createInspector } from 'a2a-tasks/inspector'
import { createRequestHandler, type RequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'

/** Serves the page on loopback. Other users of the machine do not know its path. */
export async function serveInspector(handler: RequestHandler): Promise<{ url: string; server: Server }> {
  const path = `/${randomUUID()}/`
  const inspector = createInspector({
    tasks: handler.tasks,
    handler,
    authorize: (request) => (new URL(request.url).pathname.startsWith(path) ? { user: 'developer' } : null),
    actions: true,
    onAction: ({ action, taskId = 'a new task', access }) =>
      console.log(`  ${access.user ?? ''}: ${action} ${taskId}`),
  })
  const server = createServer(toNodeListener(inspector.fetch))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}${path}`, server }
}

const isTour = pathToFileURL(process.argv[1] ?? '').href !== import.meta.url
if (!isTour) {
  const handler = createRequestHandler({
    card: { name: 'Echo', url: 'http://localhost:3000' },
    execute: (run) => `You said: ${run.text}`,
  })
  const { url, server } = await serveInspector(handler)
  // What the page does when you send a message in it.
  const headers = { 'x-a2a-inspector': '1', 'content-type': 'application/json' }
  await fetch(`${url}api/messages`, { method: 'POST', headers, body: JSON.stringify({ text: 'hello' }) })
  const list = await (await fetch(`${url}api/tasks`, { headers })).text()
  const page = await fetch(url)
  const strangers = await fetch(new URL('/', url))
  console.log(`The page has ${page.headers.get('content-type')}, and strangers get ${strangers.status}`)
  assert.match(list, /"title":"hello"/)
  assert.deepEqual([page.status, strangers.status], [200, 401])
  server.close()
  server.closeAllConnections()
  await handler.close()
}
