/** Questions beside sleeps and signals: what is due first continues the turn, whichever process lives then. */
import { TaskManager } from 'a2a-tasks'
import { DurableTaskManager, type DurableTaskManagerOptions } from 'a2a-tasks/durable'
import type { Execute, Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import {
  begin,
  cluster,
  get,
  holdUp,
  pass,
  type Replica,
  replicas,
  resultOf,
  send,
  settle,
  stateAt,
  textOf,
} from '../durable/support/replicas.js'
import { openForTest } from '../../stores/sqlite/support/sqlite.js'
import { agent, textsOf } from './support/managers.js'

const HOUR = 3_600_000

/** An agent that reminds of its question after a while, and the reminders that it sent. */
function reminder(ms = HOUR): { execute: Execute; done: string[] } {
  const done: string[] = []
  const execute: Execute = async (run) => {
    const remind = async (): Promise<void> => {
      await run.sleep('pause', { ms })
      await run.step('remind', () => void done.push('reminded'))
    }
    const [answer] = await Promise.all([run.requireInput('Which city?'), remind()])
    return textOf(answer)
  }
  return { execute, done }
}

async function states(at: Replica, id: string): Promise<string[]> {
  const events = await at.tasks.events(id)
  return events.flatMap((event) => (event.type === 'status' && event.from !== event.to ? [event.to] : []))
}

describe('a sleep beside an open question', () => {
  test.each([{ recover: 'fail' }, { recover: 'resume' }] as const)(
    'continues in another process at its due time, when its own has died, with recover $recover',
    async (manager: Partial<DurableTaskManagerOptions>) => {
      const { execute, done } = reminder()
      const { a, b, clock } = replicas(execute, { manager })
      const { id } = await begin(a, 'go')
      await settle()
      a.store.fail()
      clock.advance(HOUR - 1_000)
      await settle()
      expect(done).toEqual([])
      await pass(clock, () => done.length === 1)
      expect(await stateAt(b, id)).toBe('input-required')
      expect(textOf((await get(b, id)).status.message ?? { parts: [] })).toBe('Which city?')
      expect(await states(b, id)).toEqual(['working', 'input-required'])
      await send(b, 'Lisbon', id)
      expect(await resultOf(b, id)).toEqual(['Lisbon'])
      expect(done).toEqual(['reminded'])
      expect(b.errors).toEqual([])
    },
  )

  test('leaves the memory of its process, and holds no lease', async () => {
    const { execute, done } = reminder()
    const { a, b, clock } = replicas(execute)
    const { id } = await begin(a, 'go')
    await settle()
    clock.advance(61_000)
    await settle()
    expect(a.tasks.stats().leases).toBe(0)
    await a.handler.close()
    await a.tasks.destroy()
    clock.advance(HOUR)
    await pass(clock, () => done.length === 1)
    expect(await stateAt(b, id)).toBe('input-required')
  })

  test('is due after its process has closed', async () => {
    const { execute, done } = reminder()
    const { a, b, clock } = replicas(execute)
    const { id } = await begin(a, 'go')
    await settle()
    await a.handler.close()
    await a.tasks.destroy()
    clock.advance(HOUR)
    await pass(clock, () => done.length === 1)
    expect(await stateAt(b, id)).toBe('input-required')
  })

  test('is due after its process has closed while it did something else, too', async () => {
    const done: string[] = []
    const { a, b, clock } = replicas(async (run) => {
      const [answer] = await Promise.all([
        run.requireInput('Which city?'),
        run.sleep('pause', { ms: HOUR }).then(() => done.push('woken')),
        run.step('long', () => new Promise<void>(() => undefined)),
      ])
      return textOf(answer)
    })
    const { id } = await begin(a, 'go')
    await settle()
    const closed = a.handler.close({ graceMs: 1_000 })
    await settle()
    clock.advance(1_001)
    await closed
    await a.tasks.destroy()
    clock.advance(HOUR)
    await pass(clock, () => done.length === 1)
    expect(await stateAt(b, id)).toBe('input-required')
  })

  test.each(['at once', 'after a minute'])('takes the answer %s, and sleeps on', async (when) => {
    const { execute, done } = reminder()
    const { a, b, clock } = replicas(execute)
    const { id } = await begin(a, 'go')
    await settle()
    if (when === 'after a minute') clock.advance(61_000)
    await settle()
    a.store.fail()
    clock.advance(60_000)
    await settle()
    await begin(b, 'Lisbon', id)
    await settle()
    await pass(clock, async () => (await stateAt(b, id)) === 'working')
    expect(done).toEqual([])
    clock.advance(HOUR)
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    expect(await resultOf(b, id)).toEqual(['Lisbon'])
    expect(done).toEqual(['reminded'])
  })

  test('is over while the answer comes, which the run reads that continues, also where messages steer', async () => {
    const { execute, done } = reminder(100_000)
    const renewing = holdUp('renew')
    const options = { onFollowUp: 'steer' } as const
    const { all, clock } = cluster([execute], options, (store) => renewing.way(store))
    const [a] = all as [Replica]
    const { id } = await begin(a, 'go')
    await settle()
    clock.advance(61_000)
    await settle()
    expect(a.tasks.stats().leases).toBe(0)
    const renewed = renewing.next()
    await pass(clock, () => a.tasks.stats().leases === 1)
    await renewed.called
    await begin(a, 'Lisbon', id)
    renewed.go()
    await pass(clock, async () => (await stateAt(a, id)) === 'completed')
    expect(await resultOf(a, id)).toEqual(['Lisbon'])
    expect(done).toEqual(['reminded'])
  })

  test('beside a step that began first, continues after a crash', async () => {
    const done: string[] = []
    const execute: Execute = async (run) => {
      const step = run.step('long', () =>
        done.length === 0 ? new Promise<void>(() => undefined) : undefined,
      )
      const [, answer] = await Promise.all([step, run.requireInput('Which city?')])
      return textOf(answer)
    }
    const { a, b, clock } = replicas(execute)
    const { id } = await begin(a, 'go')
    await settle()
    a.store.fail()
    clock.advance(31_000)
    await settle()
    done.push('crashed')
    await begin(b, 'Lisbon', id)
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    expect(await resultOf(b, id)).toEqual(['Lisbon'])
    expect(b.errors).toEqual([])
  })

  test('does not restart a process before it is due', async () => {
    const { execute } = reminder()
    let calls = 0
    const counted: Execute = (run) => {
      calls += 1
      return execute(run)
    }
    const { all, clock } = cluster([counted, counted])
    const [a, b] = all as [Replica, Replica]
    await begin(a, 'go')
    await settle()
    a.store.fail()
    clock.advance(31_000)
    await pass(clock, () => b.tasks.stats().leases === 0)
    clock.advance(60_000)
    await settle()
    expect(calls).toBe(1)
  })

  test('and a signal beside a question continue the turn', async () => {
    const { a, b, clock } = replicas(async (run) => {
      const answer = await Promise.race([
        run.requireInput('Which city?').then(textOf),
        run.waitFor<string>('city'),
      ])
      run.start()
      return answer
    })
    const { id } = await begin(a, 'go')
    await settle()
    clock.advance(61_000)
    await settle()
    expect(a.tasks.stats().leases).toBe(0)
    a.store.fail()
    await b.tasks.signal(id, 'city', 'Porto')
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    expect(await resultOf(b, id)).toEqual(['Porto'])
  })
})

test.each([
  ['signal', (run: Run) => run.waitFor('note')],
  ['sleep', (run: Run) => run.sleep('pause', { ms: 60_000 })],
])('a question beside a %s is asked again where its process was closing', async (_, wait) => {
  const both: Execute = async (run) => {
    const [answer] = await Promise.all([run.requireInput('Which city?'), wait(run)])
    return textOf(answer)
  }
  const { all, clock } = cluster([
    (run) => {
      void all[0]?.handler.close({ graceMs: 0 })
      return both(run)
    },
    both,
  ])
  const [a, b] = all as [Replica, Replica]
  const { id } = await begin(a, 'go')
  await settle()
  await b.tasks.signal(id, 'note', 'noted')
  await begin(b, 'Lisbon', id)
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  expect(await resultOf(b, id)).toEqual(['Lisbon'])
})

describe('a question stays the status message', () => {
  async function shown(at: Replica, id: string): Promise<unknown[]> {
    const { state, message, messages } = (await at.tasks.getTask(id)) ?? { messages: [] }
    const asked = messages.filter(({ role }) => role === 'agent').map(textOf)
    return [state, typeof message === 'object' ? textOf(message) : message, asked]
  }
  const asked = ['input-required', 'Which city?', ['Which city?']]

  test('when a process that is closing asks it, and the sleep beside it is due', async () => {
    const { execute, done } = reminder()
    const { all, clock } = cluster([
      (run) => {
        void all[0]?.handler.close({ graceMs: 2_000 })
        return execute(run)
      },
      execute,
    ])
    const [a, b] = all as [Replica, Replica]
    const { id } = await begin(a, 'go')
    await settle()
    expect(await shown(b, id)).toEqual(asked)
    clock.advance(HOUR)
    await pass(clock, () => done.length === 1)
    expect(await shown(b, id)).toEqual(asked)
    expect(await states(b, id)).toEqual(['working', 'input-required'])
  })

  test('when the code of the process that closes goes on after its question was dropped', async () => {
    const { all, clock } = cluster(
      [true, false].map((isFirst): Execute => async (run) => {
        const answer = run.requireInput('Which city?')
        if (isFirst) await answer.catch(() => run.update('Stopping'))
        return textOf(await answer)
      }),
    )
    const [a, b] = all as [Replica, Replica]
    const { id } = await begin(a, 'go')
    await settle()
    void a.handler.close({ graceMs: 1 })
    await settle()
    expect(await shown(b, id)).toEqual(asked)
    await send(b, 'Lisbon', id)
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    expect(await resultOf(b, id)).toEqual(['Lisbon'])
  })

  test('when the code that continues reports progress before it has asked again', async () => {
    const done: string[] = []
    const execute: Execute = async (run) => {
      const report = async (): Promise<void> => {
        await Promise.resolve()
        run.update('Waiting')
      }
      const remind = async (): Promise<void> => {
        await run.sleep('pause', { ms: HOUR })
        await run.step('remind', () => void done.push('reminded'))
      }
      const [, answer] = await Promise.all([report(), run.requireInput('Which city?'), remind()])
      return textOf(answer)
    }
    const { a, b, clock } = replicas(execute)
    const { id } = await begin(a, 'go')
    await settle()
    expect(await shown(b, id)).toEqual(asked)
    await pass(clock, () => a.tasks.stats().leases === 0)
    clock.advance(HOUR)
    await pass(clock, () => done.length === 1)
    expect(await shown(b, id)).toEqual(asked)
    await send(b, 'Lisbon', id)
    expect(await resultOf(b, id)).toEqual(['Lisbon'])
  })

  test('when the process has died before the sleep beside it was stored', async () => {
    const { all, clock } = cluster(
      [true, false].map((isFirst): Execute => async (run) => {
        const waits = [run.waitFor('note'), run.requireInput('Which city?')]
        await Promise.all([...waits, isFirst ? undefined : run.sleep('pause', { ms: HOUR })])
      }),
    )
    const [a, b] = all as [Replica, Replica]
    const { id } = await begin(a, 'go')
    await settle()
    a.store.fail()
    await b.tasks.signal(id, 'note', 'noted')
    await pass(clock, async () => (await b.tasks.journal(id)).some(({ entry }) => entry.kind === 'sleep'))
    expect(await shown(b, id)).toEqual(asked)
    expect(await states(b, id)).toEqual(['working', 'input-required'])
  })
})

test('over SQLite, a sleep beside an open question is due', async () => {
  const { execute, done } = reminder(100_000)
  const { say, reaches, clock } = await agent(async (clock) => {
    const now = (): number => clock.now()
    return new DurableTaskManager({ store: await openForTest({ now }), clock })
  }, execute)
  const id = await say('go')
  await reaches(id, 'input-required')
  await pass(clock, () => done.length === 1)
  expect((await reaches(id, 'input-required')).message).toMatchObject({ parts: [{ text: 'Which city?' }] })
  await say('Lisbon', id)
  expect(textsOf(await reaches(id, 'completed'))).toEqual(['Lisbon'])
  expect(done).toEqual(['reminded'])
})

describe('a report of progress beside an open question', () => {
  const execute: Execute = async (run) => {
    const [answer] = await Promise.all([
      run.requireInput('Which city?'),
      run.step('load', () => {
        run.update('Loading 50 %')
        run.update('Loading 90 %')
      }),
    ])
    await run.waitFor('go on')
    return textOf(answer)
  }

  test('is shown after the answer, and the question stays the status message until then', async () => {
    const { say, reaches, tasks } = await agent((clock) => new TaskManager({ clock }), execute)
    const id = await say('go')
    await settle()
    expect((await reaches(id, 'input-required')).message).toMatchObject({ parts: [{ text: 'Which city?' }] })
    await say('Rome', id)
    expect((await reaches(id, 'working')).message).toMatchObject({ parts: [{ text: 'Loading 90 %' }] })
    await tasks.signal(id, 'go on')
    const task = await reaches(id, 'completed')
    expect([task.message, textsOf(task)]).toEqual([undefined, ['Rome']])
  })
})
