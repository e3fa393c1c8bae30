/** Delegations whose process closes, dies or lets go of its run. */
import { deadLetters, redrive } from 'a2a-tasks'
import { DurableTaskManager, type TaskStore } from 'a2a-tasks/durable'
import { createRequestHandler, type Execute, type RequestHandler, type Run } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { call, jsonRpc, ORIGIN, taskOf, user } from '../spec/support/agent.js'
import {
  begin,
  cluster,
  FaultyStore,
  holdUp,
  replicas,
  resultOf,
  send,
  settle,
  stateAt,
  textOf,
} from '../durable/support/replicas.js'
import { openForTest } from '../../stores/sqlite/support/sqlite.js'
import { child, until, watchedFetch, type Child } from './support/children.js'

function booking({ clientWith }: Child, fetch: typeof globalThis.fetch = globalThis.fetch): Execute {
  const client = clientWith({ fetch })
  return async (run) => (await run.delegate('book', client, 'Lisbon')).text
}

/** An agent that works until it is told to end. */
async function slowChild(): Promise<Child & { readonly finish: (text: string) => void }> {
  let finish: (text: string) => void = () => {}
  const work = new Promise<string>((resolve) => (finish = resolve))
  return { ...(await child(() => work)), finish: (text) => finish(text) }
}

describe('a process that closes', () => {
  test.each(['handler.close()', 'tasks.destroy()'])('by %s stops following, and hands over', async (way) => {
    const slow = await slowChild()
    const { fetch, isAtWork } = watchedFetch()
    const { a, b, clock } = replicas([booking(slow, fetch), booking(slow)])
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    await (way === 'tasks.destroy()' ? a.tasks.destroy() : a.handler.close())
    await until(() => !isAtWork())
    clock.advance(11_000)
    await until(() => b.tasks.stats().leases === 1)
    expect(slow.tasks.countTasks({ state: 'working' })).toBe(1)
    slow.finish('Booked')
    await until(async () => (await stateAt(b, id)) === 'completed')
    expect(await resultOf(b, id)).toEqual(['Booked'])
    expect(slow.received).toEqual([`${id}/book#1`])
  })

  test('leaves the task of the agent, whose question it was about to answer, to the next process', async () => {
    const asking = await child(async (run) => textOf(await run.requireInput('Which seat?')))
    const { way, next } = holdUp('putDocument')
    const asked: unknown[] = []
    const watched: typeof fetch = (input, init) => {
      // The client sends texts.
      asked.push((JSON.parse(init?.body as string) as { readonly method: string }).method)
      return fetch(input, init)
    }
    const executes = [booking(asking, watched), booking(asking)]
    const { all, clock } = cluster(executes, {}, (store, at) => (at === 0 ? way(store) : store))
    const [a, b] = all
    if (a === undefined || b === undefined) throw new Error('There are two')
    const { id } = await begin(a, 'go')
    await until(async () => (await stateAt(a, id)) === 'input-required')
    clock.advance(61_000)
    await until(() => a.handler.stats().runs.waiting === 0)
    const marked = next()
    await begin(a, 'By the window', id)
    await marked.called
    const closed = a.handler.close({ graceMs: 1 })
    await settle()
    clock.advance(2)
    await settle()
    marked.go()
    await closed
    await settle()
    await a.tasks.destroy()
    expect(asked).not.toContain('CancelTask')
    clock.advance(11_000)
    await until(async () => (await stateAt(b, id)) === 'completed')
    expect(await resultOf(b, id)).toEqual(['By the window'])
  })

  test('cancels the task of the agent if no process continues', async () => {
    const slow = await slowChild()
    const { a, clock } = replicas(booking(slow), { manager: { recover: 'fail' } })
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    const closed = a.handler.close({ graceMs: 1 })
    await settle()
    clock.advance(2)
    await closed
    await until(() => slow.tasks.countTasks({ state: 'canceled' }) === 1)
  })
})

describe('a run that waits for another agent', () => {
  test('reads the answer of the user to a question beside it, though it has left the memory', async () => {
    const slow = await slowChild()
    const execute = booking(slow)
    const answers: string[] = []
    const { a, clock } = replicas(async (run) => {
      const flight = execute(run)
      answers.push(textOf(await run.requireInput('Which seat?')))
      return await flight
    })
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    clock.advance(61_000)
    await until(() => a.handler.stats().runs.waiting === 0)
    await begin(a, 'By the window', id)
    await until(() => answers.length > 0)
    slow.finish('Booked')
    await until(async () => (await stateAt(a, id)) === 'completed')
    expect(answers.at(-1)).toBe('By the window')
    expect(await resultOf(a, id)).toEqual(['Booked'])
  })

  test('leaves the memory, and its process follows the agent', async () => {
    let calls = 0
    const slow = await slowChild()
    const execute = booking(slow)
    const { a, clock } = replicas((run) => {
      calls += 1
      return execute(run)
    })
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    expect(a.handler.stats().runs).toMatchObject({ working: 0, waiting: 1 })
    clock.advance(61_000)
    await settle()
    expect(a.handler.stats().runs).toMatchObject({ working: 0, waiting: 0 })
    expect(a.tasks.stats().leases).toBe(1)
    expect(await stateAt(a, id)).toBe('working')
    slow.finish('Booked')
    await until(async () => (await stateAt(a, id)) === 'completed')
    expect(await resultOf(a, id)).toEqual(['Booked'])
    expect(calls).toBe(2)
    expect(slow.received).toEqual([`${id}/book#1`])
    expect(a.errors).toEqual([])
    expect(a.tasks.stats().leases).toBe(0)
  })

  test('and whose agent has ended, is not called again when it is canceled', async () => {
    let calls = 0
    const slow = await slowChild()
    const execute = booking(slow)
    const { a, clock } = replicas(async (run) => {
      calls += 1
      await execute(run)
      await run.sleep('rest', { ms: 1e9 })
    })
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    clock.advance(61_000)
    await until(() => a.handler.stats().runs.waiting === 0)
    slow.finish('Booked')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'sleep'))
    clock.advance(61_000)
    await settle()
    await a.tasks.cancelTask(id)
    for (let sweeps = 0; sweeps < 4; sweeps += 1) {
      clock.advance(15_001)
      await settle()
    }
    expect(await a.tasks.documents.allDocuments('run-delegation', undefined, 10)).toEqual([])
    expect(calls).toBe(2)
  })

  test('and has left the memory, is canceled with its agent', async () => {
    const slow = await slowChild()
    const { a, b, clock } = replicas(booking(slow))
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    clock.advance(61_000)
    await settle()
    await b.tasks.cancelTask(id)
    await until(() => slow.tasks.countTasks({ state: 'canceled' }) === 1)
    await until(() => a.tasks.stats().leases === 0)
  })

  test.each(['dies', 'closes'])('and has left the memory, is taken over when its process %s', async (how) => {
    const slow = await slowChild()
    const { a, b, clock } = replicas(booking(slow))
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    clock.advance(61_000)
    await settle()
    if (how === 'dies') a.store.fail()
    else await a.handler.close()
    clock.advance(31_000)
    await settle()
    clock.advance(11_000)
    await until(() => b.tasks.stats().leases === 1)
    expect(slow.tasks.countTasks({ state: 'working' })).toBe(1)
    slow.finish('Booked')
    await until(async () => (await stateAt(b, id)) === 'completed')
    expect(await resultOf(b, id)).toEqual(['Booked'])
    expect(slow.received).toEqual([`${id}/book#1`])
  })

  test('and has left the memory, reads messages from the meantime', async () => {
    const slow = await slowChild()
    const { a, clock } = replicas(async (run) => {
      if (run.text === 'more') return 'and more'
      const { text } = await run.delegate('book', slow.client, 'Lisbon')
      return text
    })
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    clock.advance(61_000)
    await settle()
    await begin(a, 'more', id)
    await settle()
    expect(await stateAt(a, id)).toBe('working')
    slow.finish('Booked')
    await until(async () => (await stateAt(a, id)) === 'completed')
    expect(await resultOf(a, id)).toEqual(['Booked', 'and more'])
  })

  test('and has left the memory, is still at work for onFollowUp', async () => {
    const slow = await slowChild()
    const { a, clock } = replicas(booking(slow), { onFollowUp: () => 'reject' })
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    clock.advance(61_000)
    await settle()
    await expect(begin(a, 'more', id)).rejects.toThrow('accepts no message now')
    slow.finish('Booked')
    await until(async () => (await stateAt(a, id)) === 'completed')
  })

  test('and for the user and a signal, continues by each of them', async () => {
    const slow = await slowChild()
    const { a, clock } = replicas(async (run) => {
      const log: string[] = []
      const all = [
        run.requireInput('Which seat?').then((answer) => log.push(textOf(answer))),
        run.delegate('book', slow.client, 'Lisbon').then(({ text }) => log.push(text)),
        run.waitFor<string>('paid').then((by) => log.push(by)),
      ]
      await Promise.all(all)
      return log.toSorted().join()
    })
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    clock.advance(61_000)
    await settle()
    expect(a.handler.stats().runs).toMatchObject({ working: 0, waiting: 0 })
    await a.tasks.signal(id, 'paid', 'Ada')
    await settle()
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'received'))
    expect(await stateAt(a, id)).toBe('input-required')
    clock.advance(61_000)
    await settle()
    slow.finish('Booked')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'delegated'))
    expect(await stateAt(a, id)).toBe('input-required')
    clock.advance(61_000)
    await settle()
    await send(a, '12A', id)
    expect(await resultOf(a, id)).toEqual(['12A,Ada,Booked'])
    expect(slow.received).toEqual([`${id}/book#1`])
  })
})

describe('the cancel of a task whose process has died', () => {
  test('reaches the agent when a process comes back', async () => {
    const slow = await slowChild()
    const execute = booking(slow)
    let calls = 0
    const { a, b, clock } = replicas([
      execute,
      (run) => {
        calls += 1
        return execute(run)
      },
    ])
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    a.store.fail()
    await b.tasks.cancelTask(id)
    clock.advance(15_000)
    await settle()
    clock.advance(15_001)
    await until(() => slow.tasks.countTasks({ state: 'canceled' }) === 1)
    for (let sweeps = 0; sweeps < 20; sweeps += 1) {
      await settle()
      clock.advance(16_000)
    }
    expect(calls).toBe(1)
    expect(await b.tasks.documents.allDocuments('run-delegation', undefined, 10)).toEqual([])
    expect(b.errors).toEqual([])
    expect(slow.received).toEqual([`${id}/book#1`])
  })

  test.each(['asks', 'has asked and left the memory'])(
    'reaches an agent whose question the run %s',
    async (how) => {
      const asking = await child(async (run) => textOf(await run.requireInput('Which seat?')))
      const { a, b, clock } = replicas(booking(asking))
      const { id } = await begin(a, 'go')
      await until(async () => (await stateAt(a, id)) === 'input-required')
      if (how !== 'asks') clock.advance(61_000)
      await settle()
      await b.tasks.cancelTask(id)
      await settle()
      clock.advance(15_000)
      await settle()
      clock.advance(15_001)
      await until(() => asking.tasks.countTasks({ state: 'canceled' }) === 1)
    },
  )

  test('reaches an agent whose question the code has not answered', async () => {
    const asking = await child(async (run) => textOf(await run.requireInput('Which seat?')))
    let mayAnswer = false
    const execute: Execute = async (run) => {
      const onInputRequired = (): string | Promise<never> =>
        mayAnswer ? '12A' : new Promise<never>(() => undefined)
      return (await run.delegate('book', asking.client, 'Lisbon', { onInputRequired })).text
    }
    const { a, b, clock } = replicas(execute)
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'delegated'))
    a.store.fail()
    mayAnswer = true
    await b.tasks.cancelTask(id)
    clock.advance(15_000)
    await settle()
    clock.advance(15_001)
    await until(() => asking.tasks.countTasks({ state: 'canceled' }) === 1)
    expect(asking.received).toEqual([`${id}/book#1`])
  })

  test('reaches an agent that works after the code has answered another one', async () => {
    const asking = await child(async (run) => textOf(await run.requireInput('Which seat?')))
    const slow = await slowChild()
    const execute: Execute = async (run) => {
      const seat = await run.delegate('ask', asking.client, 'Lisbon', { onInputRequired: () => '12A' })
      return (await run.delegate('book', slow.client, seat.text)).text
    }
    const { a, b, clock } = replicas(execute)
    const { id } = await begin(a, 'go')
    await until(() => slow.tasks.countTasks({ state: 'working' }) === 1)
    await until(
      async () => (await a.tasks.journal(id)).filter(({ entry }) => entry.kind === 'handle').length > 2,
    )
    a.store.fail()
    await b.tasks.cancelTask(id)
    clock.advance(15_000)
    await settle()
    clock.advance(15_001)
    await until(() => slow.tasks.countTasks({ state: 'canceled' }) === 1)
    expect(asking.tasks.countTasks({ state: 'completed' })).toBe(1)
  })

  test('reaches an agent that asks beside one that works, of a run that has left the memory', async () => {
    const asking = await child(async (run) => textOf(await run.requireInput('Which seat?')))
    const slow = await slowChild()
    const { a, clock } = replicas(async (run) => {
      const seats = run.delegate('ask', asking.client, 'Lisbon')
      await Promise.all([seats, run.delegate('book', slow.client, 'Lisbon')])
    })
    const { id } = await begin(a, 'go')
    await until(() => slow.tasks.countTasks({ state: 'working' }) === 1)
    await until(async () => (await stateAt(a, id)) === 'input-required')
    await until(
      async () => (await a.tasks.journal(id)).filter(({ entry }) => entry.kind === 'handle').length > 1,
    )
    clock.advance(61_000)
    await until(() => a.handler.stats().runs.waiting === 0)
    await a.tasks.cancelTask(id)
    await until(() => slow.tasks.countTasks({ state: 'canceled' }) === 1)
    for (let sweeps = 0; sweeps < 3; sweeps += 1) {
      await settle()
      clock.advance(15_001)
    }
    await until(() => asking.tasks.countTasks({ state: 'canceled' }) === 1)
    expect(a.errors).toEqual([])
  })

  const APPROVALS: Record<string, (run: Run) => Promise<unknown>> = {
    'a question': (run) => run.approve('book', { message: 'Book?', signal: run.signal }),
    // The journal has its answer after the step.
    'a question beside a step': (run) =>
      Promise.all([
        run.approve('book', { message: 'Book?', signal: run.signal }),
        run.step('look', () => 'looked'),
      ]),
  }
  const approvals = Object.entries(APPROVALS)
  test.each(approvals)(
    'reaches an agent that works after %s with the signal of the run',
    async (_, approve) => {
      const slow = await slowChild()
      const { a, b, clock } = replicas(async (run) => {
        await approve(run)
        return (await run.delegate('book', slow.client, 'Lisbon')).text
      })
      const { id } = await begin(a, 'go')
      await until(async () => (await stateAt(a, id)) === 'input-required')
      await begin(a, 'approve', id)
      await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
      a.store.fail()
      await b.tasks.cancelTask(id)
      for (let sweeps = 0; sweeps < 3; sweeps += 1) {
        await settle()
        clock.advance(15_001)
      }
      await until(() => slow.tasks.countTasks({ state: 'canceled' }) === 1)
      expect(b.errors).toEqual([])
    },
  )

  test('reaches an agent that works beside steps of which the code asks later', async () => {
    const slow = await slowChild()
    const execute: Execute = async (run) => {
      const beside = async (): Promise<void> => {
        // Code of its own, which takes a turn of the event loop.
        await new Promise<void>((resolve) => void setImmediate(resolve))
        await run.step('quick', () => 'quick')
        await run.step('slow', () => new Promise<never>(() => undefined))
      }
      await Promise.all([beside(), run.delegate('book', slow.client, 'Lisbon')])
    }
    const { a, b, clock } = replicas(execute)
    const { id } = await begin(a, 'go')
    await until(async () => {
      const kinds = (await a.tasks.journal(id)).map(({ entry }) => entry.kind)
      return kinds.includes('handle') && kinds.includes('step')
    })
    a.store.fail()
    await b.tasks.cancelTask(id)
    clock.advance(15_000)
    await settle()
    clock.advance(15_001)
    await until(() => slow.tasks.countTasks({ state: 'canceled' }) === 1)
    expect(b.errors).toEqual([])
  })

  test('reaches an agent that asks while the cancel is stored, of a run that has left the memory', async () => {
    let ask = (): void => {}
    const told = new Promise<void>((resolve) => (ask = resolve))
    const asking = await child(async (run) => {
      await told
      return textOf(await run.requireInput('Which seat?'))
    })
    const commit = holdUp('commit')
    const { all, clock } = cluster([booking(asking)], {}, commit.way)
    const [a] = all
    if (a === undefined) throw new Error('There is one')
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    clock.advance(61_000)
    await settle()
    expect(a.handler.stats().runs.waiting).toBe(0)
    const { called, go } = commit.next()
    const canceled = a.tasks.cancelTask(id)
    await called
    ask()
    // The process has learned of the question.
    await until(() => a.errors.length > 0)
    go()
    await canceled
    for (let sweeps = 0; sweeps < 3; sweeps += 1) {
      await settle()
      clock.advance(15_001)
    }
    await until(() => asking.tasks.countTasks({ state: 'canceled' }) === 1)
  })

  test('reaches an agent that has received the message, and whose answer was lost', async () => {
    const slow = await slowChild()
    const lossy: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init)
      const isSent = typeof init?.body === 'string' && init.body.includes('SendStreamingMessage')
      return isSent ? await new Promise<never>(() => undefined) : answer
    }
    const { a, b, clock } = replicas([booking(slow, lossy), booking(slow)])
    const { id } = await begin(a, 'go')
    await until(() => slow.tasks.countTasks({ state: 'working' }) === 1)
    const kinds = (await a.tasks.journal(id)).map(({ entry }) => entry.kind)
    expect(kinds).toEqual(['turn', 'delegate'])
    a.store.fail()
    await b.tasks.cancelTask(id)
    clock.advance(15_000)
    await settle()
    clock.advance(15_001)
    await until(() => slow.tasks.countTasks({ state: 'canceled' }) === 1)
  })

  test('goes down the whole chain', async () => {
    const last = await slowChild()
    const middle = await child(async (run) => (await run.delegate('next', last.client, 'on')).text)
    const { a, b, clock } = replicas(booking(middle))
    const { id } = await begin(a, 'go')
    await until(() => last.tasks.countTasks({ state: 'working' }) === 1)
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    a.store.fail()
    await b.tasks.cancelTask(id)
    clock.advance(15_000)
    await settle()
    clock.advance(15_001)
    await until(() => middle.tasks.countTasks({ state: 'canceled' }) === 1)
    await until(() => last.tasks.countTasks({ state: 'canceled' }) === 1)
  })

  test('does nothing again that the history holds, and nothing new', async () => {
    const slow = await slowChild()
    const done: string[] = []
    const execute: Execute = async (run) => {
      run.artifact('begun')
      await run.step('before', () => void done.push('before'))
      const flight = run.delegate('book', slow.client, 'Lisbon')
      try {
        await flight
      } finally {
        await run.step('after', () => void done.push('after')).catch(() => done.push('refused'))
      }
    }
    const { a, b, clock } = replicas(execute)
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    a.store.fail()
    await b.tasks.cancelTask(id)
    clock.advance(15_000)
    await settle()
    clock.advance(15_001)
    await until(() => slow.tasks.countTasks({ state: 'canceled' }) === 1)
    await until(() => done.includes('refused'))
    expect(done).toEqual(['before', 'refused'])
    expect(await resultOf(b, id)).toEqual(['begun'])
    expect(b.errors).toEqual([])
  })

  test('shows the code the messages that it had read, not those that came since', async () => {
    const slow = await slowChild()
    const delegating = booking(slow)
    const { a, b, clock } = replicas((run) =>
      run.messages.length === 1 ? delegating(run) : run.step('other', () => 'Not before'),
    )
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    await begin(a, 'more', id)
    a.store.fail()
    await b.tasks.cancelTask(id)
    clock.advance(15_000)
    await settle()
    clock.advance(15_001)
    await until(() => slow.tasks.countTasks({ state: 'canceled' }) === 1)
    expect(b.errors).toEqual([])
  })

  test('leaves the agent of a task alone that has ended in another way', async () => {
    const slow = await slowChild()
    const { a, b, clock } = replicas(booking(slow))
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    a.store.fail()
    await b.tasks.patchTask(id, { state: 'failed', message: 'No' })
    clock.advance(15_000)
    await settle()
    clock.advance(15_001)
    await until(
      async () => (await b.tasks.documents.allDocuments('run-delegation', undefined, 10)).length === 0,
    )
    expect(slow.tasks.countTasks({ state: 'working' })).toBe(1)
  })
})

describe('the failure of a task whose processes have died too often', () => {
  test('cancels the task of its agent, and a redrive begins another one', async () => {
    const slow = await slowChild()
    const { a, b, clock } = replicas(booking(slow), { manager: { maxRestarts: 0 } })
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    a.store.fail()
    await settle()
    clock.advance(31_000)
    await settle()
    clock.advance(11_000)
    await until(async () => (await stateAt(b, id)) === 'failed')
    expect((await deadLetters(b.tasks)).tasks).toMatchObject([{ id, failure: { reason: 'restarts' } }])
    expect(slow.tasks.countTasks({ state: 'working' })).toBe(1)
    for (let searches = 0; searches < 3; searches += 1) {
      await settle()
      clock.advance(15_001)
    }
    await until(() => slow.tasks.countTasks({ state: 'canceled' }) === 1)
    await until(
      async () => (await b.tasks.documents.allDocuments('run-delegation', undefined, 10)).length === 0,
    )
    expect(b.errors).toEqual([])
    const next = await redrive(b.tasks, id)
    await until(() => slow.tasks.countTasks({ state: 'working' }) === 1)
    slow.finish('Booked')
    await until(async () => (await stateAt(b, next.id)) === 'completed')
    expect(slow.received).toEqual([`${id}/book#1`, `${next.id}/book#1`])
  })

  test('calls code that kills its process twice more at most', async () => {
    const slow = await slowChild()
    const execute = booking(slow)
    let calls = 0
    const { a, b, clock } = replicas(
      [
        execute,
        async () => {
          calls += 1
          await new Promise(() => undefined)
        },
      ],
      { manager: { maxRestarts: 0 } },
    )
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    a.store.fail()
    for (let hours = 0; hours < 24 * 60; hours += 1) {
      await settle()
      clock.advance(60_000)
    }
    expect(calls).toBe(2)
    expect(await stateAt(b, id)).toBe('failed')
    expect(await b.tasks.documents.allDocuments('run-delegation', undefined, 10)).toEqual([])
  })
})

test('over SQLite, an agent is followed without its run, and canceled after the death of the process', async () => {
  const slow = await slowChild()
  const clock = new ManualClock()
  const store = await openForTest({ now: () => clock.now() })
  const broken = new FaultyStore(store)
  const start = (on: TaskStore): { tasks: DurableTaskManager; handler: RequestHandler } => {
    const tasks = new DurableTaskManager({ store: on, clock, onError: () => undefined })
    const handler = createRequestHandler({
      ...{ card: { name: 'Worker', url: ORIGIN }, clock, tasks, execute: booking(slow) },
      onError: () => undefined,
    }) as unknown as RequestHandler
    onTestFinished(() => tasks.destroy())
    return { tasks, handler }
  }
  const first = start(broken.asStore)
  const configuration = { returnImmediately: true }
  const params = { message: user('go'), configuration }
  const { id } = taskOf(await call(jsonRpc, { handler: first.handler }, 'SendMessage', params))
  await until(async () => (await first.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
  clock.advance(61_000)
  await until(() => first.handler.stats().runs.waiting === 0)
  expect(first.tasks.stats().leases).toBe(1)
  broken.fail()
  const second = start(store)
  await second.tasks.cancelTask(id)
  await until(() => {
    clock.advance(1_000)
    return slow.tasks.countTasks({ state: 'canceled' }) === 1
  })
  await until(async () => {
    clock.advance(1_000)
    return (await second.tasks.documents.allDocuments('run-delegation', undefined, 10)).length === 0
  })
})
