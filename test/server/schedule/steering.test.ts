/** Messages that steer a run: a turn that continues sees them where it first read them. */
import { textOf, type Execute, type Run } from 'a2a-tasks/server'
import { testDurable } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { begin, pass, replicas, resultOf, settle, stateAt } from '../durable/support/replicas.js'
import { gate } from '../spec/support/agent.js'
import { agent, MANAGERS, textsOf } from '../journal/support/managers.js'

const forEver = (): Promise<never> => new Promise(() => undefined)

const said = (run: Run): string => run.messages.map(textOf).join()

const isStopped = (run: Run): boolean => run.messages.some((message) => textOf(message) === 'stop')

test('a message that arrives during a step is seen after it, also in a replay', async () => {
  const arrived = gate()
  const begun = gate()
  const done: number[] = []
  const seen: string[][] = []
  const script =
    (end: () => Promise<void>): Execute =>
    async (run) => {
      const views: string[] = []
      seen.push(views)
      for (let item = 1; item <= 4 && !isStopped(run); item += 1) {
        views.push(said(run))
        await run.step('item', async () => {
          done.push(item)
          if (item !== 2) return
          begun.open()
          await arrived.opened
        })
      }
      await run.step('sum', () => views.push(said(run)))
      await end()
      return said(run)
    }
  const { a, b, clock } = replicas([script(forEver), script(() => Promise.resolve())], {
    onFollowUp: 'steer',
  })
  const { id } = await begin(a, 'go')
  await begun.opened
  await begin(b, 'stop', id)
  arrived.open()
  await settle()
  a.store.fail()
  await begin(b, 'late', id)
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  expect(b.errors).toEqual([])
  expect(done).toEqual([1, 2])
  expect(seen).toEqual([
    ['go', 'go', 'go,stop'],
    ['go', 'go'],
  ])
  expect(await resultOf(b, id)).toEqual(['go,stop,late'])
})

test('code that has an answer sees the messages before it, also where an earlier attempt read none', async () => {
  const ask = async (run: Run): Promise<string> => textOf(await run.requireInput('Which?'))
  const { a, b, clock } = replicas([
    async (run) => {
      await ask(run)
      await run.step('last', () => 1)
      await forEver()
    },
    async (run) => {
      const answer = await ask(run)
      const seen = said(run)
      await run.step('last', () => 2)
      return `${answer}: ${seen}`
    },
  ])
  const { id } = await begin(a, 'go')
  await settle()
  await begin(a, 'this', id)
  await settle()
  a.store.fail()
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  expect(await resultOf(b, id)).toEqual(['this: go,Which?,this'])
})

test('code that waits for a message without a step ends its wait in a replay', async () => {
  const { a, b, clock } = replicas(
    [
      async (run) => {
        run.start()
        while (!isStopped(run)) await settle()
        await run.step('last', () => 1)
        await forEver()
      },
      async (run) => {
        while (!isStopped(run)) await settle()
        await run.step('last', () => 2)
        return said(run)
      },
    ],
    { onFollowUp: 'steer' },
  )
  const { id } = await begin(a, 'go')
  await begin(b, 'stop', id)
  await pass(clock, async () => (await b.tasks.journal(id)).some(({ entry }) => entry.kind === 'step'))
  a.store.fail()
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  expect(await resultOf(b, id)).toEqual(['go,stop'])
})

test('artifacts that were written before a message was read are not doubled', async () => {
  const execute: Execute = async (run) => {
    const answer = textOf(await run.requireInput('Which?'))
    run.artifact({ artifactId: 'log', parts: [{ text: 'Read ' }] })
    run.artifact({ artifactId: 'log', parts: [{ text: `${run.messages.length}: ` }] })
    await run.step('one', () => 1)
    run.artifact({ artifactId: 'log', parts: [{ text: answer }] })
  }
  const { task } = await testDurable(execute, { messages: ['go', 'this'] })
  expect(textsOf(task)).toEqual(['Read 3: this'])
})

describe.each(MANAGERS)('over %s', (_, open) => {
  test('a fork sees the conversation as its history does', async () => {
    const views: string[] = []
    const { say, reaches, tasks, journal } = await agent(open, async (run) => {
      views.push(said(run))
      const answer = textOf(await run.requireInput('Which?'))
      views.push(said(run))
      await run.step('last', () => 1)
      return answer
    })
    const id = await say('go')
    await reaches(id, 'input-required')
    await say('this', id)
    await reaches(id, 'completed')
    expect((await journal(id)).filter(({ entry }) => entry.kind === 'read')).toMatchObject([
      { entry: { count: 3 } },
    ])
    const fork = await tasks.fork(id)
    await reaches(fork.id, 'completed')
    expect(views).toEqual(['go', 'go,Which?,this', 'go', 'go,Which?,this'])
  })

  test('a conversation that has not grown since it was read is not recorded again', async () => {
    const { say, reaches, kinds } = await agent(open, async (run) => {
      for (let count = 0; count < 3; count += 1) await run.step('s', () => said(run))
      return said(run) + said(run)
    })
    const id = await say('go')
    await reaches(id, 'completed')
    expect(await kinds(id)).toEqual(['turn', 'step', 'step', 'step'])
  })
})
