import { describe, expect, test } from 'vitest'
import { evolve, type TaskEvent, type TaskSnapshot } from 'a2a-tasks'
import { createdEvent } from '../../src/core/events.js'
import { create } from '../../src/core/evolve.js'
import { setup, walk } from '../support/manager.js'

function log(): { events: TaskEvent[]; task: TaskSnapshot } {
  const { tasks, id } = setup()
  walk(tasks, id, 'working')
  tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: '1' }] })
  tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: '2' }], metadata: { n: 2 } })
  tasks.addMessage(id, { role: 'user', parts: [{ text: 'Hi' }] })
  walk(tasks, id, 'completed')
  return { events: tasks.events(id) as TaskEvent[], task: tasks.peekTask(id) as TaskSnapshot }
}

describe('evolve', () => {
  test('does not change its arguments, at any step', () => {
    const { events, task } = log()
    const steps: { task: TaskSnapshot; text: string }[] = []
    let current: TaskSnapshot | undefined
    for (const event of events) {
      current = evolve(current, event)
      steps.push({ task: current, text: JSON.stringify(current) })
    }
    for (const step of steps) expect(JSON.stringify(step.task)).toBe(step.text)
    expect(current).toEqual(task)
  })

  test('returns the task of a snapshot or a resync', () => {
    const { task } = log()
    for (const type of ['snapshot', 'resync'] as const) {
      const entry = { type, taskId: task.id, generation: 6, timestamp: task.updatedAt, task }
      expect(evolve(undefined, entry)).toBe(task)
    }
  })

  test('refuses an event that is not the next one', () => {
    const { events } = log()
    const [created, second, third] = events
    if (created === undefined || second === undefined || third === undefined)
      throw new Error('six were logged')
    const task = evolve(undefined, created)
    expect(() => evolve(undefined, second)).toThrow('does not follow no task')
    expect(() => evolve(task, third)).toThrow(
      'Event 3 ("artifact") of task task-1 does not follow task task-1 at generation 1',
    )
    expect(() => evolve(task, created)).toThrow(TypeError)
    expect(() => evolve(task, { ...second, taskId: 'other' })).toThrow('of task other does not follow')
  })

  test('the created event can be derived from any later version of the task', () => {
    const { events, task } = log()
    expect(createdEvent(task, 'submitted', task.createdAt)).toEqual(events[0])
    const created = createdEvent(task, 'submitted', task.createdAt)
    expect(createdEvent(create(created), 'submitted', task.createdAt)).toEqual(events[0])
  })
})
