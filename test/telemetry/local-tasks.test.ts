/** Telemetry of what only a `TaskManager` does: it restores silently, and removes tasks that have not ended. */
import { SpanStatusCode } from '@opentelemetry/api'
import { describe, expect, it } from 'vitest'
import { TaskManager, restoreTasks, saveTasks } from 'a2a-tasks'
import { instrumentTasks } from 'a2a-tasks/telemetry'
import { ManualClock } from 'a2a-tasks/testing'
import { run } from './support/managers.js'
import { idOf, parentOf, sdk } from './support/sdk.js'

describe('the span of a task', () => {
  it('begins with the next change of a task that was restored, as a child of what is active', async () => {
    const before = new TaskManager()
    const id = await run(before, 'working')
    await run(before, 'working', 'completed')
    await run(before, 'working')
    const { inSpan, span, spans } = sdk()
    const tasks = new TaskManager()
    instrumentTasks(tasks)
    restoreTasks(tasks, saveTasks(before))
    expect(spans()).toEqual([])
    inSpan('request', () =>
      tasks.updateTask(id, { state: 'completed', output: 1, artifacts: [{ name: 'a' }] }),
    )
    expect(span('a2a.task.execute').attributes).toMatchObject({ 'a2a.task.id': id })
    expect(parentOf(span('a2a.task.execute'))).toBe(idOf(span('request')))
    tasks.destroy()
    expect(spans()).toHaveLength(2)
  })

  it('ends when the task expires, which is an error of one that had not ended', async () => {
    const { span } = sdk()
    const clock = new ManualClock()
    const tasks = new TaskManager({ clock, expiryMs: 1_000 })
    instrumentTasks(tasks)
    await run(tasks, 'working')
    clock.advance(2_000)
    tasks.prune()
    const { status, attributes } = span('a2a.task.execute')
    expect([status.code, attributes['error.type']]).toEqual([SpanStatusCode.ERROR, 'TASK_EXPIRED'])
  })
})
