import { describe, expect, it } from 'vitest'
import { evolve, TaskManager, type TaskEvent, type TaskSnapshot } from 'a2a-tasks'
import { ManualClock } from 'a2a-tasks/testing'

type Step = (tasks: TaskManager, id: string) => void

const say = { role: 'agent', parts: [{ text: 'x' }] } as const
const work: Step = (tasks, id) => tasks.patchTask(id, { state: 'working' })
const report: Step = (tasks, id) => tasks.patchTask(id, { message: say })
const reportAgain: Step = (tasks, id) => tasks.patchTask(id, { message: 'Reading' })
const clear: Step = (tasks, id) => tasks.patchTask(id, { message: null })
const nothing: Step = (tasks, id) => tasks.patchTask(id, {})
const output: Step = (tasks, id) => tasks.patchTask(id, { output: { a: 1 } })
const sameOutput: Step = (tasks, id) => tasks.patchTask(id, { output: 5 })
const add: Step = (tasks, id) => void tasks.addMessage(id, say)
const write: Step = (tasks, id) => void tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: 'x' }] })
const ask: Step = (tasks, id) => tasks.patchTask(id, { state: 'input-required', message: 'More?' })
const complete: Step = (tasks, id) =>
  tasks.patchTask(id, { state: 'completed', message: 'Done', output: [1] })
const fail: Step = (tasks, id) => tasks.patchTask(id, { state: 'failed' })
const cancel: Step = (tasks, id) => void tasks.cancelTask(id)

const LIVES: Record<string, readonly Step[]> = {
  'canceled at once': [cancel],
  'worked on': [work, fail],
  'with a message': [add, work, complete],
  'with several messages': [add, work, add, add, fail],
  'with a status message that stays': [work, report, nothing, fail],
  'with a status message that is replaced': [work, report, reportAgain, complete],
  'with a status message that is removed': [work, report, clear, fail],
  'with the same output twice': [work, sameOutput, sameOutput, fail],
  'with another output': [work, output, sameOutput, complete],
  'with an artifact': [work, write, complete],
  'with a question': [work, ask, add, work, complete],
  'with many events': [work, ...Array.from({ length: 12 }, () => nothing), fail],
}

describe('an ended task', () => {
  it.each(Object.keys(LIVES))('has the events and states of its life: %s', (name) => {
    const clock = new ManualClock()
    const tasks = new TaskManager({ clock })
    const seen: TaskEvent[] = []
    const { id } = tasks.createTask({ skill: 'write', input: { a: [1] }, owner: 'eve' })
    tasks.on('task:event', (event) => seen.push(structuredClone(event)))
    const [created] = tasks.events(id)
    for (const step of LIVES[name] ?? []) {
      clock.advance(7)
      step(tasks, id)
    }

    const events = tasks.events(id)
    expect(events).toEqual([created, ...seen])
    expect(events.map((event) => Object.keys(event))).toEqual(
      [created, ...seen].map((event) => Object.keys(event ?? {})),
    )
    expect(events.every((event) => Object.isFrozen(event))).toBe(true)
    const copy = tasks.getTask(id)
    expect(events.reduce<TaskSnapshot | undefined>(evolve, undefined)).toEqual(copy)
    expect(tasks.peekTask(id)).toEqual(copy)
    expect(tasks.peekTask(id)).toBe(tasks.peekTask(id))
    expect(tasks.events(id, { after: 1 })).toEqual(seen)
    expect(tasks.getTask(id)).toEqual(copy)
    expect(tasks.getTask(id)?.history).not.toBe(tasks.peekTask(id)?.history)
  })

  it('keeps no more events than the log may have', () => {
    const tasks = new TaskManager({ eventLogSize: 2 })
    const { id } = tasks.createTask({ skill: 'write' })
    work(tasks, id)
    fail(tasks, id)

    expect(tasks.events(id).map(({ type }) => type)).toEqual(['resync'])
    expect(tasks.events(id, { after: 1 }).map(({ type }) => type)).toEqual(['status', 'status'])
  })

  it('is counted with what it still takes', () => {
    const limits = { maxTotalBytes: 100_000 }
    const tasks = new TaskManager({ limits, maxTasks: Infinity })
    const many = (): number => {
      for (let count = 0; ; count++) {
        try {
          const { id } = tasks.createTask({ skill: 'write' })
          work(tasks, id)
          fail(tasks, id)
        } catch {
          return count
        }
      }
    }

    const count = many()
    for (const { id, state } of tasks.listTasks()) {
      if (state !== 'failed') fail(tasks, id)
      tasks.deleteTask(id)
    }
    expect(many()).toBe(count)
  })
})
