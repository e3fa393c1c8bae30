/**
 * An agent as a server of MCP over a store, for tests that kill its process. It tells its parent its address, and when it hangs.
 *
 * Arguments: the store and its address, the port, a file to which each step that is done adds its name, and how the process fares.
 * Each step begins anew where the process has died in it, so it hangs, or dies, before it does anything.
 *
 * @module
 */
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DurableTaskManager } from 'a2a-tasks/durable'
import { createMcpHandler } from 'a2a-tasks/mcp'
import { createRequestHandler, textOf, type Run } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { openStore } from '../../services/replicas/stores.js'

/** `hangs`: in its step `book`, until its parent sends a message. The others: it dies around an answer, before its response. */
export type Fate = 'lives' | 'hangs' | 'dies before an answer' | 'dies after an answer'

const [name = '', storeUrl = '', port = '0', file = '', given = 'lives'] = process.argv.slice(2)
// The tests pass a fate only.
const fate = given as Fate

async function work(step: string): Promise<string> {
  if (fate === 'hangs' && step === 'book') {
    process.send?.('hangs')
    await once(process, 'message')
  }
  appendFileSync(file, `${step}\n`)
  return step
}

async function execute(run: Run): Promise<string> {
  run.update('Looking')
  await run.step('look', () => work('look'))
  const city = textOf(await run.requireInput('Which city?'))
  const seat = textOf(await run.requireInput('Which seat?'))
  run.update(`Booking ${city}`)
  await run.step('book', () => work('book'))
  return `${city}, ${seat}`
}

const die = (): void => void process.kill(process.pid, 'SIGKILL')
const { store } = await openStore(name, storeUrl)
const tasks = new DurableTaskManager({
  ...{ store, leaseMs: 1_500, sweepIntervalMs: 100, pollIntervalMs: 100 },
})
const handler = createRequestHandler({
  card: { name: 'Travel', url: 'http://127.0.0.1' },
  ...{ anonymous: 'shared', tasks, execute },
})
const mcp = createMcpHandler(handler, { waitMs: 50, pollIntervalMs: 20 })
const serve = async (request: Request): Promise<Response> => {
  const isAnswer = request.headers.get('mcp-method') === 'tasks/update'
  if (isAnswer && fate === 'dies before an answer') die()
  const response = await mcp(request)
  if (isAnswer && fate === 'dies after an answer') die()
  return response
}
const server = createServer(toNodeListener(serve)).listen(Number(port), '127.0.0.1', () => {
  // It listens to a port.
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
})
