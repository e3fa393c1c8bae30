/** How long steps took, in the history. */
import { TaskManager } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import type { DurableTaskManager } from 'a2a-tasks/durable'
import { createRequestHandler, type Principal } from 'a2a-tasks/server'
import { openTasks } from 'a2a-tasks/stores/sqlite'
import { ManualClock } from 'a2a-tasks/testing'
import Database from 'libsql'
import { expect, onTestFinished, test } from 'vitest'

test.each([
  ['memory', (clock: ManualClock) => new TaskManager({ clock })],
  ['SQLite', (clock: ManualClock) => openTasks(new Database(':memory:'), { clock })],
] as const)('is recorded with each step, over %s', async (kind, open) => {
  const clock = new ManualClock()
  let isPausing = false
  const tasks: TaskManager | DurableTaskManager = await open(clock)
  const handler = createRequestHandler<Principal, TaskManager | DurableTaskManager>({
    card: { name: 'Steps', url: 'http://agent.test' },
    tasks,
    clock,
    anonymous: 'shared',
    async execute(run) {
      const takes = (ms: number) => (): number => {
        clock.advance(ms)
        return ms
      }
      await run.step('at once', takes(0))
      await run.step('slow', takes(250))
      await run.step('failed', () => Promise.reject(new Error(String(takes(40)())))).catch(() => undefined)
      const later = ({ attempt }: { readonly attempt: number }): number => {
        isPausing = attempt === 1
        if (isPausing) throw new Error('Not yet')
        return takes(10)()
      }
      await run.step('later', later, { retry: { attempts: 2, backoff: { initialMs: 100 } } })
      if (kind === 'SQLite') await run.transaction('booked', takes(7))
      return 'done'
    },
  })
  onTestFinished(async () => {
    await handler.close({ graceMs: 0 })
    await tasks.destroy()
  })
  const client = new A2AClient({
    card: handler.card,
    fetch: (url, init) => handler.fetch(new Request(url, init)),
  })
  const sent = await client.send('go', { returnImmediately: true })
  const id = sent.type === 'task' ? sent.task.id : ''
  await expect
    .poll(async () => {
      if (isPausing) clock.advance(20)
      return await tasks.stateOf(id)
    })
    .toBe('completed')
  const entries = (await tasks.journal(id)).map(({ entry }) => entry)
  const durations = entries.flatMap((entry) =>
    entry.kind === 'step' ? [[entry.name, entry.durationMs]] : [],
  )
  expect(durations).toEqual([
    ['at once#1', undefined],
    ['slow#1', 250],
    ['failed#1', 40],
    ['later#1', expect.toSatisfy((ms: number) => ms >= 60)],
    ...(kind === 'SQLite' ? [['booked#1', 7]] : []),
  ])
})
