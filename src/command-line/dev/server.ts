/**
 * Process of `dev`: serves the agent of a module on loopback, as `node --watch` starts it again.
 *
 * @module
 */
import { createServer } from 'node:http'
import { pathToFileURL } from 'node:url'
import { toNodeListener } from 'a2a-tasks/server/node'
import { createInspector, type InspectorAccess } from 'a2a-tasks/inspector'
import { accessByToken, TOKEN_VARIABLE } from '../inspect/private-path.js'
import { printableLine } from '../terminal/printable.js'
import { agentOf, reportError, type InspectedAgent } from './agent-module.js'

const [file = '', port = '3000'] = process.argv.slice(2)
const { [TOKEN_VARIABLE]: token = '' } = process.env
const INSPECTOR = '/inspector'
const url = `http://localhost:${port}`
process.on('uncaughtException', fail)
process.on('warning', showWarning)
const { default: exported } = await load()
// The export of a module of CommonJS with a default is an object with one.
const inner =
  typeof exported === 'object' && exported !== null && 'default' in exported ? exported.default : exported
const { fetch, otherUrl, handler } = agentOf(inner, file, url)
const server = createServer(toNodeListener(handler === undefined ? fetch : withInspector(handler)))
server.listen(Number(port), 'localhost', () => {
  print(`Serving ${file} at ${url}. Try: npx a2a-tasks send ${url} 'Hello'`)
  if (handler !== undefined && !('lease' in handler.tasks))
    print(
      "Its tasks are in memory, and gone when it restarts. To keep them, pass tasks: await openTasks('tasks.db') of a2a-tasks/stores/sqlite",
    )
  if (handler !== undefined) print(`Inspector: ${url}${INSPECTOR}/${token}/`)
  if (otherUrl !== undefined) {
    print(
      `Its card says ${otherUrl}, where clients will call it. Make it ${url} for development: PORT has the port`,
    )
  }
})

/** A module of the user. */
async function load(): Promise<{ default?: unknown }> {
  try {
    return (await import(pathToFileURL(file).href)) as { default?: unknown }
  } catch (error) {
    // Only Node knows the line of it.
    if (error instanceof SyntaxError) process.off('uncaughtException', fail)
    throw error
  }
}

/** Node would print a line of the built package above the message. */
function fail(error: unknown): never {
  reportError(error)
  process.exit(1)
}

/** A handler without `onError` reports errors of its agent as warnings, with their stack as the detail. */
function showWarning(warning: Error & { readonly detail?: string }): void {
  const { name, message, detail = '' } = warning
  const frames = detail.split('\n').filter((line) => line.startsWith('    at '))
  warning.stack = [`${name}: ${message}`, ...frames].join('\n')
  reportError(warning)
}

/** The inspector answers below its path, and the agent elsewhere. */
function withInspector(handler: InspectedAgent): typeof fetch {
  const accessOf = accessByToken(INSPECTOR, token)
  const access = needsUser(handler).then((isNeeded) => (isNeeded ? { principal: { id: 'local' } } : {}))
  const authorize = async (request: Request): Promise<InspectorAccess | Response> => {
    const given = accessOf(request)
    return given instanceof Response ? given : { ...given, ...(await access) }
  }
  const inspector = createInspector({ tasks: handler.tasks, handler, authorize, actions: true })
  return (request) =>
    new URL(request.url).pathname.startsWith(`${INSPECTOR}/`) ? inspector.fetch(request) : fetch(request)
}

/** Whether the agent answers only its users. */
async function needsUser(handler: InspectedAgent): Promise<boolean> {
  const body = { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'none' } }
  return JSON.stringify(await handler.dispatch(body, { version: '1.0' })).includes('"UNAUTHENTICATED"')
}

function print(line: string): void {
  process.stdout.write(`${printableLine(line, 4_000)}\n`)
}
