/** Random durable functions that crash at every write. */
import fc from 'fast-check'
import { textOf, type Execute, type Run } from 'a2a-tasks/server'
import { testDurable } from 'a2a-tasks/testing'
import { expect, test } from 'vitest'
import { runsAll } from '../support/samples.js'

/** What a function does, one after the other. */
type Act =
  | { readonly act: 'write'; readonly to: 'a' | 'b' | 'new'; readonly append: boolean }
  | { readonly act: 'step'; readonly name: 'x' | 'y'; readonly writes: boolean; readonly fails: boolean }
  | { readonly act: 'ask' }
  | { readonly act: 'all'; readonly branches: number }
  | { readonly act: 'value' | 'update' | 'change' | 'again' }

const acts: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ act: fc.constant('write'), to: fc.constantFrom('a', 'b', 'new'), append: fc.boolean() }),
  fc.record({
    act: fc.constant('step'),
    name: fc.constantFrom('x', 'y'),
    writes: fc.boolean(),
    fails: fc.boolean(),
  }),
  fc.record({ act: fc.constant('ask') }),
  fc.record({ act: fc.constant('all'), branches: fc.integer({ min: 2, max: 3 }) }),
  fc.record({ act: fc.constantFrom('value', 'update', 'change', 'again') }),
)

async function perform(run: Run, act: Act, at: number): Promise<unknown> {
  const chunk = { parts: [{ text: `${at} ` }] }
  switch (act.act) {
    case 'write':
      return run.artifact(act.to === 'new' ? chunk : { ...chunk, artifactId: act.to }, { append: act.append })
    case 'step':
      return await run
        .step(act.name, () => {
          if (act.writes) run.artifact({ ...chunk, artifactId: 'a' })
          if (act.fails) throw new RangeError(`Failed at ${at}`)
          return at
        })
        .catch(String)
    case 'ask':
      return textOf(await run.requireInput(`Question ${at}?`))
    case 'all': {
      const branch = async (index: number): Promise<number> => {
        const first = await run.step(`branch ${index}`, () => index)
        return first + (await run.step(`branch ${index}`, async () => Promise.resolve(at)))
      }
      return await Promise.all(Array.from({ length: act.branches }, (_, index) => branch(index)))
    }
    case 'value':
      return [run.random(), run.uuid()]
    case 'update':
      run.update(`At ${at}`)
      return at
    case 'change':
      return run.changed(`change ${at}`)
    case 'again':
      return run.text === 'begin' ? await run.continueAs('again') : at
  }
}

const functionOf =
  (program: readonly Act[], isGenerator: boolean): Execute =>
  (run) => {
    const all = async function* (): AsyncGenerator<string> {
      for (const [at, act] of program.entries()) yield `${JSON.stringify(await perform(run, act, at))} `
    }
    if (isGenerator) return all()
    return (async () => {
      const texts: string[] = []
      for await (const text of all()) texts.push(text)
      return texts.join('') || 'nothing'
    })()
  }

/** `npm run test:all` tries more. */
const RUNS = runsAll ? 30 : 3

test(`${RUNS} random functions end the same with and without crashes`, { timeout: 600_000 }, async () => {
  const programs = fc.array(acts, { minLength: 1, maxLength: 7 })
  await fc.assert(
    fc.asyncProperty(programs, fc.boolean(), async (program, isGenerator) => {
      // The first round goes as far as the first `again`, the second one to the end.
      const rounds = [
        program.slice(
          0,
          Math.max(
            0,
            program.findIndex(({ act }) => act === 'again'),
          ),
        ),
        program,
      ]
      const questions = rounds.flat().filter(({ act }) => act === 'ask')
      const answers = questions.map((_, index) => `answer ${index}`)
      const { task } = await testDurable(functionOf(program, isGenerator), {
        messages: ['begin', ...answers],
      })
      expect(task.state).toBe('completed')
    }),
    { numRuns: RUNS },
  )
})
