/** Agents with the real AI SDK whose processes die: before and after each write, and after each entry of the journal. */
import { toolCallsIn } from 'a2a-tasks/client'
import { expect, test } from 'vitest'
import { crashed } from '../crashed.js'
import { describeWith } from '../installed.js'
import { agentOf, answer, modelOf, toolOf, type Call } from './kit.js'

const CALLS: [string, string, object][] = [
  ['weather', 'c1', { city: 'Rome' }],
  ['weather', 'c2', { city: 'Oslo' }],
]

describeWith('ai', () => {
  test('an answer in pieces, and two calls of tools at a time', { timeout: 240_000 }, async () => {
    const begun = new Counter()
    const model = await modelOf([answer(['Let me', ' see.'], CALLS), answer(['Sunny', ' here'])], begun.calls)
    const weather = await toolOf(
      async ({ city }: { city: string }, { toolCallId }: { toolCallId: string }) => {
        begun.count(toolCallId)
        return await Promise.resolve(`${city}: clear`)
      },
    )
    const report = await crashed(agentOf(model, { tools: () => ({ weather }) }), ['Weather?'])
    const [artifact] = report.task.artifacts
    expect(artifact?.parts).toEqual([{ text: 'Let me see.\n\nSunny here' }])
    expect(toolCallsIn(artifact)).toMatchObject([{ id: 'c1', output: 'Rome: clear' }, { id: 'c2' }])
    // Each step that was stored has not begun again: `testDurable` has seen it. The rest are those that a crash has cut.
    expect(report.steps.begun).toBeLessThanOrEqual(report.steps.needed + report.crashPoints)
    expect(begun.calls.length + begun.of('c1') + begun.of('c2')).toBeGreaterThan(report.steps.needed)
  })

  test.each([
    ['approve', 'Booked'],
    ['reject', 'Not booked'],
  ])('an approval: %s', { timeout: 240_000 }, async (verdict, text) => {
    const begun = new Counter()
    const model = await modelOf([answer(['Shall I?'], [['book', 'b1', { city: 'Rome' }]]), answer([text])])
    const book = await toolOf(() => {
      begun.count('b1')
      return 'done'
    })
    const execute = agentOf(model, {
      tools: () => ({ book }),
      more: (sdk) => ({ toolApproval: sdk.approval({ book: 'user-approval' }) }),
    })
    const report = await crashed(execute, ['Book', verdict])
    expect(report.task.artifacts[0]?.parts).toEqual([{ text: `Shall I?\n\n${text}` }])
    expect(begun.of('b1') > 0).toBe(verdict === 'approve')
  })

  test('sources, a tool that does not exist, and no text at the end', { timeout: 240_000 }, async () => {
    const source = (id: string): object => ({
      ...{ type: 'source', sourceType: 'url', id, url: `https://${id}.example` },
    })
    const withSource = (parts: object[], id: string): object[] => parts.toSpliced(-1, 0, source(id))
    const model = await modelOf([
      withSource(answer(['Let me see.'], [['nothing', 'c1', { city: 'Rome' }]]), 'a'),
      answer([], [['weather', 'c2', { city: 'Oslo' }]]),
      withSource(answer([]), 'b'),
    ])
    const weather = await toolOf(() => 'clear')
    const { task } = await crashed(agentOf(model, { tools: () => ({ weather }) }), ['Weather?'])
    expect(task.artifacts[0]?.metadata?.['sources']).toMatchObject([{ id: 'a' }, { id: 'b' }])
    expect(toolCallsIn(task.artifacts[0])).toMatchObject([
      { id: 'c1', state: 'failed' },
      { id: 'c2', state: 'done', output: 'clear' },
    ])
  })

  test('a tool that fails, and a model that fails', { timeout: 240_000 }, async () => {
    const weather = await toolOf(() => {
      throw new Error('closed')
    })
    const model = await modelOf([
      answer([], [['weather', 'c1', { city: 'Rome' }]]),
      [...answer(['Half']).slice(0, -2), { type: 'error', error: new Error('overloaded') }],
    ])
    const report = await crashed(agentOf(model, { tools: () => ({ weather }) }), ['Weather?'])
    expect(report.task.state).toBe('failed')
  })
})

class Counter {
  readonly calls: Call[] = []
  readonly #counts = new Map<string, number>()

  count(id: string): void {
    this.#counts.set(id, this.of(id) + 1)
  }

  of(id: string): number {
    return this.#counts.get(id) ?? 0
  }
}
