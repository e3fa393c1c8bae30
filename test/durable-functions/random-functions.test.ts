/** Random durable functions that crash at every write. */
import { SPENDING, spendingOf, type Task } from 'a2a-tasks'
import fc from 'fast-check'
import { textOf, type Execute, type Run } from 'a2a-tasks/server'
import { testDurable } from 'a2a-tasks/testing'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { runsAll } from '../support/samples.js'

/** The artifact that code writes to: one of its own id, or a new one. */
type Place = 'a' | 'b' | 'new' | 'none'

/** What a function does, one after the other. */
type Act =
  | { readonly act: 'write'; readonly to: Place; readonly append: boolean }
  | { readonly act: 'step'; readonly name: 'x' | 'y'; readonly writes: Place; readonly fails: boolean }
  | { readonly act: 'ask' }
  | { readonly act: 'typed' | 'login'; readonly expires: boolean }
  | { readonly act: 'all'; readonly branches: number }
  | { readonly act: 'stream'; readonly branches: number; readonly to: 'a' | 'new'; readonly flaky: boolean }
  | { readonly act: 'value' | 'update' | 'metadata' | 'spend' | 'change' | 'again' | 'throw' }

const acts: fc.Arbitrary<Act> = fc.oneof(
  fc.record({
    act: fc.constant('write'),
    to: fc.constantFrom('a', 'b', 'new', 'none'),
    append: fc.boolean(),
  }),
  fc.record({
    act: fc.constant('step'),
    name: fc.constantFrom('x', 'y'),
    writes: fc.constantFrom('a', 'b', 'new', 'none'),
    fails: fc.boolean(),
  }),
  fc.record({ act: fc.constant('ask') }),
  fc.record({ act: fc.constantFrom('typed', 'login'), expires: fc.boolean() }),
  fc.record({ act: fc.constant('all'), branches: fc.integer({ min: 2, max: 3 }) }),
  fc.record({
    act: fc.constant('stream'),
    branches: fc.integer({ min: 1, max: 3 }),
    to: fc.constantFrom('a', 'new'),
    flaky: fc.boolean(),
  }),
  fc.record({ act: fc.constantFrom('value', 'update', 'metadata', 'spend', 'change', 'again', 'throw') }),
)

const write = (run: Run, to: Place, text: string, append = true): string | undefined =>
  to === 'none'
    ? undefined
    : run.artifact({ parts: [{ text }], ...(to !== 'new' && { artifactId: to }) }, { append })

/** Steps in parallel that write chunks to one artifact, or each to its own. */
async function stream(
  run: Run,
  { branches, to, flaky }: Act & { act: 'stream' },
  at: number,
): Promise<unknown> {
  const branch = (index: number): Promise<string> =>
    run.step(
      'stream',
      async ({ attempt }) => {
        let artifactId: string | undefined = to === 'new' ? undefined : to
        for (let chunk = 0; chunk < 3; chunk += 1) {
          artifactId = run.artifact({ artifactId, parts: [{ text: `${at}.${index}.${chunk} ` }] })
          for (let pause = 0; pause <= index; pause += 1) await turn()
          if (flaky && chunk === index && attempt === 1) throw new Error('Not yet')
        }
        return artifactId ?? ''
      },
      { retry: { attempts: 2, backoff: { initialMs: 1 } } },
    )
  return await Promise.all(Array.from({ length: branches }, (_, index) => branch(index)))
}

async function perform(run: Run, act: Act, at: number): Promise<unknown> {
  switch (act.act) {
    case 'write':
      return write(run, act.to, `${at} `, act.append)
    case 'step':
      return await run
        .step(act.name, () => {
          write(run, act.writes, `${at} `)
          run.spend({ steps: 1 })
          if (act.fails) throw new RangeError(`Failed at ${at}`)
          return new Map([[at, new Date(at)]])
        })
        .then((output) => output.get(at)?.getTime())
        .catch(String)
    case 'ask':
      return textOf(await run.requireInput(`Question ${at}?`))
    case 'typed': {
      const expiry = act.expires ? { expiresInMs: 86_400_000 } : {}
      return await run.requireInput(`Value ${at}?`, { schema: z.string().min(1), ...expiry })
    }
    case 'login': {
      const expiry = act.expires ? { expiresInMs: 86_400_000 } : {}
      const options = { url: 'https://login.example', message: `Authorize ${at}?`, ...expiry }
      return await run.authorize(`login ${at}`, options).catch(String)
    }
    case 'all': {
      const branch = async (index: number): Promise<number> => {
        const first = await run.step(`branch ${index}`, () => index)
        return first + (await run.step(`branch ${index}`, async () => Promise.resolve(at)))
      }
      return await Promise.all(Array.from({ length: act.branches }, (_, index) => branch(index)))
    }
    case 'stream':
      return await stream(run, act, at)
    case 'throw':
      if (run.attempt === 1) throw new Error(`Thrown at ${at}`)
      return at
    case 'value':
      return [run.random(), run.uuid()]
    case 'update':
      run.update(`At ${at}`)
      return at
    case 'metadata':
      run.setMetadata({ [`at ${at % 2}`]: at, before: at === 3 ? null : run.text })
      return at
    case 'spend':
      run.spend({ cost: at + 1, model: `model ${at % 2}` })
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

/** The order of what parallel steps write is open: that of artifacts, and of the words of one that they share. */
function resultOf({ state, artifacts, messages, metadata }: Task): unknown {
  const chunks = artifacts.map((artifact) => {
    const { artifactId, parts = [] } = artifact
    const words = textOf(artifact).split(' ').sort()
    return [artifactId, artifactId === 'a' ? words : parts.map(({ text }) => text)]
  })
  // Each attempt of a step spends. Other code spends once.
  const { total, models } = spendingOf({ metadata }) ?? {}
  const shown = { ...metadata, [SPENDING]: { cost: total?.['cost'], models } }
  // When a question expires depends on when it was asked.
  const said: unknown = JSON.parse(
    JSON.stringify(messages, (key, value: unknown) => (key === 'expiresAt' ? '' : value)),
  )
  return { state, messages: said, metadata: shown, artifacts: Object.fromEntries(chunks) as unknown }
}

/** `npm run test:all` tries more. */
const RUNS = runsAll ? 30 : 5

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
      const questions = rounds.flat().filter(({ act }) => ['ask', 'typed', 'login'].includes(act))
      const answers = questions.map(({ act }, index) => (act === 'login' ? 'decline' : `answer ${index}`))
      const { task } = await testDurable(functionOf(program, isGenerator), {
        messages: ['begin', ...answers],
        handler: { retry: { attempts: 2, backoff: { initialMs: 1 } } },
        resultOf,
      })
      expect(task.state).toBe('completed')
    }),
    { numRuns: RUNS },
  )
})
