/** Waits three weeks for an approval. Each process of the agent lives for a day, and the SQLite file keeps the turn. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { A2AClient } from 'a2a-tasks/client'
import { DurableTaskManager } from 'a2a-tasks/durable'
import { createRequestHandler, textOf } from 'a2a-tasks/server'
import { sqliteStore } from 'a2a-tasks/stores/sqlite'
import { ManualClock } from 'a2a-tasks/testing'
import Database from 'libsql'

const DAY = 86_400_000
const [, , file, date = '', text = '', taskId] = process.argv
await (file === undefined ? main() : day(file))

/** A process of the agent on one day: it handles one message, and stops. */
async function day(path: string): Promise<void> {
  const clock = new ManualClock(`${date}T09:00:00Z`)
  const now = (): number => clock.now()
  const database = new Database(path)
  const store = sqliteStore(database, { now })
  await store.migrate()
  const tasks = new DurableTaskManager({ store, clock })
  const handler = createRequestHandler({
    card: { name: 'Purchasing', url: 'https://purchasing.example' },
    async execute(run) {
      const offer = await run.step('offer', () => {
        console.log(`${date}: asks the dealer for an offer`)
        return { item: run.text, price: 4_000 }
      })
      const name = textOf(await run.requireInput('Who has to approve it?'))
      const answer = textOf(
        await run.requireInput(`${name}, do you approve ${offer.price} € for ${offer.item}?`),
      )
      if (answer !== 'yes') return `${name} did not approve it`
      return await run.step('order', () => `${offer.item} ordered on ${date} for ${offer.price} €`)
    },
    tasks,
    clock,
    // The default cancels a question after a week.
    limits: { waitingTimeoutMs: 60 * DAY },
  })
  const fetch = (url: string, init?: RequestInit): Promise<Response> => handler.fetch(new Request(url, init))
  const client = new A2AClient({ card: handler.card, fetch })
  if (text !== '') {
    const result = await client.run(text, taskId === undefined ? {} : { taskId })
    console.log(`${date}: ${result.type}: ${result.text}`)
    if (result.type === 'input-required') console.log(result.task.id)
  } else {
    clock.advance(DAY)
    console.log(`${date}: nothing to do`)
  }
  await handler.close()
  await tasks.destroy()
  database.close()
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'approval-'))
  const on = async (...args: string[]): Promise<string[]> => {
    const program = [fileURLToPath(import.meta.url), join(folder, 'tasks.db'), ...args]
    const { stdout } = await promisify(execFile)(process.execPath, [...process.execArgv, ...program])
    const lines = stdout.trimEnd().split('\n')
    console.log(lines.filter((line) => line.startsWith('2026')).join('\n'))
    return lines
  }
  // Its last line is the id of the task, which the next messages continue.
  const id = (await on('2026-03-02', 'a microscope')).at(-1) ?? ''
  await on('2026-03-03', 'Ada', id)
  await on('2026-03-12')
  assert.deepEqual(await on('2026-03-24', 'yes', id), [
    '2026-03-24: completed: a microscope ordered on 2026-03-24 for 4000 €',
  ])
  await rm(folder, { recursive: true })
}
