/**
 * `node conformance-run.mjs <command…>`: starts an agent, asks it all that `conformance.mjs` has, and ends it. The agent
 * is whatever prints where it listens.
 */

import { spawn } from 'node:child_process'
import { EXCHANGES, talkTo } from './conformance.mjs'

const [command, ...args] = process.argv.slice(2)
const server = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
// Tasks are left behind that wait for ever: nothing but a kill need end their process.
process.on('exit', () => server.kill('SIGKILL'))

let output = ''
const port = await new Promise((resolve, reject) => {
  const read = (chunk) => {
    output += chunk
    // As a URL, or as workerd tells it.
    const [, found] = /(?:http:\/\/[\w.]+:|"port":)(\d+)\b(?=\D)/.exec(output) ?? []
    if (found !== undefined) resolve(found)
  }
  server.stdout.on('data', read)
  server.stderr.on('data', read)
  server.on('error', reject)
  server.on('exit', () => reject(new Error(`${command} does not listen:\n${output}`)))
})

const failures = []
const talk = talkTo(`http://127.0.0.1:${port}`)
for (const exchange of EXCHANGES) await talk(exchange).catch(({ message }) => failures.push(message))

for (const failure of failures) console.log(failure)
if (failures.length > 0) console.log(output)
console.log(`${EXCHANGES.length - failures.length} of ${EXCHANGES.length} exchanges are as they should be`)
process.exit(failures.length === 0 ? 0 : 1)
