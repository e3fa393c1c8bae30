/** Forks: new tasks that share the past of others. */
import {
  A2AError,
  TaskManager,
  type ForkOptions,
  type Task,
  fork as forkTask,
  redrive,
  redriveAll,
  deadLetters,
  feed as feedOf,
} from 'a2a-tasks'
import type { Execute, RequestHandlerOptions } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { begin, pass, replicas, settle, textOf } from '../server/durable/support/replicas.js'
import { agent, MANAGERS, textsOf, type Agent } from '../server/journal/support/managers.js'

async function codeOf(fork: Promise<Task>): Promise<string> {
  return await fork.then(
    () => 'none',
    (error: unknown) => (A2AError.is(error) ? `${error.code}: ${error.message}` : 'other'),
  )
}

/** A traveller that counts the calls of its steps. */
function traveller(): { readonly execute: Execute; readonly calls: string[] } {
  const calls: string[] = []
  const execute: Execute = async (run) => {
    const weather = await run.step('weather', () => {
      calls.push('weather')
      return 'sun'
    })
    run.artifact({ artifactId: 'log', parts: [{ text: `${weather}. ` }] })
    const city = textOf(await run.requireInput('Which city?'))
    run.artifact({ artifactId: 'log', parts: [{ text: `${city}. ` }] })
    const price = await run.step('price', () => {
      calls.push(`price of ${city}`)
      return city.length
    })
    run.artifact({ artifactId: 'log', parts: [{ text: `${price}.` }] })
    if (price === 6) throw new Error('Too expensive')
  }
  return { execute, calls }
}

async function travelled({ say, reaches }: Agent, city: string, state = 'completed'): Promise<Task> {
  const id = await say('Fly')
  await reaches(id, 'input-required')
  await say(city, id)
  return await reaches(id, state)
}

describe.each(MANAGERS)('over %s', (_, open) => {
  test('reads another answer to a question with a schema, also where the fork shares more of the past', async () => {
    const from = await agent(open, async (run) => {
      const count = await run.requireInput('How many?', { schema: z.int() })
      const price = await run.step('price', () => 10)
      const isSure = await run.requireInput('Sure?', { schema: z.boolean() })
      return `${count} for ${price}: ${isSure}`
    })
    const { tasks, say, reaches, journal } = from
    const id = await say('go')
    for (const answer of ['2', 'yes']) {
      await reaches(id, 'input-required')
      await say(answer, id)
    }
    expect(textsOf(await reaches(id, 'completed'))).toEqual(['2 for 10: true'])
    const step = (await journal(id)).find(({ entry }) => entry.kind === 'step')
    const answers = { 'input#1#1': { parts: [{ data: 3 }] } }
    const fork = await forkTask(tasks, id, { answers, generation: step?.generation })
    await reaches(fork.id, 'input-required')
    await say('no', fork.id)
    expect(textsOf(await reaches(fork.id, 'completed'))).toEqual(['3 for 10: false'])
    const other = await forkTask(tasks, id, { answers: { 'input#2#1': 'no' } })
    expect(textsOf(await reaches(other.id, 'completed'))).toEqual(['2 for 10: false'])
  })

  test('an ended task continues with another answer, and stays as it is', async () => {
    const { execute, calls } = traveller()
    const from = await agent(open, execute)
    const { tasks, reaches, journal, kinds } = from
    const old = await travelled(from, 'Rome')
    expect(textsOf(old)).toEqual(['sun. Rome. 4.'])
    const before = await journal(old.id)
    const { id } = await forkTask(tasks, old.id, { answers: { 'input-required#1': 'Oslo!' } })
    const task = await reaches(id, 'completed')
    expect(textsOf(task)).toEqual(['sun. Oslo!. 5.'])
    expect(task.messages.map((message) => message.parts[0]?.text)).toEqual(['Fly', 'Which city?', 'Oslo!'])
    expect(task.messages.map(({ taskId }) => taskId ?? id)).toEqual([id, id, id])
    expect(task).toMatchObject({ contextId: old.contextId, referenceTaskIds: [old.id] })
    expect(await kinds(id)).toEqual(['turn', 'step', 'question', 'answer', 'step'])
    expect(calls).toEqual(['weather', 'price of Rome', 'price of Oslo!'])
    expect(await tasks.getTask(old.id)).toEqual(old)
    expect(await journal(old.id)).toEqual(before)
    expect(from.errors).toEqual([])
  })

  test('a failed task continues with another output of a step, twice', async () => {
    const { execute, calls } = traveller()
    const from = await agent(open, execute)
    const old = await travelled(from, 'Lisbon', 'failed')
    const fork = (): Promise<Task> => forkTask(from.tasks, old.id, { steps: { 'price#1': 3 } })
    const forks = [await fork(), await fork()]
    expect(new Set([old.id, ...forks.map(({ id }) => id)]).size).toBe(3)
    for (const { id } of forks)
      expect(textsOf(await from.reaches(id, 'completed'))).toEqual(['sun. Lisbon. 3.'])
    expect(calls).toEqual(['weather', 'price of Lisbon'])
    expect(from.errors).toHaveLength(1)
  })

  test('a fork up to a question waits for the answer, and can be forked itself', async () => {
    const { execute, calls } = traveller()
    const from = await agent(open, execute)
    const { tasks, reaches, say, journal } = from
    const old = await travelled(from, 'Rome')
    const question = (await journal(old.id)).find(({ entry }) => entry.kind === 'question')
    const { id } = await forkTask(tasks, old.id, { generation: question?.generation })
    const asked = await reaches(id, 'input-required')
    expect(textsOf(asked)).toEqual(['sun. '])
    expect(asked.message).toMatchObject({ parts: [{ text: 'Which city?' }], taskId: id })
    await say('Bern?', id)
    expect(textsOf(await reaches(id, 'completed'))).toEqual(['sun. Bern?. 5.'])
    const second = await forkTask(tasks, id, { steps: { 'weather#1': 'rain' } })
    await reaches(second.id, 'input-required')
    await say('Po', second.id)
    expect(textsOf(await reaches(second.id, 'completed'))).toEqual(['rain. Po. 2.'])
    const third = await forkTask(tasks, id, {
      steps: { 'weather#1': 'snow' },
      answers: { 'input-required#1': { parts: [{ text: 'Nice' }] } },
    })
    // What was shown before the answer stays.
    expect(textsOf(await reaches(third.id, 'completed'))).toEqual(['sun. Nice. 4.'])
    expect(calls).toEqual(['weather', ...['Rome', 'Bern?', 'Po', 'Nice'].map((city) => `price of ${city}`)])
  })

  test('an answer can be given to the open question of a task', async () => {
    const from = await agent(open, traveller().execute)
    const id = await from.say('Fly')
    await from.reaches(id, 'input-required')
    const fork = await forkTask(from.tasks, id, { answers: { 'input-required#1': 'Oslo' } })
    expect(textsOf(await from.reaches(fork.id, 'completed'))).toEqual(['sun. Oslo. 4.'])
    expect((await from.tasks.getTask(id))?.state).toBe('input-required')
  })

  test('a later turn is forked, without the history after it', async () => {
    const keys: string[] = []
    const from = await agent(open, async (run) => {
      await run.step('s', ({ key }) => void keys.push(key))
      if (run.text !== 'last') void run.requireInput('More?')
    })
    const { say, reaches, tasks } = from
    const id = await say('first')
    const first = await reaches(id, 'input-required')
    await say('last', id)
    await reaches(id, 'completed')
    const waiting = await forkTask(tasks, id, { generation: first.generation })
    expect(waiting).toMatchObject({ state: 'input-required', messages: [{ parts: [{ text: 'first' }] }, {}] })
    await say('last', waiting.id)
    expect((await reaches(waiting.id, 'completed')).messages).toHaveLength(3)
    const again = await forkTask(tasks, id)
    await reaches(again.id, 'completed')
    expect(keys).toEqual([`${id}/s#1`, `${id}/s#1@2`, `${waiting.id}/s#1@2`])
  })

  test('an answer that is none, or to no question, is refused with its name', async () => {
    const from = await agent(open, traveller().execute)
    const { id } = await travelled(from, 'Rome')
    const refused = [
      [
        { 'input-required#2': 'Oslo' },
        'answers.input-required#2 must be a question in the past of the turn: known are input-required#1',
      ],
      [{ 1: 'Oslo' }, 'answers.1 must be a question in the past of the turn: known are input-required#1'],
      [{ 'input-required#1': 5 }, 'answers.input-required#1 must be a text or a message { parts }, got 5'],
      [
        { 'input-required#1': { text: 'Oslo' } },
        'answers.input-required#1 must be a text or a message { parts }, got an object',
      ],
      [{ 'input-required#1': { parts: [] } }, 'message.parts must not be empty'],
    ] as const
    for (const [answers, text] of refused)
      expect(await codeOf(forkTask(from.tasks, id, { answers: answers as never }))).toBe(
        `INVALID_PARAMS: ${text}`,
      )
    expect(await from.tasks.size()).toBe(1)
  })

  test('a task that cannot be forked is refused, and leaves no task', async () => {
    const from = await agent(open, async (run) => {
      if (run.text === 'plain') return 'Done'
      await run.step('price', () => 1)
      return 'Done'
    })
    const { tasks, say, reaches } = from
    const plain = await reaches(await say('plain'), 'completed')
    const { id, generation } = await reaches(await say('steps'), 'completed')
    const texts: string[] = [await codeOf(forkTask(tasks, 'unknown'))]
    const options: ForkOptions[] = [
      { generation: generation + 1 },
      { generation: 1 },
      { steps: { 'prize#1': 1 } },
      { answers: { 'input-required#1': 'Rome' } },
      { steps: { 'price#1': () => 1 } },
      { steps: 'all' as never },
      { turn: 1 } as never,
    ]
    for (const each of options) texts.push(await codeOf(forkTask(tasks, id, each)))
    texts.push(await codeOf(forkTask(tasks, plain.id)))
    expect(texts.map((text) => text.replaceAll(id, 'ID'))).toMatchInlineSnapshot(`
      [
        "TASK_NOT_FOUND: Task not found: unknown",
        "INVALID_PARAMS: generation must be one of the task, 1 to 7, got 8",
        "INVALID_PARAMS: taskId is a task without a journal up to here: its code has recorded nothing",
        "INVALID_PARAMS: steps.prize#1 must be a step in the past of the turn: known are price#1",
        "INVALID_PARAMS: answers.input-required#1 must be a question in the past of the turn: there is none",
        "INVALID_PARAMS: steps.price#1 must be data, got a function: return plain data",
        "INVALID_PARAMS: steps must be an object, got a string",
        "INVALID_PARAMS: fork(): "turn" is unknown; known are generation, answers, steps",
        "INVALID_PARAMS: taskId is a task without a journal up to here: its code has recorded nothing",
      ]
    `)
    expect(await tasks.size()).toBe(2)
  })
})

test('any replica continues a fork, also when the one that made it dies', async () => {
  const { execute, calls } = traveller()
  const { a, b, clock } = replicas(execute, { manager: { recover: 'fail' } })
  const { id } = await begin(a, 'Fly')
  await pass(clock, async () => (await b.tasks.stateOf(id)) === 'input-required')
  a.store.fail('orphans', 'acquire')
  const fork = await forkTask(a.tasks, id, { answers: { 'input-required#1': 'Rome' } })
  a.store.fail()
  await settle()
  await pass(clock, async () => (await b.tasks.stateOf(fork.id)) === 'completed')
  expect(calls).toEqual(['weather', 'price of Rome'])
})

describe('over a TaskManager, the limits hold:', () => {
  const waits: Execute = async (run) => {
    await run.step('s', () => 1)
    if (run.task.referenceTaskIds !== undefined) await new Promise(() => undefined)
  }

  async function started(
    options: object,
    limits: RequestHandlerOptions['limits'] = {},
  ): Promise<[Agent, string]> {
    const from = await agent((clock) => new TaskManager({ clock, ...options }), waits, { limits })
    const { id } = await from.reaches(await from.say('go'), 'completed')
    return [from, id]
  }

  test('maxTasks', async () => {
    const [{ tasks }, id] = await started({ maxTasks: 1, whenFull: 'reject' })
    expect(await codeOf(forkTask(tasks, id))).toMatch('TASK_LIMIT_REACHED')
  })

  test('maxRuns', async () => {
    const [{ tasks }, id] = await started({}, { maxRuns: 1 })
    await forkTask(tasks, id)
    await settle()
    expect(await codeOf(forkTask(tasks, id))).toMatch('UNAVAILABLE')
    expect(tasks.size()).toBe(2)
  })

  test('maxRunsPerOwner', async () => {
    const [{ tasks }, id] = await started({}, { maxRunsPerOwner: 1 })
    await forkTask(tasks, id)
    await settle()
    expect(await codeOf(forkTask(tasks, id))).toMatch('RATE_LIMITED')
  })

  test('eventLogSize', async () => {
    const [{ tasks }, id] = await started({ eventLogSize: 2 })
    expect(await codeOf(forkTask(tasks, id))).toMatch('more events than eventLogSize')
  })
})

describe.each(MANAGERS)('over %s, where a user has as many tasks as there may be', (_, open) => {
  test('neither a fork nor a redrive makes one more', async () => {
    let isDown = true
    const execute: Execute = async (run) => {
      if (run.text === 'ask') await run.requireInput('?')
      await run.step('s', () => 1)
      if (isDown) throw new Error('Down')
    }
    const { tasks, say, reaches, handler, errors } = await agent(open, execute, {
      retry: { attempts: 1 },
      limits: { maxTasksPerOwner: 1 },
    })
    const dead = await say('go')
    await reaches(dead, 'failed')
    const asked = await say('ask')
    await reaches(asked, 'input-required')
    isDown = false
    const refused = await Promise.all(
      [forkTask(tasks, asked), forkTask(tasks, dead), redrive(tasks, dead)].map(codeOf),
    )
    for (const code of refused) expect(code).toMatch('RATE_LIMITED: Too many tasks of one user')
    expect((await redriveAll(tasks)).failed).toMatchObject([{ from: dead, error: { code: 'RATE_LIMITED' } }])
    expect((await deadLetters(tasks)).tasks.map(({ id }) => id)).toEqual([dead])
    expect(await tasks.size()).toBe(2)
    await tasks.cancelTask(asked)
    await reaches((await redrive(tasks, dead)).id, 'completed')
    const { id } = await forkTask(tasks, asked)
    await reaches(id, 'input-required')
    expect((await redrive(tasks, dead)).state).toBe('completed')
    expect(await codeOf(forkTask(tasks, asked))).toMatch('RATE_LIMITED')
    expect(errors).toHaveLength(1)
    await handler.close({ graceMs: 1 })
    expect(await codeOf(forkTask(tasks, asked))).toBe('none')
  })
})

test('a fork without a handler is continued by the next one', async () => {
  const { execute } = traveller()
  const tasks = new TaskManager()
  const from = await agent(() => tasks, execute)
  const old = await travelled(from, 'Rome')
  await from.handler.close()
  const { id } = await forkTask(tasks, old.id, { answers: { 'input-required#1': 'Oslo' } })
  expect(tasks.stateOf(id)).toBe('working')
  const next = await agent(() => tasks, execute)
  expect(textsOf(await next.reaches(id, 'completed'))).toEqual(['sun. Oslo. 4.'])
})

test('the feed has all events of a fork', async () => {
  const tasks = new TaskManager({ feedSize: 100 })
  const from = await agent(() => tasks, traveller().execute)
  const old = await travelled(from, 'Rome')
  const feed = feedOf(tasks)
  expect((await feed.next()).value?.type).toBe('resync')
  const { id } = await forkTask(tasks, old.id)
  const { generation } = await from.reaches(id, 'completed')
  const read: unknown[] = []
  while (read.length < generation) read.push((await feed.next()).value)
  const events = tasks.events(id)
  expect(read).toMatchObject(events.map((event) => ({ type: 'event', taskId: id, event })))
})
