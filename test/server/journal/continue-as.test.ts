/** Turns that end their history and begin again: `run.continueAs`. */
import { A2AError, type JournalEntry } from 'a2a-tasks'
import type { Run } from 'a2a-tasks/server'
import { textOf } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { agent, MANAGERS, textsOf } from './support/managers.js'

const keys: string[] = []

/** Counts down from the number in its message, one in each round. */
async function countDown(run: Run): Promise<string> {
  const left = Number(run.text)
  const number = await run.step('number', ({ key }) => {
    keys.push(key)
    return left
  })
  run.artifact({ artifactId: 'log', parts: [{ text: `${number} ` }] })
  run.artifact(`round ${number}`)
  if (left > 1) return await run.continueAs(String(left - 1))
  return `at ${run.text}`
}

describe.each(MANAGERS)('over %s', (_, open) => {
  test('execute is called again with the input, and a history of its own', async () => {
    const { say, reaches, journal } = await agent(open, countDown, { limits: { maxSteps: 1 } })
    keys.length = 0
    const id = await say('3')
    const task = await reaches(id, 'completed')
    expect(textsOf(task)).toEqual(['3 2 1 ', 'round 3', 'round 2', 'round 1', 'at 1'])
    expect(keys).toEqual([`${id}/number#1`, `${id}/number#1@0.1`, `${id}/number#1@0.2`])
    expect(task.messages.map(({ parts }) => parts[0]?.text)).toEqual(['3'])
    const marks = (await journal(id)).flatMap(({ entry }) => (entry.kind === 'turn' ? [entry] : []))
    expect(marks.at(-1)).toMatchObject({
      continued: { round: 2, message: { parts: [{ text: '1' }] }, read: [] },
    })
  })

  test('the code that it leaves can change nothing more', async () => {
    const thrown: unknown[] = []
    const { say, reaches, errors } = await agent(open, async (run) => {
      if (run.text === 'again') return 'done'
      void run.continueAs({ parts: [{ text: 'again' }] })
      try {
        run.artifact('late')
      } catch (error) {
        thrown.push(error)
      }
      await run.step('late', () => 1).catch((error: unknown) => thrown.push(error))
      return 'late'
    })
    const id = await say('go')
    expect(textsOf(await reaches(id, 'completed'))).toEqual(['done'])
    expect(thrown).toMatchObject([{ code: 'LEASE_LOST' }, { code: 'LEASE_LOST' }])
    expect(errors).toEqual([])
  })

  test('questions, answers and messages that wait keep their order', async () => {
    const { say, reaches, journal } = await agent(open, async (run) => {
      const said = textOf(await run.requireInput('Next?'))
      run.artifact({ artifactId: 'log', parts: [{ text: `${run.text}-${said} ` }] })
      return said === 'stop' ? 'stopped' : await run.continueAs(said)
    })
    const id = await say('go')
    for (const answer of ['a', 'b', 'stop']) {
      await reaches(id, 'input-required')
      await say(answer, id)
    }
    expect(textsOf(await reaches(id, 'completed'))).toEqual(['go-a a-b b-stop ', 'stopped'])
    const entries: JournalEntry[] = (await journal(id)).map(({ entry }) => entry)
    const turn = entries.findLast(({ kind }) => kind === 'turn')
    expect(turn).toMatchObject({ continued: { round: 2, read: [] } })
    // Two answers, read in the order in which they came.
    expect(turn).toHaveProperty('continued.readTo')
  })

  test('it is refused while the run waits for anything, and for what is no message', async () => {
    const { say, reaches } = await agent(open, async (run) => {
      if (run.text === 'fine') return 'fine'
      const refused: string[] = []
      const attempt = (input: never): void => {
        try {
          void run.continueAs(input)
        } catch (error) {
          refused.push(String(error))
        }
      }
      await run.step('beside', () => attempt('fine' as never))
      const asking = run.requireInput('?')
      attempt('fine' as never)
      run.start()
      await asking.catch(() => undefined)
      attempt(7 as never)
      attempt([] as never)
      run.artifact(refused.join('; '))
      return await run.continueAs([{ text: 'fine' }])
    })
    expect(textsOf(await reaches(await say('go'), 'completed'))).toEqual([
      'TypeError: Before run.continueAs(), await all steps and waits that the run has started; ' +
        'TypeError: Before run.continueAs(), await all steps and waits that the run has started; ' +
        'TypeError: A message of a run must be a text, or an object with parts, got a number; ' +
        'InvalidParamsError: input.parts must not be empty',
      'fine',
    ])
  })

  test('an input that is not JSON is refused with its path, and the turn goes on', async () => {
    const { say, reaches } = await agent(open, async (run) => {
      if (run.text === 'next') return 'went on'
      const cycle: Record<string, unknown> = { text: 'x' }
      cycle['metadata'] = cycle
      for (const part of [{ data: 1n }, { data: [NaN] }, { data: new Date(0) }, { data: () => 1 }, cycle]) {
        try {
          await run.continueAs({ parts: [part as never] })
        } catch (error) {
          if (A2AError.is(error, 'LEASE_LOST')) throw error
          run.artifact((error as Error).message.replace(/(\.metadata)+/, ''))
        }
      }
      return await run.continueAs('next')
    })
    expect(textsOf(await reaches(await say('go'), 'completed'))).toEqual([
      'input.parts[0].data must be JSON, got a BigInt',
      'input.parts[0].data[0] must be JSON, got NaN',
      'input.parts[0].data must be JSON, got an instance of Date',
      'input.parts[0].data must be JSON, got a function',
      expect.stringMatching('nested deeper than maxDepth'),
      'went on',
    ])
  })

  test('a fork continues in the round that it shares', async () => {
    const { say, reaches, tasks, journal } = await agent(open, async (run) => {
      if (run.text === 'go') return await run.continueAs('second')
      const price = await run.step('price', () => 7)
      return `${run.text} ${price}`
    })
    const id = await say('go')
    expect(textsOf(await reaches(id, 'completed'))).toEqual(['second 7'])
    const turn = (await journal(id)).findLast(({ entry }) => entry.kind === 'turn')
    const fork = await tasks.fork(id, { steps: { 'price#1': 8 } })
    expect(textsOf(await reaches(fork.id, 'completed'))).toEqual(['second 8'])
    if (turn === undefined) return
    const again = await tasks.fork(id, { generation: turn.generation })
    expect(textsOf(await reaches(again.id, 'completed'))).toEqual(['second 7'])
  })
})
