/** Texts of agents that are cut within a character: models are cut by tokens, and code by `slice`. */
import fc from 'fast-check'
import { A2AClient } from 'a2a-tasks/client'
import { createRequestHandler, type Execute, type Run } from 'a2a-tasks/server'
import { testDurable } from 'a2a-tasks/testing'
import { TaskManager } from 'a2a-tasks'
import { describe, expect, onTestFinished, test } from 'vitest'
import { samples } from '../../support/samples.js'
import { agent, MANAGERS, textsOf, type Open } from '../journal/support/managers.js'
import { ORIGIN } from '../spec/support/agent.js'

const HIGH = '\ud83d'
const LOW = '\ude00'
const CUT = `Hello ${HIGH}`
const MENDED = 'Hello \ufffd'

const inMemory: Open = (clock) => new TaskManager({ clock })

const chunk = (run: Run, text: string, options?: Parameters<Run['artifact']>[1]): unknown =>
  run.artifact({ artifactId: 'a', parts: [{ text }] }, options)

async function* halves(): AsyncGenerator<string> {
  yield await Promise.resolve(`Hi ${HIGH}`)
  yield `${LOW} there`
}

describe.each(MANAGERS)('over %s', (_name, open) => {
  async function partsOf(execute: Execute): Promise<unknown> {
    const own = await agent(open, execute)
    const { artifacts } = await own.reaches(await own.say('go'), 'completed')
    expect(own.errors).toEqual([])
    return artifacts.map(({ parts }) => parts)
  }

  test.each<[string, Execute, unknown]>([
    ['waits for the next chunk', halves, [{ text: 'Hi 😀 there' }]],
    [
      'waits through an empty chunk',
      (run) => [HIGH, '', LOW].forEach((text) => chunk(run, text)),
      [{ text: '😀' }],
    ],
    [
      'waits from token to token',
      (run) => [HIGH, LOW, HIGH, LOW].forEach((text) => chunk(run, text)),
      [{ text: '😀😀' }],
    ],
    ['is replaced at the end', () => CUT, [{ text: MENDED }]],
    ['is replaced at the end of a stream', (run) => void chunk(run, CUT), [{ text: MENDED }]],
    ['is replaced in the last chunk', (run) => void chunk(run, CUT, { lastChunk: true }), [{ text: MENDED }]],
    [
      'is replaced before another text',
      (run) => (chunk(run, CUT), void chunk(run, '!')),
      [{ text: `${MENDED}!` }],
    ],
    [
      'is replaced before another text that ends alike',
      (run) => (chunk(run, CUT), chunk(run, HIGH), void chunk(run, LOW)),
      [{ text: `${MENDED}😀` }],
    ],
    ['is replaced at the start', () => `${LOW}!`, [{ text: '\ufffd!' }]],
    [
      'is replaced before a part of another kind',
      (run) => (chunk(run, CUT), void run.artifact({ artifactId: 'a', parts: [{ data: 1 }] })),
      [{ text: MENDED }, { data: 1 }],
    ],
    [
      'goes into the next part of its media type',
      (run) => {
        for (const text of [CUT, `${LOW}!`])
          run.artifact({ artifactId: 'a', parts: [{ text, mediaType: 'text/markdown' }] })
      },
      [
        { text: 'Hello ', mediaType: 'text/markdown' },
        { text: '😀!', mediaType: 'text/markdown' },
      ],
    ],
    [
      'is dropped with what is replaced',
      (run) => (chunk(run, CUT), void chunk(run, 'new', { append: false })),
      [{ text: 'new' }],
    ],
    [
      'waits beside a step',
      async (run) => {
        chunk(run, CUT)
        await run.step('beside', () => 1)
        chunk(run, `${LOW}!`)
      },
      [{ text: 'Hello 😀!' }],
    ],
    [
      'does not leave the step that wrote it',
      async (run) => {
        await run.step('writes', () => void chunk(run, CUT))
        chunk(run, `${LOW}!`)
      },
      [{ text: `${MENDED}\ufffd!` }],
    ],
  ])('half a character %s', async (_title, execute, parts) => {
    expect(await partsOf(execute)).toEqual([parts])
  })

  test('is replaced in every other text of an agent', async () => {
    const own = await agent(open, async (run) => {
      run.update(CUT)
      run.artifact({ artifactId: 'a', name: CUT, metadata: { [CUT]: CUT }, parts: [{ data: [CUT] }] })
      const output = await run.step('out', () => ({ [CUT]: [CUT] }))
      const error: unknown = await run
        .step('error', () => Promise.reject(new Error(CUT)))
        .catch((e: unknown) => e)
      const signal = await run.waitFor('sign')
      run.artifact({
        artifactId: 'b',
        parts: [{ data: { output, signal, error: (error as Error).message } }],
      })
      await run.requireInput(CUT)
      if (run.messages.length < 9) await run.continueAs([{ text: CUT }])
    })
    const id = await own.say('go')
    await own.reaches(id, 'working')
    await own.tasks.signal(id, 'sign', { [CUT]: CUT })
    const asked = await own.reaches(id, 'input-required')
    expect(JSON.stringify(asked)).not.toMatch(/\\ud[89a-f]/)
    expect(JSON.stringify(await own.journal(id))).not.toMatch(/\\ud[89a-f]/)
    expect(asked.artifacts).toEqual([
      { artifactId: 'a', name: MENDED, metadata: { [MENDED]: MENDED }, parts: [{ data: [MENDED] }] },
      {
        artifactId: 'b',
        parts: [{ data: { output: { [MENDED]: [MENDED] }, signal: { [MENDED]: MENDED }, error: MENDED } }],
      },
    ])
    expect(asked.messages.at(-1)?.parts).toEqual([{ text: MENDED }])
  })

  test.each<[string, Execute, string]>([
    ['complete', (run) => run.complete(CUT), 'completed'],
    ['fail', (run) => run.fail(CUT), 'failed'],
    ['reject', (run) => run.reject(CUT), 'rejected'],
    ['cancel', (run) => run.cancel(CUT), 'canceled'],
  ])('run.%s ends the artifact and the message', async (_method, end, state) => {
    const own = await agent(open, (run) => {
      chunk(run, CUT)
      return end(run)
    })
    const task = await own.reaches(await own.say('go'), state)
    expect(textsOf(task)).toEqual([MENDED])
    expect(task.messages.at(-1)?.parts).toEqual([{ text: MENDED }])
  })
})

test('a step whose half has no room for its replacement ends without it', async () => {
  const open: Open = (clock) => new TaskManager({ clock, limits: { maxArtifactsSize: 300 } })
  const own = await agent(open, async (run) => {
    await run.step('s', async () => {
      await Promise.resolve()
      chunk(run, CUT)
      try {
        for (;;) run.artifact({ artifactId: 'other', parts: [{ text: '.' }] })
      } catch {
        return 'full'
      }
    })
    run.complete()
  })
  const { artifacts } = await own.reaches(await own.say('go'), 'completed')
  expect(artifacts[0]?.parts).toEqual([{ text: 'Hello ' }])
  expect(own.errors).toEqual([])
})

test('streams never have a half', async () => {
  const { handler } = await agent(inMemory, halves)
  const client = await A2AClient.connect(ORIGIN, {
    fetch: (url, init) => handler.fetch(new Request(url, init)),
  })
  const texts: (string | undefined)[] = []
  for await (const event of client.stream('go'))
    if (event.type === 'artifact') texts.push(...event.artifact.parts.map(({ text }) => text))
  expect(texts).toEqual(['Hi ', '😀 there'])
})

test('the texts that a client sends are mended before it sends them', async () => {
  const tasks = new TaskManager()
  const handler = createRequestHandler({
    card: { name: 'Echo', url: ORIGIN },
    tasks,
    execute: (run) => run.text,
  })
  onTestFinished(() => tasks.destroy())
  const client = await A2AClient.connect(ORIGIN, {
    fetch: (url, init) => handler.fetch(new Request(url, init)),
  })
  for (const message of [CUT, { parts: [{ text: CUT }] }])
    expect(await client.run(message)).toMatchObject({ ok: true, text: MENDED })
})

test('chunks are the same in each attempt, whatever a crash interrupts', async () => {
  const { task } = await testDurable(
    async (run) => {
      chunk(run, `a${HIGH}`)
      await run.step('one', () => void chunk(run, `${LOW}b${HIGH}`))
      chunk(run, `${LOW}c${HIGH}`)
      await run.requireInput('Go on?')
      chunk(run, `${LOW}d${HIGH}`)
      await run.step('two', () => 2)
      chunk(run, `${LOW}e${HIGH}`)
    },
    { messages: ['go', 'yes'] },
  )
  expect(textsOf(task)).toEqual(['a\ufffdb\ufffd😀c😀d😀e\ufffd'])
})

test('a text is the same however it is cut', async () => {
  const cuts = new Map<string, readonly string[]>()
  const own = await agent(inMemory, (run) => cuts.get(run.text)?.forEach((text) => chunk(run, text)))
  const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(text, fc.array(fc.nat(24)), async (whole, places) => {
      const sorted = [0, ...places.filter((at) => at < whole.length).sort((a, b) => a - b), whole.length]
      const name = String(cuts.size)
      cuts.set(
        name,
        sorted.slice(1).map((end, index) => whole.slice(sorted[index], end)),
      )
      const task = await own.reaches(await own.say(name), 'completed')
      expect(textsOf(task)).toEqual([whole])
    }),
    { numRuns: samples(200) },
  )
})
