/** Agents with the real OpenAI Agents whose processes die: before and after each write, and after each entry of the journal. */
import { toolCallsIn } from 'a2a-tasks/client'
import { expect, test } from 'vitest'
import { crashed } from '../crashed.js'
import { describeWith } from '../installed.js'
import { agentOf, answer, modelOf, toolOf } from './kit.js'

const ROME = { city: 'Rome' }

describeWith('@openai/agents', () => {
  test('an answer in pieces, and two calls of tools at a time', { timeout: 240_000 }, async () => {
    const model = await modelOf([
      answer(
        ['Let me', ' see.'],
        [
          ['weather', 'c1', ROME],
          ['weather', 'c2', { city: 'Oslo' }],
        ],
      ),
      answer(['Sunny', ' here']),
    ])
    const weather = await toolOf('weather', async ({ city }: { city: string }) =>
      Promise.resolve(`${city}: clear`),
    )
    const report = await crashed(agentOf(model, { tools: [weather] }), ['Weather?'])
    const [artifact] = report.task.artifacts
    expect(artifact?.parts).toEqual([{ text: 'Let me see.\n\nSunny here' }])
    expect(toolCallsIn(artifact)).toMatchObject([{ id: 'c1', output: 'Rome: clear' }, { id: 'c2' }])
    expect(report.steps.begun).toBeLessThanOrEqual(report.steps.needed + report.crashPoints)
  })

  test.each([
    ['approve', 'Booked'],
    ['reject', 'Not booked'],
  ])('two approvals, and a tool without one: %s', { timeout: 240_000 }, async (verdict, text) => {
    let booked = 0
    const model = await modelOf([
      answer(
        ['Shall I?'],
        [
          ['book', 'b1', ROME],
          ['weather', 'c1', ROME],
          ['book', 'b2', { city: 'Oslo' }],
        ],
      ),
      answer([text]),
    ])
    const book = await toolOf('book', () => `seat ${Math.min((booked += 1), 1)}`, { needsApproval: true })
    const weather = await toolOf('weather', () => 'clear')
    const report = await crashed(agentOf(model, { tools: [book, weather] }), ['Book', verdict, verdict])
    expect(report.task.artifacts[0]?.parts).toEqual([{ text: `Shall I?\n\n${text}` }])
    const state = verdict === 'approve' ? 'done' : 'rejected'
    expect(toolCallsIn(report.task.artifacts[0])).toMatchObject([
      { id: 'b1', state },
      { id: 'c1', state: 'done' },
      { id: 'b2', state },
    ])
    expect(booked > 0).toBe(verdict === 'approve')
  })

  test('without a stream, a tool that fails, and a model that fails', { timeout: 240_000 }, async () => {
    const weather = await toolOf('weather', () => {
      throw new Error('closed')
    })
    const model = await modelOf([
      answer([], [['weather', 'c1', ROME]]),
      () => {
        throw new Error('overloaded')
      },
    ])
    const report = await crashed(agentOf(model, { tools: [weather], isStreamed: false }), ['Weather?'])
    expect(report.task.state).toBe('failed')
  })
})
