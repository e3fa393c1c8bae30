/** Turns of a manager that was saved, and restored into another one. */
import { TaskManager, type SavedTask, saveTasks, restoreTasks, redrive, deadLetters } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import type { Execute, RequestHandlerOptions } from 'a2a-tasks/server'
import type { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { child, until } from '../server/journal/support/children.js'
import { agent, textsOf, type Agent, type Open } from '../server/journal/support/managers.js'
import { textOf } from '../server/durable/support/replicas.js'
import { databaseFile } from '../stores/sqlite/support/sqlite.js'

type Options = Partial<Omit<RequestHandlerOptions, 'tasks' | 'execute' | 'clock'>>

async function saved({ tasks }: Agent): Promise<SavedTask[]> {
  return JSON.parse(JSON.stringify(await saveTasks(tasks))) as SavedTask[]
}

/** Stores whose leases last by the clock of the test. */
const MANAGERS = {
  TaskManager: (clock: ManualClock) => new TaskManager({ clock }),
  memoryStore: (clock: ManualClock) =>
    new DurableTaskManager({ store: memoryStore({ now: () => clock.now() }), clock }),
  SQLite: async (clock: ManualClock) => {
    const file = databaseFile()
    onTestFinished(() => file.remove())
    return new DurableTaskManager({ store: await file.open({ now: () => clock.now() }), clock })
  },
} as const satisfies Record<string, Open>

const PAIRS = [
  ['TaskManager', 'TaskManager'],
  ['TaskManager', 'SQLite'],
  ['SQLite', 'memoryStore'],
  ['memoryStore', 'TaskManager'],
] as const

/** As `until`, while time passes. */
async function inTime({ clock }: Agent, condition: () => boolean | Promise<boolean>): Promise<void> {
  await until(() => {
    clock.advance(100)
    return condition()
  })
}

describe.each(PAIRS)('from %s to %s: the turn of a restored task', (first, second) => {
  function started(execute: Execute, options: Options = {}): Promise<Agent> {
    return agent(MANAGERS[first], execute, options)
  }

  /** Another process, with the tasks as they were saved. */
  async function restarted(from: Agent, execute: Execute, options: Options = {}): Promise<Agent> {
    const given = await saved(from)
    return await agent(
      async (clock) => {
        clock.advance(60_000)
        const tasks = await MANAGERS[second](clock)
        await restoreTasks(tasks, given)
        return tasks
      },
      execute,
      options,
    )
  }

  test('continues where it was, and shows nothing twice', async () => {
    const done: string[] = []
    let isFirst = true
    const execute: Execute = async (run) => {
      run.artifact({ artifactId: 'log', parts: [{ text: 'Begun. ' }] })
      const ticket = run.artifact('Ticket')
      const price = await run.step('price', () => {
        done.push('price')
        return 7
      })
      run.artifact({ artifactId: 'log', parts: [{ text: `For ${price}. ` }] })
      run.artifact({ artifactId: 'late', parts: [{ text: 'Late' }] })
      if (isFirst) await new Promise<void>(() => undefined)
      run.artifact({ artifactId: ticket, parts: [{ text: ', booked' }] })
      run.artifact({ artifactId: 'log', parts: [{ text: 'Done.' }] })
    }
    const before = await started(execute)
    const id = await before.say('go')
    await until(async () => (await saved(before))[0]?.artifacts?.length === 3)
    isFirst = false
    const after = await restarted(before, execute)
    const task = await after.reaches(id, 'completed')
    expect(textsOf(task)).toEqual(['Begun. For 7. Done.', 'Ticket, booked', 'Late'])
    expect(done).toEqual(['price'])
    expect(await after.kinds(id)).toEqual(['turn', 'step'])
    expect(after.errors).toEqual([])
  })

  test('shows nothing twice that it had written before it read the conversation', async () => {
    let isFirst = true
    let hasRead = false
    const execute: Execute = async (run) => {
      const answer = textOf(await run.requireInput('Which?'))
      run.artifact({ artifactId: 'log', parts: [{ text: 'Begun. ' }] })
      run.artifact({ artifactId: 'log', parts: [{ text: `${run.messages.length}: ` }] })
      hasRead = true
      if (isFirst) await new Promise<void>(() => undefined)
      return answer
    }
    const before = await started(execute)
    const id = await before.say('go')
    await before.reaches(id, 'input-required')
    await before.say('this', id)
    await inTime(before, async () => hasRead && (await before.kinds(id)).includes('read'))
    isFirst = false
    const after = await restarted(before, execute)
    expect(textsOf(await after.reaches(id, 'completed'))).toEqual(['Begun. 3: ', 'this'])
    expect(after.errors).toEqual([])
  })

  test('continues when it is restored again, and shows nothing twice', async () => {
    const done: string[] = []
    let stage = 1
    const execute: Execute = async (run) => {
      const say = (text: string): string => run.artifact({ artifactId: 'log', parts: [{ text }] })
      const reach = (at: number): unknown => (at === stage ? new Promise(() => undefined) : undefined)
      say('A')
      await run.step('one', () => void done.push('one'))
      say('B')
      await reach(1)
      await run.step('two', () => void done.push('two'))
      say('C')
      await reach(2)
      say('D')
    }
    const shows = async (at: Agent, text: string): Promise<boolean> => {
      const [task] = await at.tasks.listTasks()
      return task !== undefined && textsOf(task).join() === text
    }
    const before = await started(execute)
    const id = await before.say('go')
    await inTime(before, () => shows(before, 'AB'))
    stage = 2
    const after = await restarted(before, execute)
    await inTime(after, () => shows(after, 'ABC'))
    stage = 3
    const again = await restarted(after, execute)
    expect(textsOf(await again.reaches(id, 'completed'))).toEqual(['ABCD'])
    expect(done).toEqual(['one', 'two'])
    expect((await again.journal(id)).map(({ entry }) => entry.kind)).toEqual(['turn', 'step', 'step'])
  })

  test('continues if it has recorded a value, and not if it has recorded nothing', async () => {
    const calls: string[] = []
    let isFirst = true
    const execute: Execute = async (run) => {
      calls.push(run.text)
      run.start()
      if (run.text === 'mark') run.now()
      if (isFirst) await new Promise<void>(() => undefined)
      return `Done: ${run.text}`
    }
    const before = await started(execute)
    const plain = await before.say('plain')
    const marked = await before.say('mark')
    await until(async () => (await before.kinds(marked)).includes('value'))
    await before.reaches(plain, 'working')
    isFirst = false
    const after = await restarted(before, execute)
    expect(textsOf(await after.reaches(marked, 'completed'))).toEqual(['Done: mark'])
    expect(await after.tasks.stateOf(plain)).toBe('working')
    expect(calls).toEqual(['plain', 'mark', 'mark'])
    await after.tasks.cancelTask(plain)
  })

  test('continues by the answer to its question', async () => {
    const execute: Execute = async (run) => `${run.text} to ${textOf(await run.requireInput('Which city?'))}`
    const before = await started(execute)
    const id = await before.say('Fly')
    await before.reaches(id, 'input-required')
    const after = await restarted(before, execute)
    expect((await after.reaches(id, 'input-required')).message).toMatchObject({
      parts: [{ text: 'Which city?' }],
    })
    await after.say('Lisbon', id)
    expect(textsOf(await after.reaches(id, 'completed'))).toEqual(['Fly to Lisbon'])
  })

  test('continues by a time beside its question, and by a signal', async () => {
    const execute: Execute = async (run) => {
      const answer = run.requireInput('Which city?')
      await run.sleep('a while', { ms: 90_000 })
      const paid = await run.waitFor<string>('paid')
      return `${paid} ${textOf(await answer)}`
    }
    const before = await started(execute)
    const id = await before.say('go')
    await before.reaches(id, 'input-required')
    const after = await restarted(before, execute)
    await until(async () => {
      after.clock.advance(1_000)
      return (await after.kinds(id)).includes('wait')
    })
    const again = await restarted(after, execute)
    await again.tasks.signal(id, 'paid', 'by Ada')
    await inTime(again, async () => (await again.kinds(id)).includes('received'))
    await again.say('Lisbon', id)
    expect(textsOf(await again.reaches(id, 'completed'))).toEqual(['by Ada Lisbon'])
  })

  test('follows the agent that it has delegated to', async () => {
    let finish: (text: string) => void = () => {}
    const work = new Promise<string>((resolve) => (finish = resolve))
    const { client, received } = await child(() => work)
    const execute: Execute = async (run) => (await run.delegate('book', client, 'Lisbon')).text
    const before = await started(execute)
    const id = await before.say('go')
    await until(async () => (await before.kinds(id)).includes('handle'))
    const after = await restarted(before, execute)
    await before.tasks.destroy()
    finish('Booked')
    await inTime(after, async () => (await after.tasks.stateOf(id)) === 'completed')
    const task = await after.reaches(id, 'completed')
    expect(textsOf(task)).toEqual(['Booked'])
    expect(received).toEqual([`${id}/book#1`])
  })

  test('has the user and the metadata of its message', async () => {
    const users: unknown[] = []
    const execute: Execute = async (run) => {
      users.push(run.principal)
      return textOf(await run.requireInput('Which city?'))
    }
    const options: Options = {
      authenticate: () => ({ id: 'ada', name: 'Ada' }),
      principalOf: (id) => ({ id, name: 'Ada, found again' }),
    }
    const before = await started(execute, options)
    const id = await before.say('go')
    await before.reaches(id, 'input-required')
    const after = await restarted(before, execute, options)
    await after.say('Lisbon', id)
    await after.reaches(id, 'completed')
    expect(users).toEqual([
      { id: 'ada', name: 'Ada' },
      { id: 'ada', name: 'Ada, found again' },
    ])
  })

  test('is continued by one handler', async () => {
    let calls = 0
    let isFirst = true
    const execute: Execute = async (run) => {
      calls += 1
      await run.step('one', () => 1)
      if (isFirst) await new Promise<void>(() => undefined)
      await run.sleep('a while', { ms: 1_000_000 })
    }
    const before = await started(execute)
    const id = await before.say('go')
    await until(async () => (await before.kinds(id)).includes('step'))
    isFirst = false
    const after = await restarted(before, execute)
    await inTime(after, () => calls === 2)
    await agent(() => after.tasks, execute)
    await inTime(after, async () => (await after.kinds(id)).includes('sleep'))
    expect(calls).toBe(2)
  })

  test('is not redriven twice', async () => {
    let isDown = true
    const execute: Execute = async (run) => {
      await run.step('one', () => 1)
      if (isDown) throw new Error('Down')
    }
    const before = await started(execute)
    const id = await before.say('go')
    await before.reaches(id, 'failed')
    isDown = false
    const next = await redrive(before.tasks, id)
    await before.reaches(next.id, 'completed')
    const after = await restarted(before, execute)
    expect(await deadLetters(after.tasks)).toEqual({ tasks: [] })
    expect((await redrive(after.tasks, id)).id).toBe(next.id)
    expect(await after.tasks.size()).toBe(2)
    const dead = (await saved(after)).find((task) => task.id === id)
    expect(dead?.redriven).toBe(next.id)
    const wrong = [{ ...dead, redriven: 1 }] as unknown as SavedTask[]
    expect(() => restoreTasks(new TaskManager(), wrong)).toThrow('tasks[0].redriven')
  })

  test('is refused if its history is invalid', async () => {
    const before = await started((run) => run.step('one', () => 1).then(String))
    const id = await before.say('go')
    await before.reaches(id, 'completed')
    const [task] = await saved(before)
    const restore = (recorded: unknown): void =>
      restoreTasks(new TaskManager(), [{ ...task, recorded } as SavedTask])
    expect(() => restore([{ generation: 1 }])).toThrow('tasks[0].recorded[0].timestamp')
    const entry = { generation: 2, timestamp: '2026-01-01T00:00:00.000Z' }
    expect(() => restore([{ ...entry, entry: { kind: 'nothing' } }])).toThrow(
      'tasks[0].recorded[0].entry.kind',
    )
    expect(() => restore([{ ...entry, entry: { kind: 'turn' } }])).toThrow(
      'tasks[0].recorded[0].entry.messageId',
    )
    const message = { messageId: 'c', parts: [{ text: 'on' }] }
    for (const [path, continued] of Object.entries({
      continued: 'on',
      'continued.round': { message, read: [] },
      'continued.read[0]': { round: 1, message, read: [1] },
      'continued.message.parts': { round: 1, message: { messageId: 'c' }, read: [] },
    })) {
      const turn = { kind: 'turn', messageId: 'm', continued }
      expect(() => restore([{ ...entry, entry: turn }])).toThrow(`tasks[0].recorded[0].entry.${path} `)
    }
    expect(() => restore([entry, entry])).toThrow('tasks[0].recorded[0].entry')
    expect(() => restore([{ ...entry, generation: 99 }])).toThrow('tasks[0].recorded[0].generation')
  })
})
