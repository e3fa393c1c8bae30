/** Budgets of tasks: what happens once a task has spent more, whatever dies. */
import { A2AError, deadLetters, redrive, spendingOf, TaskManager, type Amounts, type Task } from 'a2a-tasks'
import { A2AClient, type RemoteTask } from 'a2a-tasks/client'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import {
  createRequestHandler,
  textOf,
  type BudgetExceeded,
  type Execute,
  type Principal,
  type RequestHandlerOptions,
} from 'a2a-tasks/server'
import { testDurable } from 'a2a-tasks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { begin, replicas, resultOf, stateAt } from '../durable/support/replicas.js'
import { child, until } from '../journal/support/children.js'

type Tasks = TaskManager | DurableTaskManager
type Options = Omit<RequestHandlerOptions<Principal, Tasks>, 'card' | 'execute' | 'tasks'>

interface Agent {
  readonly tasks: Tasks
  readonly errors: unknown[]
  /** Sends a message, and resolves to the task when it has ended. */
  readonly ask: (text?: string) => Promise<RemoteTask>
}

function serve(tasks: Tasks, execute: Execute, options: Options): Agent {
  const errors: unknown[] = []
  const handler = createRequestHandler<Principal, Tasks>({
    card: { name: 'Agent', url: 'http://agent.test' },
    onError: (error) => errors.push(error),
    ...{ tasks, execute, anonymous: 'shared', ...options },
  })
  onTestFinished(async () => {
    await handler.close({ graceMs: 0 })
    await tasks.destroy()
  })
  const client = new A2AClient({
    card: handler.card,
    fetch: (url, init) => handler.fetch(new Request(url, init)),
  })
  const ask: Agent['ask'] = async (text = 'go') => {
    const { task } = (await client.run(text)) as { readonly task?: RemoteTask }
    if (task === undefined) throw new Error('There is no task')
    return task
  }
  return { tasks, errors, ask }
}

const managers = [
  ['memory', () => new TaskManager()],
  ['a store', () => new DurableTaskManager({ store: memoryStore() })],
] as const

function statusOf(task: RemoteTask): string {
  const { message } = task
  return message === undefined ? '' : textOf(message)
}

const FAILED = 'The task has spent 0.6 cost, more than its budget of 0.5'

describe.each(managers)('over %s, a task', (_, open) => {
  test('that has spent more fails, and begins no further step', async () => {
    const begun: string[] = []
    const { ask, tasks, errors } = serve(
      open(),
      async (run) => {
        for (const name of ['one', 'two', 'three']) {
          await run.step(name, () => {
            begun.push(name)
            run.spend({ cost: 0.3, outputTokens: 7 })
          })
        }
        return 'done'
      },
      { limits: { budget: { cost: 0.5, outputTokens: 100 } } },
    )
    const task = await ask()
    expect([task.state, statusOf(task)]).toEqual(['failed', FAILED])
    expect(begun).toEqual(['one', 'two'])
    expect(spendingOf(task)?.total).toEqual({ cost: 0.6, outputTokens: 14 })
    const [reason, ...others] = errors
    expect(others).toEqual([])
    expect(A2AError.is(reason, 'BUDGET_EXCEEDED') && reason.data).toEqual({
      ...{ taskId: task.id, limit: 'limits.budget', unit: 'cost', max: 0.5, spent: 0.6 },
    })
    const failure = (await tasks.journal(task.id)).at(-1)?.entry
    expect(failure).toMatchObject({ kind: 'failure', error: { code: 'BUDGET_EXCEEDED' } })
  })

  test('that has spent exactly its budget goes on until it spends more', async () => {
    const { ask } = serve(
      open(),
      async (run) => {
        await run.step('search', () => run.spend({ searches: 3 }))
        await run.step('write', () => run.spend({ searches: 0 }))
        if (run.text === 'more') run.spend({ searches: 1 })
        return 'done'
      },
      { limits: { budget: { searches: 3 } } },
    )
    expect((await ask('enough')).state).toBe('completed')
    expect((await ask('more')).state).toBe('failed')
  })

  test('stops at run.spend, and its signal aborts', async () => {
    const seen: unknown[] = []
    const { ask } = serve(
      open(),
      (run) => {
        run.signal.addEventListener('abort', () => seen.push(run.signal.reason))
        try {
          for (;;) run.spend({ cost: 0.2 })
        } catch (error) {
          seen.push(error)
          throw error
        }
      },
      { limits: { budget: { cost: 0.5 } }, retry: { attempts: 3, isRetryable: () => true } },
    )
    const task = await ask()
    expect([task.state, statusOf(task)]).toEqual(['failed', FAILED])
    expect(seen).toHaveLength(2)
    expect(seen.every((error) => A2AError.is(error, 'BUDGET_EXCEEDED'))).toBe(true)
  })

  test('goes on with what onBudget adds, and nothing begins before it has', async () => {
    const asked: Omit<BudgetExceeded, 'task'>[] = []
    const order: string[] = []
    const { ask, tasks } = serve(
      open(),
      async (run) => {
        for (const name of ['one', 'two', 'three', 'four']) {
          await run.step(name, () => {
            order.push(name)
            run.spend({ cost: 0.3 })
          })
        }
        return 'done'
      },
      {
        limits: { budget: { cost: 0.5 } },
        async onBudget({ task, ...exceeded }) {
          asked.push(exceeded)
          await new Promise((resolve) => setTimeout(resolve))
          order.push(`more for ${task.state}`)
          return { cost: 0.5 }
        },
      },
    )
    const task = await ask()
    expect(task.state).toBe('completed')
    expect(order).toEqual(['one', 'two', 'more for working', 'three', 'four'])
    expect(asked).toEqual([
      { limit: 'limits.budget', unit: 'cost', max: 0.5, spent: 0.6 },
      { limit: 'limits.budget', unit: 'cost', max: 1, spent: 1.2 },
    ])
    expect(spendingOf(task)).toEqual({ total: { cost: 1.2 }, models: {}, granted: { cost: 0.5 } })
    const grants = (await tasks.journal(task.id)).filter(({ entry }) => entry.kind === 'grant')
    // The code has returned before the second answer: it needs no more.
    expect(grants).toHaveLength(1)
  })

  test.each([
    ['nothing', () => undefined, 0],
    ['too little', () => ({ cost: 0.05 }), 0],
    ['of another unit', () => ({ searches: 5 }), 0],
    ['what is no amount', () => ({ cost: -1 }), 1],
    ['nothing, but throws', () => Promise.reject(new Error('No')), 1],
  ])('fails if onBudget returns %s', async (_, onBudget, failures) => {
    const { ask, errors } = serve(
      open(),
      async (run) => {
        await run.step('one', () => run.spend({ cost: 0.6 }))
        return await run.step('two', () => 'done')
      },
      { limits: { budget: { cost: 0.5 } }, onBudget },
    )
    const task = await ask()
    expect([task.state, statusOf(task)]).toEqual(['failed', FAILED])
    expect(errors).toHaveLength(failures + 1)
  })

  test('that has failed is a dead letter, and continues with a larger budget', async () => {
    let most = 0.5
    const { ask, tasks } = serve(
      open(),
      async (run) => {
        await run.step('one', () => run.spend({ cost: 0.4 }))
        run.spend({ cost: 0.2 })
        return await run.step('two', () => 'done')
      },
      { limits: { budget: { cost: 0.5 } }, onBudget: ({ max }) => ({ cost: most - max }) },
    )
    const { id } = await ask()
    expect((await deadLetters(tasks)).tasks.map((task) => task.id)).toEqual([id])
    most = 1
    const again = await redrive(tasks, id)
    await until(async () => (await tasks.getTask(again.id))?.state === 'completed')
    expect(spendingOf((await tasks.getTask(again.id)) ?? undefined)?.granted).toEqual({ cost: 0.5 })
  })
})

describe('at every crash', () => {
  const resultOfTask = ({ state, message, metadata }: Task): unknown => ({
    ...{ state, text: typeof message === 'object' ? textOf(message) : message },
    spent: spendingOf({ metadata })?.total,
  })

  test('what was spent stays, nothing more begins, and the task fails once', async () => {
    const begun: string[] = []
    const execute: Execute = async (run) => {
      run.spend({ cost: 0.4 })
      await run.step('first', () => 1)
      run.spend({ cost: 0.2 })
      begun.push(await run.step('second', () => 'begun'))
      return 'done'
    }
    const { task, crashPoints } = await testDurable(execute, {
      messages: ['go'],
      handler: { limits: { budget: { cost: 0.5 } }, onError: () => undefined },
      resultOf: resultOfTask,
    })
    expect(resultOfTask(task)).toEqual({ state: 'failed', text: FAILED, spent: { cost: 0.6 } })
    expect(crashPoints).toBeGreaterThan(4)
    expect(begun).toEqual([])
  })

  test('of a step that is done again, the task fails as soon as all attempts have spent more', async () => {
    const execute: Execute = async (run) => {
      await run.step('first', () => run.spend({ cost: 0.6 }))
      return await run.step('second', () => 'done')
    }
    const spent: number[] = []
    await testDurable(execute, {
      messages: ['go'],
      handler: { limits: { budget: { cost: 0.5 } }, onError: () => undefined },
      resultOf: ({ state, metadata }) => {
        spent.push(spendingOf({ metadata })?.total['cost'] ?? 0)
        return state
      },
    })
    expect(new Set(spent)).toEqual(new Set([0.6]))
  })

  test('a step that a crash cuts is granted again what it spends', async () => {
    const execute: Execute = async (run) => {
      await run.step('first', async () => {
        run.spend({ cost: 0.6 })
        // What is granted is stored while the step is under way.
        for (let turns = 0; turns < 20; turns += 1) await new Promise(setImmediate)
      })
      return await run.step('second', () => 'done')
    }
    const onBudget = ({ max, spent }: BudgetExceeded): Amounts => ({ cost: spent - max })
    const handler = { limits: { budget: { cost: 0.5 } }, onBudget }
    const { task } = await testDurable(execute, { messages: ['go'], handler })
    expect(task.state).toBe('completed')
  })

  test('what onBudget has added stays, and is not asked for again', async () => {
    let asked = 0
    const grants: (number | undefined)[] = []
    const execute: Execute = async (run) => {
      run.spend({ cost: 0.6 })
      await run.step('first', () => 1)
      const sure = textOf(await run.requireInput('Sure?'))
      run.spend({ cost: 0.3 })
      return await run.step('second', () => sure)
    }
    const { task } = await testDurable(execute, {
      messages: ['go', 'yes'],
      handler: {
        limits: { budget: { cost: 0.5 } },
        onBudget: () => {
          asked += 1
          return { cost: 0.5 }
        },
      },
      resultOf: ({ state, metadata }) => {
        const { total, granted } = spendingOf({ metadata }) ?? {}
        grants.push(granted?.['cost'])
        return { state, total }
      },
    })
    expect([task.state, spendingOf(task)?.total]).toEqual(['completed', { cost: 0.9 }])
    expect(new Set(grants)).toEqual(new Set([0.5]))
    // Once in each trial, and again where the process died before the amount was stored.
    expect(asked).toBeGreaterThanOrEqual(grants.length)
    expect(asked).toBeLessThan(grants.length * 2)
  })
})

describe('a delegation', () => {
  const spender: Execute = async (run) => {
    for (const name of ['one', 'two', 'three']) await run.step(name, () => run.spend({ cost: 0.2 }))
    return `Spent for ${run.text}`
  }

  test('gets what is left of the budget, and what it spends counts', async () => {
    const { client, tasks } = await child(spender)
    const { a } = replicas(
      async (run) => {
        run.spend({ cost: 0.3 })
        const { text } = await run.delegate('first', client, 'one')
        return await run.step('next', () => text)
      },
      { limits: { budget: { cost: 1 } } },
    )
    const { id } = await begin(a, 'go')
    await until(async () => (await stateAt(a, id)) === 'completed')
    expect(await resultOf(a, id)).toEqual(['Spent for one'])
    const spending = spendingOf((await a.tasks.getTask(id)) ?? undefined)
    expect(spending).toEqual({ total: { cost: 0.3 }, models: {}, delegated: { cost: 0.6 } })
    expect(JSON.stringify(tasks.listTasks()[0]?.messages)).toContain('"budget":{"cost":0.7}')
  })

  test('that spends more than is left fails, and so does the task', async () => {
    const { client, tasks } = await child(spender, { onError: () => undefined })
    const { a } = replicas(
      async (run) => {
        run.spend({ cost: 0.3 })
        await run.delegate('first', client, 'one')
        return await run.step('next', () => 'begun')
      },
      { limits: { budget: { cost: 0.6 } } },
    )
    const { id } = await begin(a, 'go')
    await until(async () => (await stateAt(a, id)) === 'failed')
    const [delegated] = tasks.listTasks()
    expect(delegated).toMatchObject({
      state: 'failed',
      message: { parts: [{ text: 'The task has spent 0.4 cost, more than its budget of 0.3' }] },
    })
    const task = await a.tasks.getTask(id)
    expect(task?.message).toMatchObject({
      parts: [{ text: 'The task has spent 0.7 cost, more than its budget of 0.6' }],
    })
  })

  test('counts each message for what it has made the task of the agent spend', async () => {
    const { client } = await child(async (run) => {
      run.spend({ cost: 0.1 })
      const seat = textOf(await run.requireInput('Which seat?'))
      run.spend({ cost: 0.2 })
      return seat
    })
    const { a, b, clock } = replicas(
      async (run) => {
        const { text } = await run.delegate('book', client, 'Lisbon', {
          onInputRequired: () => 'By the window',
        })
        return text + textOf(await run.requireInput('Sure?'))
      },
      { limits: { budget: { cost: 1 } } },
    )
    const { id } = await begin(a, 'go')
    await until(async () => (await stateAt(a, id)) === 'input-required')
    expect(spendingOf((await a.tasks.getTask(id)) ?? undefined)?.delegated).toEqual({ cost: 0.3 })
    // Another process replays it.
    await a.handler.close()
    await a.tasks.destroy()
    clock.advance(11_000)
    await begin(b, '!', id)
    await until(async () => (await stateAt(b, id)) === 'completed')
    expect(spendingOf((await b.tasks.getTask(id)) ?? undefined)?.delegated).toEqual({ cost: 0.3 })
  })

  test('is not begun once the budget is exceeded', async () => {
    const { client, received } = await child(spender)
    const { a } = replicas(
      async (run) => {
        await Promise.allSettled([
          run.step('search', () => run.spend({ cost: 2 })),
          run.delegate('first', client, 'one'),
        ])
        await run.delegate('second', client, 'two')
        return 'done'
      },
      { limits: { budget: { cost: 1 } }, onBudget: () => undefined },
    )
    const { id } = await begin(a, 'go')
    await until(async () => (await stateAt(a, id)) === 'failed')
    expect(received.filter((messageId) => messageId.includes('second'))).toEqual([])
  })
})

test('a budget that cannot be kept is refused', () => {
  const refused = (options: object): unknown => {
    try {
      createRequestHandler({
        card: { name: 'Agent', url: 'http://agent.test' },
        execute: () => 'x',
        ...options,
      })
      return 'nothing'
    } catch (error) {
      return String(error)
    }
  }
  expect(refused({ limits: { budget: 7 } })).toMatch(/^TypeError: "limits.budget" must be an object/)
  expect(refused({ limits: { budget: { cost: -1 } } })).toBe(
    'RangeError: "limits.budget.cost" must be a number of 0 or more, got -1',
  )
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`unit${n}`, 1]))
  expect(refused({ limits: { budget: many } })).toBe(
    'RangeError: "limits.budget" must have at most 16 units, got 17',
  )
  expect(refused({ onBudget: () => ({}) })).toBe(
    'TypeError: "onBudget" needs "limits.budget", "limits.ownerBudget" or "limits.agentBudget"',
  )
  expect(refused({ limits: { budget: { cost: 1 } }, onBudget: 7 })).toMatch(
    /^TypeError: "onBudget" must be a function/,
  )
})
