/** Real processes of a gateway over one file, killed around the request that sends a message: it arrives once. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import { a2a, A2AGateway, AgentRegistry } from 'a2a-tasks/gateway'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { openTasks } from 'a2a-tasks/stores/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { ROOT } from '../../support/repository.js'

/** A gateway that sends one message, and is killed when it is sent, or as soon as the agent has answered. */
const SENDER = `
import Database from 'libsql'
import { a2a, A2AGateway, AgentRegistry } from 'a2a-tasks/gateway'
import { openTasks } from 'a2a-tasks/stores/sqlite'
const [file, url, fate] = process.argv.slice(-3)
const die = () => process.kill(process.pid, 'SIGKILL')
const tasks = await openTasks(new Database(file), { recover: 'resume', leaseMs: 1_000 })
const registry = new AgentRegistry()
registry.register({ id: 'worker', provider: 'a2a', capabilities: ['work'], endpoint: { url } })
const fetching = async (at, init) => {
  const isMessage = String(init?.body).includes('SendStreamingMessage')
  if (isMessage && fate === 'before') die()
  const response = await fetch(at, init)
  if (isMessage) die()
  return response
}
const gateway = new A2AGateway({ registry, tasks, providers: { a2a: a2a({ fetch: fetching }) } })
await gateway.sendTask('worker', 'go', { id: 'task' })
`

/** An agent that counts the messages it works on. */
async function startAgent() {
  const texts: string[] = []
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const handler = createRequestHandler({
    card: { name: 'Worker', url, capabilities: { streaming: true } },
    execute(run) {
      texts.push(run.text)
      return 'done'
    },
  })
  server.on('request', toNodeListener(handler.fetch))
  onTestFinished(async () => {
    await handler.close({ graceMs: 1 })
    server.closeAllConnections()
    server.close()
  })
  return { url, texts }
}

test.each(['before', 'after'])(
  'a process that is killed %s the agent has the message: another one completes the task',
  { timeout: 60_000 },
  async (fate) => {
    const { url, texts } = await startAgent()
    const folder = mkdtempSync(join(tmpdir(), 'a2a-killed-sender-'))
    const file = join(folder, 'tasks.db')
    const database = new Database(file)
    const tasks = await openTasks(database, { recover: 'resume', leaseMs: 1_000, sweepIntervalMs: 200 })
    onTestFinished(async () => {
      await tasks.destroy()
      database.close()
      rmSync(folder, { recursive: true, force: true })
    })
    const options = ['--input-type=module', '--eval', SENDER, file, url, fate]
    const child = spawn(process.execPath, options, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] })
    const [, signal] = (await once(child, 'close')) as unknown[]
    expect(signal).toBe('SIGKILL')
    const registry = new AgentRegistry()
    registry.register({ id: 'worker', provider: 'a2a', capabilities: ['work'], endpoint: { url } })
    const gateway = new A2AGateway({ registry, tasks, providers: { a2a: a2a() } })
    onTestFinished(() => gateway.close({ graceMs: 1 }))
    const task = await tasks.waitFor('task')
    expect(task).toMatchObject({ state: 'completed', artifacts: [{ parts: [{ text: 'done' }] }] })
    expect(texts).toEqual(['go'])
  },
)
