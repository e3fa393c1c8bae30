import { NullTaskManager, type SessionTaskManager } from 'a2a-tasks/compat'
import { describe, expect, test } from 'vitest'

describe('the null manager', () => {
  const manager: SessionTaskManager = new NullTaskManager()

  test('answers with a stub that holds nothing of what was sent', async () => {
    const task = await manager.sendMessage('Hello', { sessionId: 'session-1', metadata: { a: 1 } })
    expect(task).toMatchObject({
      id: expect.stringMatching(/^null_task_[\da-f]{8}$/) as string,
      contextId: 'null-session',
      state: 'completed',
      messages: [],
      artifacts: [],
      metadata: {},
      output: null,
    })
    expect(JSON.stringify(task)).not.toContain('Hello')
    expect((await manager.sendMessage('Hello')).id).not.toBe(task.id)
  })

  test('keeps nothing', async () => {
    const { id } = await manager.sendMessage('Hello')
    expect(manager.keepsTasks).toBe(false)
    expect(await manager.getTask(id)).toBeNull()
    expect(await manager.cancelTask(id)).toBe(false)
    expect(await manager.waitForCompletion(id)).toBeNull()
  })

  test('has nothing to shut down', async () => {
    await manager.shutdown()
    expect(await manager.sendMessage('Hello')).toMatchObject({ state: 'completed' })
  })
})
