/** Tasks that have failed for good: the list of them. */
import type { Execute } from 'a2a-tasks/server'
import { afterAll, describe, expect, test } from 'vitest'
import { begin, get, pass, replicas, settle } from '../durable/support/replicas.js'
import { stateName } from '../spec/support/agent.js'
import { agent, closeManagers, MANAGERS } from './support/managers.js'

afterAll(closeManagers)

describe.each(MANAGERS)('over %s', (_, open) => {
  test('tasks that failed after all attempts are listed, page by page, and others are not', async () => {
    const { say, reaches, tasks, handler, kinds } = await agent(
      open,
      async (run) => {
        if (run.text === 'fail') run.fail('By choice')
        if (run.text === 'throw') await run.step('s', () => Promise.reject(new RangeError('Too far')))
      },
      { retry: { attempts: 2 } },
    )
    const ids: string[] = []
    for (const text of ['throw', 'fail', 'throw', 'ok', 'throw']) {
      const id = await say(text)
      await reaches(id, text === 'ok' ? 'completed' : 'failed')
      if (text === 'throw') ids.push(id)
    }
    const first = await tasks.deadLetters({ pageSize: 2 })
    const { nextCursor = '' } = first
    const second = await tasks.deadLetters({ pageSize: 2, cursor: nextCursor })
    expect([...first.tasks, ...second.tasks].map(({ id }) => id)).toEqual(ids.toReversed())
    expect(second.nextCursor).toBeUndefined()
    expect(first.tasks[0]?.failure).toEqual({
      reason: 'error',
      count: 2,
      error: { name: 'RangeError', message: 'Too far' },
    })
    expect((await tasks.getTask(ids[0] ?? ''))?.failure).toEqual(first.tasks[0]?.failure)
    expect(await kinds(ids[0] ?? '')).toEqual(['turn', 'step', 'attempt', 'step', 'failure'])
    const body = { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: ids[0] } }
    expect(JSON.stringify(await handler.dispatch(body, {}))).not.toMatch(/Too far|RangeError|"failure"/)
  })
})

test('a task that kills its processes is listed', async () => {
  const forEver: Execute = async (run) => {
    run.start()
    await new Promise(() => undefined)
  }
  const { a, b, clock } = replicas(forEver, { manager: { maxRestarts: 0 } })
  const { id } = await begin(a, 'go')
  await settle()
  a.store.fail()
  await pass(clock, async () => stateName((await get(b, id)).status.state) === 'failed')
  expect((await b.tasks.deadLetters()).tasks).toMatchObject([
    { id, failure: { reason: 'restarts', count: 0 } },
  ])
})
