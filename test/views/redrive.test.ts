/** Dead letters that are redriven: new tasks that continue them. */
import {
  A2AError,
  TaskManager,
  type Task,
  redrive,
  deadLetters,
  fork as forkTask,
  redriveAll,
  restoreTasks,
} from 'a2a-tasks'
import type { Execute } from 'a2a-tasks/server'
import { limitForks } from '../../src/views/room.js'
import { describe, expect, test } from 'vitest'
import { begin, cluster, pass, settle } from '../server/durable/support/replicas.js'
import { agent, MANAGERS, textsOf } from '../server/journal/support/managers.js'

/** Code whose service is down at first. */
function flaky(): { readonly execute: Execute; readonly keys: string[]; readonly mend: () => void } {
  const keys: string[] = []
  let isDown = true
  const execute: Execute = async (run) => {
    await run.step('before', ({ key }) => void keys.push(key))
    run.artifact({ artifactId: 'log', parts: [{ text: 'Begun. ' }] })
    const price = await run.step('price', ({ key }) => {
      keys.push(key)
      if (isDown) throw new Error('Down')
      return 7
    })
    run.artifact({ artifactId: 'log', parts: [{ text: `For ${price} by attempt ${run.attempt}.` }] })
  }
  return { execute, keys, mend: () => (isDown = false) }
}

const RETRY = { retry: { attempts: 2 } } as const

async function codeOf(redriven: Promise<Task>): Promise<string> {
  return await redriven.then(
    () => 'none',
    (error: unknown) => (A2AError.is(error) ? `${error.code}: ${error.message}` : 'other'),
  )
}

describe.each(MANAGERS)('over %s', (_, open) => {
  test('a dead letter is continued once: the failed step runs again, with the same key', async () => {
    const { execute, keys, mend } = flaky()
    const { tasks, say, reaches, errors } = await agent(open, execute, RETRY)
    const id = await say('go')
    const old = await reaches(id, 'failed')
    mend()
    const [first, second] = await Promise.all([redrive(tasks, id), redrive(tasks, id)])
    expect(second.id).toBe(first.id)
    const task = await reaches(first.id, 'completed')
    expect(textsOf(task)).toEqual(['Begun. For 7 by attempt 1.'])
    expect(task).toMatchObject({ contextId: old.contextId, referenceTaskIds: [id] })
    expect(task.failure).toBeUndefined()
    expect(keys).toEqual([`${id}/before#1`, `${id}/price#1`, `${id}/price#1`, `${id}/price#1`])
    expect(await redrive(tasks, id)).toEqual(task)
    expect(await deadLetters(tasks)).toEqual({ tasks: [] })
    expect(await tasks.getTask(id)).toEqual(old)
    expect(await tasks.size()).toBe(2)
    expect(errors).toHaveLength(2)
  })

  test('calls that wait for room make one task', async () => {
    const { execute, mend } = flaky()
    const { tasks, say, reaches } = await agent(open, execute, RETRY)
    const id = await say('go')
    await reaches(id, 'failed')
    mend()
    limitForks(tasks, () => Promise.resolve())
    const [first, second] = await Promise.all([redrive(tasks, id), redrive(tasks, id)])
    expect(second.id).toBe(first.id)
    await reaches(first.id, 'completed')
    expect(await tasks.size()).toBe(2)
  })

  test('a fork of a redriven task has its own keys', async () => {
    const { execute, keys, mend } = flaky()
    const { tasks, say, reaches } = await agent(open, execute, RETRY)
    const id = await say('go')
    await reaches(id, 'failed')
    mend()
    const { id: redriven } = await redrive(tasks, id)
    await reaches(redriven, 'completed')
    const fork = await forkTask(tasks, redriven, { steps: { 'before#1': 1 } })
    await reaches(fork.id, 'completed')
    expect(keys.at(-1)).toBe(`${fork.id}/price#1`)
  })

  test('a task that fails again is a dead letter of its own, with the same keys', async () => {
    const { execute, keys, mend } = flaky()
    const { tasks, say, reaches } = await agent(open, execute, RETRY)
    const id = await say('go')
    await reaches(id, 'failed')
    const second = await redrive(tasks, id)
    await reaches(second.id, 'failed')
    expect((await deadLetters(tasks)).tasks.map((task) => task.id)).toEqual([second.id])
    mend()
    await reaches((await redrive(tasks, second.id)).id, 'completed')
    expect(new Set(keys)).toEqual(new Set([`${id}/before#1`, `${id}/price#1`]))
    expect(keys).toHaveLength(6)
  })

  test('all that match are redriven, and others stay', async () => {
    const { execute, mend } = flaky()
    const { tasks, say, reaches } = await agent(open, execute, RETRY)
    const ids: string[] = []
    for (const text of ['a', 'b', 'c']) {
      const id = await say(text)
      await reaches(id, 'failed')
      ids.push(id)
    }
    mend()
    const [a, b, c] = ids
    const { redriven, failed } = await redriveAll(tasks, { where: ({ id }) => id !== b })
    expect(failed).toEqual([])
    expect(redriven.map(({ from }) => from)).toEqual([c, a])
    for (const { taskId } of redriven) await reaches(taskId, 'completed')
    expect((await deadLetters(tasks)).tasks.map(({ id }) => id)).toEqual([b])
  })

  test('a task that is no dead letter is refused', async () => {
    const { tasks, say, reaches } = await agent(open, () => 'Done')
    const id = await say('go')
    await reaches(id, 'completed')
    expect(await codeOf(redrive(tasks, id))).toMatch(/^INVALID_PARAMS: .*is no dead letter/)
    expect(await codeOf(redrive(tasks, 'unknown'))).toMatch('TASK_NOT_FOUND')
  })
})

test('two replicas make one task of a dead letter, also of one that had recorded nothing', async () => {
  let isDown = true
  const seen: unknown[] = []
  const execute: Execute = async (run) => {
    run.start()
    if (isDown) await new Promise(() => undefined)
    seen.push(run.text, run.task.id)
  }
  const { all, clock } = cluster([execute, execute, execute], { manager: { maxRestarts: 0 } })
  const [dead, a, b] = all
  if (dead === undefined || a === undefined || b === undefined) throw new Error('There are three')
  const { id } = await begin(dead, 'go')
  await settle()
  dead.store.fail()
  await pass(clock, async () => (await a.tasks.stateOf(id)) === 'failed')
  isDown = false
  const [first, second] = await Promise.all([redrive(a.tasks, id), redrive(b.tasks, id)])
  expect(second.id).toBe(first.id)
  await pass(clock, async () => (await b.tasks.stateOf(first.id)) === 'completed')
  expect(seen).toEqual(['go', first.id])
  expect(await a.tasks.size()).toBe(2)
})

test('a dead letter of other work than that of a handler is refused', async () => {
  const tasks = new TaskManager()
  const failure = { reason: 'restarts', count: 3, worker: 'gateway' } as const
  const createdAt = new Date().toISOString()
  restoreTasks(tasks, [{ id: 'a', skill: 'chat', state: 'failed', createdAt, failure }])
  expect(await codeOf(redrive(tasks, 'a'))).toMatch(/^UNSUPPORTED_OPERATION: .*"gateway"/)
  expect((await redriveAll(tasks)).failed).toMatchObject([{ from: 'a' }])
})
