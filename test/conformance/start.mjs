/**
 * `node start.mjs <command…>`: starts the agents of `agents/agent.mjs` on a runtime, runs the checks and the exchanges
 * against them, and ends them. The command prints where it listens.
 */

import { spawn } from 'node:child_process'
import { EXCHANGES, talkTo } from './exchanges/exchanges.mjs'
import { isGood, linesOf } from './report.mjs'

// Node 20 runs no TypeScript: `.ci/run` bundles `src/conformance/suite.ts` into this folder.
const { checkAgent } = await import(new URL('suite.mjs', import.meta.url))

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

const origin = `http://127.0.0.1:${port}`
const failures = []
const talk = talkTo(origin)
for (const exchange of EXCHANGES) await talk(exchange).catch(({ message }) => failures.push(message))

const report = await checkAgent(origin, { origin })
for (const line of [...failures, ...linesOf(report)]) console.log(line)
console.log(`${EXCHANGES.length - failures.length} of ${EXCHANGES.length} exchanges are as they should be`)
const passes = failures.length === 0 && isGood(report)
if (!passes) console.log(output)
process.exit(passes ? 0 : 1)
