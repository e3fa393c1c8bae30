/** A travel agent is killed between two bookings. Another process continues, and books nothing twice. */
import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { A2AClient } from 'a2a-tasks/client'
import { createRequestHandler, textOf } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { openTasks } from 'a2a-tasks/stores/sqlite'

const [, , folder, name = ''] = process.argv
await (folder === undefined ? main() : replica(folder))

/** One process of the agent. The first one dies after the flight is booked. */
async function replica(folder: string): Promise<void> {
  const book = async (what: string): Promise<string> => {
    console.log(`${name}: books the ${what}`)
    await appendFile(join(folder, 'bookings'), `${what}\n`)
    return `${what} booked by ${name}`
  }
  const handler = createRequestHandler({
    card: { name: 'Travel agent', url: 'http://127.0.0.1', capabilities: { streaming: true } },
    async execute(run) {
      console.log(`${name}: execute begins at its top`)
      const city = textOf(await run.requireInput('Which city?'))
      const flight = await run.step('flight', () => book(`flight to ${city}`))
      if (name === 'process 1') process.kill(process.pid, 'SIGKILL')
      const hotel = await run.step('hotel', () => book(`hotel in ${city}`))
      return `${flight}, ${hotel}`
    },
    tasks: await openTasks(join(folder, 'tasks.db'), { leaseMs: 2_000, sweepIntervalMs: 200 }),
  })
  const server = createServer(toNodeListener(handler.fetch)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.once('disconnect', () => process.exit())
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'crash-'))
  const start = (name: string): ChildProcess => fork(fileURLToPath(import.meta.url), [folder, name])
  const urlOf = async (child: ChildProcess): Promise<string> => String((await once(child, 'message'))[0])

  const first = start('process 1')
  let url = await urlOf(first)
  const second = once(first, 'exit').then(async ([, signal]) => {
    console.log(`process 1: is dead (${String(signal)})`)
    const child = start('process 2')
    url = await urlOf(child)
    return child
  })

  // The client knows one URL, as that of a load balancer, and follows the task through the crash.
  const client = await A2AClient.connect('http://travel.example', {
    fetch: (to: string, init?: RequestInit) => fetch(new URL(new URL(to).pathname, url), init),
  })
  const result = await client.run('A weekend', {
    onInputRequired: (task) => {
      console.log(`user: is asked "${textOf(task.message ?? {})}", and answers "Lisbon"`)
      return 'Lisbon'
    },
  })
  console.log(`user: reads "${result.text}"`)
  assert.equal(result.text, 'flight to Lisbon booked by process 1, hotel in Lisbon booked by process 2')
  assert.equal(await readFile(join(folder, 'bookings'), 'utf8'), 'flight to Lisbon\nhotel in Lisbon\n')

  // The file is in use until the last process has exited.
  const child = await second
  child.kill()
  await once(child, 'exit')
  await rm(folder, { recursive: true })
}
