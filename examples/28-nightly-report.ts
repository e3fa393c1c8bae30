/** Writes a report each night. Between two nights, no process holds the run: only its due time is stored. */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { A2AClient } from 'a2a-tasks/client'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler, textOf } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'

const HOUR = 3_600_000
const NIGHTS = 3

// In production: PostgreSQL, SQLite or Redis, and the clock of the machine.
const clock = new ManualClock('2026-03-02T09:30:00Z')
const tasks = new DurableTaskManager({ store: memoryStore({ now: () => clock.now() }), clock })

const midnightAfter = (time: number): number => (Math.floor(time / (24 * HOUR)) + 1) * 24 * HOUR
const countOrders = (night: string): number => Number(night.slice(-2)) * 10

const handler = createRequestHandler({
  card: { name: 'Reporter', url: 'https://reporter.example', capabilities: { streaming: true } },
  async execute(run) {
    // What the code reads from the clock is recorded: after a restart it computes the same midnight.
    let midnight = midnightAfter(run.now())
    for (let count = 0; count < NIGHTS; count += 1) {
      await run.sleep('until-midnight', { until: midnight })
      const night = new Date(midnight).toISOString().slice(0, 10)
      await run.step('report', () => {
        run.artifact({ artifactId: night, parts: [{ text: `${night}: ${countOrders(night)} orders` }] })
      })
      midnight += 24 * HOUR
    }
    return 'Three reports are written'
  },
  tasks,
  clock,
})
const client = new A2AClient({
  card: handler.card,
  fetch: (url, init) => handler.fetch(new Request(url, init)),
})

// An hour passes whenever the agent has nothing to do.
const over = new AbortController()
const hours = (async () => {
  let asleep = 0
  while (!over.signal.aborted) {
    for (let turns = 0; turns < 50; turns += 1) await turn()
    if (tasks.stats().leases === 0) asleep += 1
    clock.advance(HOUR)
  }
  return asleep
})()

const written: string[] = []
for await (const event of client.stream('A report each night')) {
  if (event.type !== 'artifact') continue
  written.push(textOf(event.artifact))
  console.log(textOf(event.artifact))
}
over.abort()
assert.deepEqual(written, [
  '2026-03-03: 30 orders',
  '2026-03-04: 40 orders',
  '2026-03-05: 50 orders',
  'Three reports are written',
])
const asleep = await hours
assert.ok(asleep > 48)
console.log(`In ${asleep} hours, no process held the run`)
await handler.close()
await tasks.destroy()
