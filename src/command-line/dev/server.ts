/**
 * Process of `dev`: serves the agent of a module on loopback, as `node --watch` starts it again.
 *
 * @module
 */
import { createServer } from 'node:http'
import { pathToFileURL } from 'node:url'
import { toNodeListener } from 'a2a-tasks/server/node'
import { agentOf } from './agent-module.js'

const [file = '', port = '3000'] = process.argv.slice(2)
const url = `http://localhost:${port}`
// A module of the user.
const { default: exported } = (await import(pathToFileURL(file).href)) as { default?: unknown }
// The export of a module of CommonJS with a default is an object with one.
const inner =
  typeof exported === 'object' && exported !== null && 'default' in exported ? exported.default : exported
const { fetch, otherUrl } = agentOf(inner, file, url)
const server = createServer(toNodeListener(fetch))
server.listen(Number(port), 'localhost', () => {
  print(`Serving ${file} at ${url}. Try: a2a-tasks send ${url} 'Hello'`)
  if (otherUrl !== undefined) {
    print(`Its card says ${otherUrl}, where clients will call it. Make it ${url} for development`)
  }
})

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
