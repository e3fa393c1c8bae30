/** Questions with a schema over several processes: one answer, checked wherever it arrives. */
import { A2AError } from 'a2a-tasks'
import { textOf, type Execute, type Run } from 'a2a-tasks/server'
import { answerPart, openQuestionsOf } from 'a2a-tasks/wire'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { call, gate, jsonRpc, user } from '../spec/support/agent.js'
import { textsOf } from '../journal/support/managers.js'
import {
  begin,
  get,
  pass,
  replicas,
  saidIn,
  send,
  settle,
  stateAt,
  type Replica,
  type Replicas,
} from './support/replicas.js'

const CITY = z.string().refine((city) => city !== 'Atlantis', 'No flights')

const flight: Execute = async (run) => {
  const { city, seats } = await run.ask({
    city: { message: 'Where?', schema: CITY },
    seats: { message: 'How many?', schema: z.int().min(1) },
  })
  return `${seats} to ${city}`
}

async function answer(at: Replica, id: string, answers: Record<string, string | number>): Promise<object> {
  const message = { ...user('', { taskId: id }), parts: [answerPart(answers)] }
  return await call(jsonRpc, at, 'SendMessage', { message, configuration: { returnImmediately: true } })
}

const asked = async (at: Replica, id: string): Promise<string[]> => {
  const task = await at.tasks.getTask(id)
  return task?.state === 'input-required' ? openQuestionsOf(task).map((each) => each.id) : []
}

const resultAt = async (at: Replica, id: string): Promise<string[]> => {
  const task = await at.tasks.getTask(id)
  return task === null ? [] : textsOf(task)
}

test('of answers to one question at several processes at once, one is taken', async () => {
  const { a, b, clock } = replicas(flight)
  const { id } = await begin(a, 'go')
  await settle()
  const given = [a, b, a, b].map((at, n) => answer(at, id, { 'city#1': `City ${n}` }))
  const answers = await Promise.all(given)
  const taken = answers.flatMap((each, n) => (Object.hasOwn(each, 'error') ? [] : [n]))
  expect(taken).toHaveLength(1)
  await pass(clock, async () => (await asked(b, id)).length > 0)
  expect(await asked(b, id)).toEqual(['seats#1'])
  await answer(b, id, { 'seats#1': 2 })
  await pass(clock, async () => (await stateAt(a, id)) === 'completed')
  expect(await resultAt(b, id)).toEqual([`2 to City ${taken[0]}`])
  expect([...a.errors, ...b.errors]).toEqual([])
})

test('different questions are answered at different processes at once', async () => {
  const { a, b, clock } = replicas(flight)
  const { id } = await begin(a, 'go')
  await settle()
  const answers = await Promise.all([answer(a, id, { 'city#1': 'Rome' }), answer(b, id, { 'seats#1': 3 })])
  expect(answers.filter((each) => Object.hasOwn(each, 'error'))).toEqual([])
  await pass(clock, async () => (await stateAt(a, id)) === 'completed')
  expect(await resultAt(b, id)).toEqual(['3 to Rome'])
})

test('a process without the code in memory refuses by JSON Schema, and the code asks again', async () => {
  const { a, b, clock } = replicas(flight)
  const { id } = await begin(a, 'go')
  await settle()
  clock.advance(61_000)
  await settle()
  expect(a.tasks.stats().leases).toBe(0)
  expect(await answer(b, id, { 'seats#1': 0 })).toMatchObject({
    error: { message: 'answers.seats#1 must be at least 1' },
  })
  expect(b.tasks.stats().leases).toBe(0)
  // Only the code knows that this city has no flights.
  await answer(b, id, { 'city#1': 'Atlantis', 'seats#1': 1 })
  await pass(clock, async () => (await asked(b, id)).length === 1)
  const task = await b.tasks.getTask(id)
  expect(JSON.stringify(task?.message)).toContain('No flights.')
  await send(b, 'Rome', id)
  await pass(clock, async () => (await stateAt(a, id)) === 'completed')
  expect(await resultAt(a, id)).toEqual(['1 to Rome'])
  expect([...a.errors, ...b.errors]).toEqual([])
})

test.each([{ recover: 'fail' }, { recover: 'resume' }] as const)(
  'a question expires while no process has its code in memory, with recover $recover',
  async (manager) => {
    const { a, b, clock } = replicas(
      async (run) => await run.approve('book', { message: 'Book?', expiresInMs: 3_600_000 }),
      { manager },
    )
    const { id } = await begin(a, 'go')
    await settle()
    clock.advance(61_000)
    await settle()
    expect(a.tasks.stats().leases).toBe(0)
    await a.handler.close()
    await a.tasks.destroy()
    clock.advance(3_600_000)
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    expect(await resultAt(b, id)).toEqual(['expired'])
    expect(b.errors).toEqual([])
  },
)

test('an answer that comes before the end of the time is taken, however late its process begins', async () => {
  const { a, b, clock } = replicas(async (run) => {
    return await run.approve('book', { message: 'Book?', expiresInMs: 3_600_000 })
  })
  const { id } = await begin(a, 'go')
  await settle()
  clock.advance(61_000)
  await settle()
  clock.advance(3_600_000 - 61_000 - 1)
  await answer(b, id, { 'book#1': 'approve' })
  clock.advance(10)
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  expect(await resultAt(b, id)).toEqual(['approve'])
})

test.each([
  ['by its time', async (run: Run) => await run.approve('book', { message: 'Book?', expiresInMs: 1_000 })],
  [
    'by a signal that a sleep of the code aborts',
    async (run: Run) => {
      const over = new AbortController()
      const pause = run.sleep('pause', { ms: 1_000 }).then(() => over.abort())
      const verdict = await run
        .approve('book', { message: 'Book?', signal: over.signal })
        .catch((error: unknown) => (A2AError.is(error, 'WAIT_ABORTED') ? 'expired' : String(error)))
      await pause
      return verdict
    },
  ],
])('the answer to a later question is taken after one that was withdrawn %s', async (_, first) => {
  const { a, b, clock } = replicas(async (run) => {
    const verdict = await first(run)
    return `${verdict}, ${textOf(await run.requireInput('Why?'))}`
  })
  const { id } = await begin(a, 'go')
  await settle()
  clock.advance(1_000)
  await pass(clock, async () => saidIn(await get(a, id)).includes('Why?'))
  // No process has the code in memory.
  clock.advance(61_000)
  await settle()
  expect(a.tasks.stats().leases).toBe(0)
  const sent = send(b, 'No time', id)
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  await sent
  expect(await resultAt(b, id)).toEqual(['expired, No time'])
  expect([...a.errors, ...b.errors]).toEqual([])
})

describe('a question that something outside of the journal withdraws', () => {
  const reasonOf = (error: unknown): string =>
    A2AError.is(error, 'WAIT_ABORTED') ? 'withdrawn' : String(error)

  /** A function for two processes, and the signals of its attempts. The second one is aborted from the start. */
  const withSignals = (
    beside: (run: Run) => Promise<unknown>,
    isLaterAborted: boolean,
  ): { readonly execute: Execute; readonly signals: readonly AbortController[] } => {
    const signals: AbortController[] = []
    const execute: Execute = async (run) => {
      const over = new AbortController()
      if (isLaterAborted && signals.length > 0) over.abort()
      signals.push(over)
      const verdict = run.approve('book', { message: 'Book?', signal: over.signal }).catch(reasonOf)
      await beside(run)
      return `${await verdict}, ${textOf(await run.requireInput('Why?'))}`
    }
    return { execute, signals }
  }

  test.each([
    ['has the code no more', false, false],
    ['has died', true, false],
    ['has died, and the next one does not want it either', true, true],
  ])('stays withdrawn when its process %s', async (_, hasDied, isLaterAborted) => {
    const { execute, signals } = withSignals(() => Promise.resolve(), isLaterAborted)
    const { a, b, clock } = replicas(execute)
    const { id } = await begin(a, 'go')
    await settle()
    signals[0]?.abort()
    await pass(clock, async () => saidIn(await get(a, id)).includes('Why?'))
    const entries = (await a.tasks.journal(id)).map(({ entry }) => entry)
    expect(entries.find(({ kind }) => kind === 'withdrawn')).toEqual({
      kind: 'withdrawn',
      name: 'book#1#1',
    })
    if (hasDied) a.store.fail()
    clock.advance(61_000)
    await settle()
    const sent = send(b, 'No time', id)
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    await sent
    expect(await resultAt(b, id)).toEqual(['withdrawn, No time'])
    expect(b.errors).toEqual([])
  })

  test('is withdrawn by the next process, which does not want it', async () => {
    const { execute } = withSignals((run) => run.sleep('pause', { ms: 1_000 }), true)
    const { a, b, clock } = replicas(execute)
    const { id } = await begin(a, 'go')
    await settle()
    a.store.fail()
    await pass(clock, async () => saidIn(await get(b, id)).includes('Why?'))
    const sent = send(b, 'No time', id)
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    await sent
    expect(await resultAt(b, id)).toEqual(['withdrawn, No time'])
    expect(b.errors).toEqual([])
  })
})

/** The first process has gone. The question is open at the second one, and its answer is the result. */
async function approveElsewhere({ a, b, clock }: Replicas, id: string): Promise<void> {
  await a.tasks.destroy()
  await pass(clock, async () => (await asked(b, id)).length > 0)
  await answer(b, id, { 'book#1': 'approve' })
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  expect(await resultAt(b, id)).toEqual(['approve'])
  expect([...a.errors, ...b.errors]).toEqual([])
}

test.each([
  ['a time limit', () => ({ expiresInMs: 3_600_000 })],
  ['the signal of its run', (run: Run) => ({ signal: run.signal })],
])('a question with %s stays open when its process closes in the middle of a step', async (_, optionsOf) => {
  const work = gate()
  const scene = replicas(async (run) => {
    const verdict = run.approve('book', { message: 'Book?', ...optionsOf(run) })
    await run.step('look', async () => await work.opened)
    return await verdict
  })
  const { a, clock } = scene
  const { id } = await begin(a, 'go')
  await settle()
  const closed = a.handler.close({ graceMs: 10 })
  await settle()
  clock.advance(10)
  await settle()
  work.open()
  await closed
  await approveElsewhere(scene, id)
})

test('code that catches the end of its question ends no task that another process continues', async () => {
  const work = gate()
  const scene = replicas(async (run) => {
    const verdict = run.approve('book', { message: 'Book?' })
    const [first] = await Promise.allSettled([verdict, run.step('look', async () => await work.opened)])
    return first.status === 'fulfilled' ? first.value : 'refused'
  })
  const { a } = scene
  const { id } = await begin(a, 'go')
  await settle()
  const closed = a.handler.close({ graceMs: 10_000 })
  await settle()
  work.open()
  await closed
  await approveElsewhere(scene, id)
})

test('a question may have the signal of its run when the user cancels', async () => {
  const reasons: unknown[] = []
  const { a, clock } = replicas(async (run) => {
    const verdict = run.approve('book', { message: 'Book?', signal: run.signal })
    return await verdict.catch((reason: unknown) => {
      reasons.push(reason)
      throw reason
    })
  })
  const { id } = await begin(a, 'go')
  await settle()
  await call(jsonRpc, a, 'CancelTask', { id })
  await pass(clock, async () => (await stateAt(a, id)) === 'canceled')
  expect(reasons.map((reason) => A2AError.is(reason, 'TASK_CANCELED'))).toEqual([true])
  expect(a.errors).toEqual([])
})

test('a question whose signal has aborted leaves the question of another branch alone', async () => {
  const { a, clock } = replicas(async (run) => {
    const first = run.requireInput('Why?')
    const second = run.approve('book', { message: 'Book?', signal: AbortSignal.abort() })
    const codeOf = (error: unknown): string => (A2AError.is(error) ? error.code : String(error))
    return `${await second.catch(codeOf)}, ${textOf(await first)}`
  })
  const { id } = await begin(a, 'go')
  await settle()
  expect(await stateAt(a, id)).toBe('input-required')
  await send(a, 'No reason', id)
  await pass(clock, async () => (await stateAt(a, id)) === 'completed')
  expect(await resultAt(a, id)).toEqual(['WAIT_ABORTED, No reason'])
})

describe('questions of parallel code', () => {
  /** Two calls of one tool, each of which looks something up before it asks. `first` is the amount whose look-up is faster. */
  const paying =
    (first: number, paid: number[]): Execute =>
    async (run) => {
      const pay = async (amount: number): Promise<void> => {
        if (amount !== first) for (let count = 0; count < 5; count += 1) await settle()
        const verdict = await run.approve('pay', { message: `Pay ${amount}?`, toolCallId: `call ${amount}` })
        if (verdict === 'approve') paid.push(amount)
      }
      await Promise.all([pay(5), pay(1_000_000)])
      return 'done'
    }
  const verdictFor = (id: string): string => (id.includes('1000000') ? 'reject' : 'approve')

  /** Answers what is open. */
  const answerAt = async (at: Replica, id: string): Promise<void> => {
    for (const each of await asked(at, id)) await answer(at, id, { [each]: verdictFor(each) })
  }

  test('are asked one after the other', async () => {
    const paid: number[] = []
    const { a } = replicas(paying(5, paid))
    const { id } = await begin(a, 'go')
    await settle()
    expect(await asked(a, id)).toEqual(['pay#call 5#1'])
    for (let count = 0; count < 10; count += 1) await settle()
    await answerAt(a, id)
    await settle()
    expect(await asked(a, id)).toEqual(['pay#call 1000000#1'])
    await answerAt(a, id)
    await settle()
    expect(await stateAt(a, id)).toBe('completed')
    expect(paid).toEqual([5])
  })

  test.each([0, 1])('get their own answers in another order (%i of them before)', async (answers) => {
    const paid: number[] = []
    const { a, b, clock } = replicas([paying(1_000_000, []), paying(5, paid)])
    const { id } = await begin(a, 'go')
    await settle()
    expect(await asked(a, id)).toEqual(['pay#call 1000000#1'])
    if (answers > 0) {
      for (let count = 0; count < 10; count += 1) await settle()
      await answerAt(a, id)
      await settle()
      expect(await asked(a, id)).toEqual(['pay#call 5#1'])
    }
    a.store.fail()
    await pass(clock, async () => {
      for (let count = 0; count < 10; count += 1) await settle()
      await answerAt(b, id)
      return (await stateAt(b, id)) === 'completed'
    })
    expect(paid).toEqual([5])
    expect(b.errors).toEqual([])
  })
})

test('words that come before an approval do not approve what their user has not seen', async () => {
  const verdicts: string[] = []
  const paid = gate()
  const { a } = replicas(async (run) => {
    for (const amount of [5, 1_000_000]) {
      verdicts.push(`${amount}: ${await run.approve('pay', { message: `Pay ${amount}?` })}`)
      await run.step('pay', () => paid.opened)
    }
    return 'done'
  })
  const { id } = await begin(a, 'go')
  await settle()
  await begin(a, 'approve', id)
  await begin(a, 'approve', id)
  paid.open()
  await settle()
  expect(verdicts).toEqual(['5: approve'])
  expect((await get(a, id)).status.message?.parts[0]?.text).toBe(
    'Your last message came before this question.\nPay 1000000? (approve / reject)',
  )
  await send(a, 'reject', id)
  expect(verdicts).toEqual(['5: approve', '1000000: reject'])
})
