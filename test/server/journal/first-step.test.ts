/** Tasks whose code begins with a step: clients see that they are worked on. */
import type { StatusChanged, TaskStreamEvent } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler, type Execute, type Run } from 'a2a-tasks/server'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { faultyStore, gate } from '../../support/faulty-store.js'
import { begin, get, pass, replicas, settle } from '../durable/support/replicas.js'
import { stateName } from '../spec/support/agent.js'
import { agent, MANAGERS, type Tasks } from './support/managers.js'

type Begin = (run: Run, opened: Promise<void>) => Promise<unknown>

const BEGINNINGS: readonly (readonly [string, Begin])[] = [
  ['a step', (run, opened) => run.step('slow', () => opened)],
  ['a time and a step', (run, opened) => run.step(`slow at ${run.now()}`, () => opened)],
  ['a time, read before other work', (run, opened) => (run.now(), opened)],
  ['a look at its task', ({ task }, opened) => opened.then(() => task)],
  ['a wait for a signal', (run) => run.waitFor('go')],
  ['a sleep', (run) => run.sleep('long', { ms: 40_000 })],
]

describe.each(MANAGERS)('over %s', (_, open) => {
  test.each(BEGINNINGS)(
    'a task whose code begins with %s is working while that lasts',
    async (_name, first) => {
      const { opened, open: go } = gate()
      const { say, tasks, clock, reaches } = await agent(open, async (run) => {
        await first(run, opened)
        return 'done'
      })
      const id = await say('go')
      for (let turns = 0; turns < 100 && (await stateOf(tasks, id)) === 'submitted'; turns += 1) {
        clock.advance(1)
        await turn()
      }
      expect(await stateOf(tasks, id)).toBe('working')
      await tasks.signal(id, 'go', null)
      go()
      await reaches(id, 'completed')
      expect(await pathOf(tasks, id)).toEqual(['working', 'completed'])
    },
  )
})

test('a quick first step costs no commit more, even if the store is slow', async () => {
  const commits: string[][] = []
  const store = faultyStore(memoryStore(), {
    before: async (step, [args]) => {
      if (step !== 'commit') return
      commits.push((args as { events: TaskStreamEvent[] }).events.map((event) => typeOf(event)))
      // As long as a store takes: other work of the process comes first.
      for (let turns = 0; turns < 5; turns += 1) await turn()
    },
  })
  const tasks = new DurableTaskManager({ store, pollIntervalMs: 60_000, sweepIntervalMs: 60_000 })
  const handler = createRequestHandler({
    card: { name: 'Steps', url: 'https://steps.example' },
    tasks,
    execute: async (run) => {
      await run.step('first', () => 1)
      await run.step('second', () => 2)
    },
  })
  const client = new A2AClient({
    card: handler.card,
    fetch: (url, init) => handler.fetch(new Request(url, init)),
  })
  expect((await client.run('go')).type).toBe('completed')
  expect(commits).toEqual([['turn', 'step', 'working'], ['step'], ['completed']])
  await handler.close()
  await tasks.destroy()
})

test('a task that another process continues does not begin to work again', async () => {
  const execute: Execute = async (run) => {
    await run.step('first', () => 1)
    await run.sleep('a moment', { ms: 30_000 })
    await run.step('second', () => 2)
  }
  const { a, b, clock } = replicas([execute, execute])
  const { id } = await begin(a, 'go')
  await settle()
  a.store.fail()
  await pass(clock, async () => stateName((await get(b, id)).status.state) === 'completed')
  expect(await pathOf(b.tasks, id)).toEqual(['working', 'completed'])
})

async function stateOf(tasks: Tasks, id: string): Promise<string | undefined> {
  return (await tasks.getTask(id))?.state
}

/** The states that the task has entered after its creation. */
async function pathOf(tasks: Tasks, id: string): Promise<string[]> {
  const events = await tasks.events(id)
  return events.filter((event): event is StatusChanged => event.type === 'status').map(({ to }) => to)
}

function typeOf(event: TaskStreamEvent): string {
  if (event.type === 'journal') return event.entry.kind
  return event.type === 'status' ? event.to : event.type
}
