/** Tasks that have failed for good: the list of them. */
import type { Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { begin, get, pass, replicas, settle } from '../durable/support/replicas.js'
import { stateName } from '../spec/support/agent.js'
import { agent, MANAGERS } from '../journal/support/managers.js'

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

  test('why execute threw is stored without the option retry too, within its bound, and not for clients', async () => {
    const thrown: readonly (readonly [unknown, { readonly name: string; readonly message: string }])[] = [
      [new RangeError('Too far'), { name: 'RangeError', message: 'Too far' }],
      ['a text', { name: 'Error', message: 'a text' }],
      [new Error('\0 and \ud83d'), { name: 'Error', message: '\ufffd and \ufffd' }],
      [
        Object.assign(new Error('😀'.repeat(100_000)), { name: 'n'.repeat(1_000) }),
        { name: `${'n'.repeat(99)}…`, message: `${'😀'.repeat(999)}\ufffd…` },
      ],
      [Object.create(null), { name: 'Error', message: 'an object' }],
      [Object.assign(new Error(), { message: { secret: 1 } }), { name: 'Error', message: '[object Object]' }],
    ]
    const { say, reaches, tasks, handler, journal, errors } = await agent(open, (run) => {
      throw thrown[Number(run.text)]?.[0]
    })
    const ids: string[] = []
    for (const [index, [, error]] of thrown.entries()) {
      const id = await say(`${index}`)
      ids.push(id)
      const task = await reaches(id, 'failed')
      expect(task.failure).toEqual({ reason: 'error', count: 1, error })
      expect((await journal(id)).map(({ entry }) => entry)).toMatchObject([
        { kind: 'turn' },
        { kind: 'failure', reason: 'error', count: 1, error },
      ])
      for (const [method, params] of [
        ['GetTask', { id }],
        ['ListTasks', { contextId: task.contextId, includeArtifacts: true }],
      ] as const) {
        const answer = await handler.dispatch({ jsonrpc: '2.0', id: 1, method, params }, {})
        expect(JSON.stringify(answer)).not.toMatch(/Too far|RangeError|a text|😀|"failure"/)
        expect(JSON.stringify(answer)).toContain('TASK_STATE_FAILED')
      }
    }
    expect(new Set((await tasks.deadLetters()).tasks.map(({ id }) => id))).toEqual(new Set(ids))
    expect(errors.map(({ error }) => error)).toEqual(thrown.map(([error]) => error))
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
