/** Agents with the real LangGraph whose processes die: before and after each write, and after each entry of the journal. */
import { toolCallsIn } from 'a2a-tasks/client'
import { expect, test } from 'vitest'
import { crashed } from '../crashed.js'
import { describeWith } from '../installed.js'
import { agentOf, answer, lang, modelOf, toolOf } from './kit.js'

const ROME = { city: 'Rome' }

describeWith('@langchain/langgraph', () => {
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
    const weather = await toolOf('weather', ({ city }) => `${city}: clear`)
    const report = await crashed(agentOf(model, { tools: [weather] }), ['Weather?'])
    const [artifact] = report.task.artifacts
    expect(artifact?.parts).toEqual([{ text: 'Let me see.\n\nSunny here' }])
    expect(toolCallsIn(artifact)).toMatchObject([{ id: 'c1', output: 'Rome: clear' }, { id: 'c2' }])
    expect(report.steps.begun).toBeLessThanOrEqual(report.steps.needed + report.crashPoints)
  })

  test('two interrupts, and a tool without one', { timeout: 240_000 }, async () => {
    const { interrupt } = await lang()
    const model = await modelOf([
      answer(
        ['Shall I?'],
        [
          ['book', 'b1', ROME],
          ['weather', 'c1', ROME],
          ['book', 'b2', { city: 'Oslo' }],
        ],
      ),
      answer(['Done']),
    ])
    const book = await toolOf('book', ({ city }) => `${city}: ${String(interrupt(`Book ${city}?`))}`)
    const weather = await toolOf('weather', () => 'clear')
    const report = await crashed(agentOf(model, { tools: [book, weather], version: 'v2' }), [
      'Book',
      // The questions come in the order of what they ask: Oslo, then Rome.
      'no',
      'yes',
    ])
    expect(report.task.artifacts[0]?.parts).toEqual([{ text: 'Shall I?\n\nDone' }])
    expect(toolCallsIn(report.task.artifacts[0])).toMatchObject([
      { id: 'b1', output: 'Rome: yes' },
      { id: 'c1', output: 'clear' },
      { id: 'b2', output: 'Oslo: no' },
    ])
  })

  test('an interrupt in a node with other calls: each is made once', { timeout: 240_000 }, async () => {
    const { interrupt } = await lang()
    const model = await modelOf([
      answer(
        [],
        [
          ['weather', 'c1', ROME],
          ['book', 'b1', ROME],
        ],
      ),
      answer(['Done']),
    ])
    const book = await toolOf('book', ({ city }) => `${city}: ${String(interrupt({ book: city }))}`)
    const weather = await toolOf('weather', () => 'clear')
    const report = await crashed(agentOf(model, { tools: [book, weather] }), ['Book', 'yes'])
    expect(toolCallsIn(report.task.artifacts[0])).toEqual([
      { id: 'c1', name: 'weather', input: ROME, state: 'done', output: 'clear' },
      { id: 'b1', name: 'book', input: ROME, state: 'done', output: 'Rome: yes' },
    ])
  })

  test('a tool that fails, and a model that fails', { timeout: 240_000 }, async () => {
    const weather = await toolOf('weather', () => {
      throw new Error('closed')
    })
    const model = await modelOf([
      answer([], [['weather', 'c1', ROME]]),
      () => {
        throw new Error('overloaded')
      },
    ])
    const report = await crashed(agentOf(model, { tools: [weather] }), ['Weather?'])
    expect(report.task.state).toBe('failed')
  })
})
