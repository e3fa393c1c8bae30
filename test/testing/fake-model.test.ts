/** The model with a script, by the interface of a language model of AI SDK. `test/frameworks` runs it in the framework. */
import { fakeModel } from 'a2a-tasks/testing'
import { expect, test } from 'vitest'

const user = { role: 'user' }
const assistant = { role: 'assistant' }
const model = fakeModel([
  ['Let me see.', { tool: 'weather', input: { city: 'Rome' } }, { tool: 'weather', input: null }],
  'It is sunny.',
])

test('the n-th answer is for a conversation in which the model has spoken n - 1 times', async () => {
  const first = await model.doGenerate({ prompt: [user] })
  expect(first.content).toEqual([
    { type: 'text', text: 'Let me see.' },
    { type: 'tool-call', toolCallId: 'call-1-2', toolName: 'weather', input: '{"city":"Rome"}' },
    { type: 'tool-call', toolCallId: 'call-1-3', toolName: 'weather', input: 'null' },
  ])
  expect(first.finishReason.unified).toBe('tool-calls')
  const second = await model.doGenerate({ prompt: [user, assistant, { role: 'tool' }] })
  expect(second).toMatchObject({
    content: [{ type: 'text', text: 'It is sunny.' }],
    finishReason: { unified: 'stop' },
  })
  expect(second.usage.inputTokens.total).toBeGreaterThan(first.usage.inputTokens.total)
  expect(await model.doGenerate({ prompt: [user] })).toEqual(first)
})

test('a stream has a piece for each word, and says the same', async () => {
  const { stream } = await model.doStream({ prompt: [user, assistant] })
  const parts = []
  for await (const part of stream) parts.push(part)
  expect(parts.map(({ type }) => type)).toEqual([
    ...['stream-start', 'text-start', 'text-delta', 'text-delta', 'text-delta', 'text-end', 'finish'],
  ])
  expect(parts.flatMap((part) => (part.type === 'text-delta' ? [part.delta] : []))).toEqual([
    ...['It ', 'is ', 'sunny.'],
  ])
})

test('a call after the last answer is refused', async () => {
  const late = { prompt: [assistant, assistant] }
  const text = 'fakeModel() has 2 answers, and was asked for answer 3'
  await expect(model.doGenerate(late)).rejects.toThrow(text)
  await expect(model.doStream(late)).rejects.toThrow(text)
})
