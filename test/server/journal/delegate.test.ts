/** Runs that delegate to agents of other processes, over HTTP. */
import type { DelegationResult, Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { begin, replicas, resultOf, send, settle, stateAt, textOf } from '../durable/support/replicas.js'
import { child, until, type Child } from './support/children.js'

describe('a delegation', () => {
  test('is followed to its end, and its result is part of the history', async () => {
    const { client, received } = await child((run) => `Booked: ${run.text}`)
    const { a } = replicas(async (run) => {
      const { ok, type, text } = await run.delegate('book', client, 'Lisbon')
      return `${ok} ${type} ${text}`
    })
    const { id } = await begin(a, 'go')
    await until(async () => (await stateAt(a, id)) === 'completed')
    expect(await resultOf(a, id)).toEqual(['true completed Booked: Lisbon'])
    expect(received).toEqual([`${id}/book#1`])
    const kinds = (await a.tasks.journal(id)).map(({ entry }) => entry.kind)
    expect(kinds).toEqual(['turn', 'delegate', 'handle', 'delegated'])
  })

  test('has an id that agents take, also if that of its task is long', async () => {
    const { client, received } = await child((run) => run.text)
    const id = 'ü'.repeat(300)
    const { a } = replicas(async (run) => (await run.delegate('book', client, 'Lisbon')).text, {
      manager: { generateId: () => id },
    })
    await begin(a, 'go')
    await until(async () => (await stateAt(a, id)) === 'completed')
    expect(await resultOf(a, id)).toEqual(['Lisbon'])
    expect(received[0]).toHaveLength(64)
  })

  test('is one of many in parallel without a warning', async () => {
    const { client, received } = await child((run) => run.text)
    const { a } = replicas(async (run) => {
      const each = (n: number): Promise<DelegationResult> => run.delegate('book', client, `${n}`)
      const results = await Promise.all(Array.from({ length: 12 }, (_, n) => each(n)))
      return results.map(({ text }) => text).join()
    })
    const { id } = await begin(a, 'go')
    await until(async () => (await stateAt(a, id)) === 'completed')
    expect(await resultOf(a, id)).toEqual(['0,1,2,3,4,5,6,7,8,9,10,11'])
    expect(received).toHaveLength(12)
  })

  test.each([
    ['message', 100, []],
    ['task', 350, ['canceled']],
    ['result', 600, ['completed']],
  ])('whose %s the history has no room for rejects', async (_, maxJournalBytes, states) => {
    const airline = await child(async (run) => {
      run.start()
      if (states.includes('completed')) return 'x'.repeat(500)
      return await new Promise<never>(() => undefined)
    })
    const { a } = replicas(
      async (run) => {
        const result = run.delegate('book', airline.client, 'Lisbon')
        return await result.then(
          ({ text }) => text,
          (error: unknown) => (error as Error).name,
        )
      },
      { limits: { maxJournalBytes } },
    )
    const { id } = await begin(a, 'go')
    await until(async () => (await stateAt(a, id)) === 'completed')
    expect(await resultOf(a, id)).toEqual(['LimitExceededError'])
    await until(() => airline.tasks.listTasks().every(({ state }) => states.includes(state)))
    expect(airline.tasks.listTasks()).toHaveLength(states.length)
  })

  test('continues in another process, and sends nothing twice', async () => {
    let finish: (text: string) => void = () => {}
    const work = new Promise<string>((resolve) => (finish = resolve))
    const { client, received } = await child(() => work)
    const { a, b, clock } = replicas(async (run) => {
      const { text } = await run.delegate('book', client, 'Lisbon')
      return text
    })
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    a.store.fail()
    clock.advance(31_000)
    await settle()
    clock.advance(11_000)
    await until(() => b.tasks.stats().leases === 1)
    finish('Booked')
    await until(async () => (await stateAt(b, id)) === 'completed')
    expect(await resultOf(b, id)).toEqual(['Booked'])
    expect(received).toEqual([`${id}/book#1`])
  })

  test('that has ended is answered by the log', async () => {
    const { client, received } = await child(() => 'Booked')
    const here: Execute = async (run) => {
      await run.delegate('book', client, 'Lisbon')
      return await new Promise<string>(() => undefined)
    }
    const there: Execute = async (run) => (await run.delegate('book', client, 'Lisbon')).text
    const { a, b, clock } = replicas([here, there])
    const { id } = await begin(a, 'go')
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'delegated'))
    a.store.fail()
    clock.advance(31_000)
    await settle()
    clock.advance(11_000)
    await until(async () => (await stateAt(b, id)) === 'completed')
    expect(await resultOf(b, id)).toEqual(['Booked'])
    expect(received).toHaveLength(1)
  })

  test('is canceled with its task', async () => {
    const { client, tasks } = await child(() => new Promise<string>(() => undefined))
    const { a, b } = replicas(async (run) => {
      await run.delegate('book', client, 'Lisbon')
    })
    const { id } = await begin(a, 'go')
    await until(() => tasks.countTasks({ state: 'working' }) === 1)
    await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
    await b.tasks.cancelTask(id)
    await until(() => tasks.countTasks({ state: 'canceled' }) === 1)
  })

  test('hands the questions of the agent to the user, at any process', async () => {
    const { client, received } = await child(async (run) => {
      const seat = textOf(await run.requireInput('Which seat?'))
      return `Seat ${seat}`
    })
    const { a, b } = replicas(async (run) => (await run.delegate('book', client, 'Lisbon')).text)
    const { id } = await begin(a, 'go')
    await until(async () => (await stateAt(a, id)) === 'input-required')
    await a.handler.close()
    await settle()
    await send(b, '12A', id)
    await until(async () => (await stateAt(b, id)) === 'completed')
    expect(await resultOf(b, id)).toEqual(['Seat 12A'])
    expect(received).toEqual([`${id}/book#1`])
  })

  test('hands the questions of the agent to onInputRequired', async () => {
    const { client } = await child(async (run) => textOf(await run.requireInput('Which seat?')))
    const asked: DelegationResult[] = []
    const { a } = replicas(async (run) => {
      const onInputRequired = (question: DelegationResult): string => {
        asked.push(question)
        return '1C'
      }
      return (await run.delegate('book', client, 'Lisbon', { onInputRequired })).text
    })
    const { id } = await begin(a, 'go')
    await until(async () => (await stateAt(a, id)) === 'completed')
    expect(await resultOf(a, id)).toEqual(['1C'])
    expect(asked).toMatchObject([{ type: 'input-required', text: 'Which seat?' }])
  })

  test('resolves to the failure of the agent', async () => {
    const { client } = await child((run) => run.fail('No seats'))
    const { a } = replicas(async (run) => {
      const { ok, type, text } = await run.delegate('book', client, 'Lisbon')
      return `${ok} ${type} ${text}`
    })
    const { id } = await begin(a, 'go')
    await until(async () => (await stateAt(a, id)) === 'completed')
    expect(await resultOf(a, id)).toEqual(['false failed No seats'])
  })

  test('carries its lineage, and ends circles and long chains', async () => {
    const errors: unknown[] = []
    const inner: { child?: Child } = {}
    const execute: Execute = async (run) => {
      try {
        if (inner.child === undefined) return 'no agent'
        const { text } = await run.delegate('next', inner.child.client, 'on')
        return text
      } catch (error) {
        errors.push(error)
        return JSON.stringify(run.message.metadata)
      }
    }
    const first = await child(execute)
    inner.child = first
    const { a } = replicas(async (run) => (await run.delegate('first', first.client, 'go')).text)
    const { id } = await begin(a, 'go')
    await until(async () => (await stateAt(a, id)) === 'completed')
    expect(errors).toMatchObject([{ code: 'UNSUPPORTED_OPERATION' }])
    const [text = ''] = await resultOf(a, id)
    const [lineage] = Object.values(JSON.parse(text) as Record<string, unknown>)
    expect(lineage).toMatchObject({ parentTaskId: id, rootTaskId: id, depth: 1, path: [expect.any(String)] })
  })

  test('is refused beyond the depth of a chain', async () => {
    const last = await child(() => 'done')
    const errors: unknown[] = []
    const middle = await child(
      async (run) => {
        const sent = run.delegate('next', last.client, 'on')
        return (await sent.catch((error: unknown) => void errors.push(error)))?.text ?? 'refused'
      },
      { limits: { maxDelegationDepth: 1 } },
    )
    const { a } = replicas(async (run) => (await run.delegate('first', middle.client, 'go')).text)
    const { id } = await begin(a, 'go')
    await until(async () => (await stateAt(a, id)) === 'completed')
    expect(await resultOf(a, id)).toEqual(['refused'])
    expect(errors).toMatchObject([{ code: 'LIMIT_EXCEEDED' }])
    expect(last.received).toEqual([])
  })

  test('over a manager in memory works within the process', async () => {
    const { client } = await child((run) => `Booked: ${run.text}`)
    const outer = await child(async (run) => (await run.delegate('book', client, run.text)).text)
    const result = await outer.client.run('Lisbon')
    expect(result).toMatchObject({ ok: true, text: 'Booked: Lisbon' })
  })
})
