/** The model with a script, by the interface of a language model of AI SDK. `test/frameworks` runs it in the framework. */
import { fakeModel } from 'a2a-tasks/testing'
import { expect, test } from 'vitest'

const user = { role: 'user' }
const assistant = { role: 'assistant' }
const model = fakeModel([
  ['Let me see.', { tool: 'weather', input: { city: 'Rome' } }, { tool: 'weather', input: null }],
  'It is sunny.',
])

test('the n-th answer is for a model that has spoken n - 1 times since the message of the user', async () => {
  const first = await model.doGenerate({ prompt: [user] })
  expect(first.content).toEqual([
    { type: 'text', text: 'Let me see.' },
    { type: 'tool-call', toolCallId: 'call-1-1-2', toolName: 'weather', input: '{"city":"Rome"}' },
    { type: 'tool-call', toolCallId: 'call-1-1-3', toolName: 'weather', input: 'null' },
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

test('each message of the user has answers of its own, and the last ones are for all further messages', async () => {
  const both = fakeModel([{ tool: 'book', input: 'Rome' }, 'Booked'], ['You fly to Rome'])
  const said = async (...roles: { role: string }[]): Promise<unknown> =>
    (await both.doGenerate({ prompt: roles })).content[0]
  const text = (text: string): object => ({ type: 'text', text })
  const turn = [user, assistant, { role: 'tool' }, assistant]
  expect(await said(user)).toMatchObject({ toolName: 'book', toolCallId: 'call-1-1-1' })
  expect(await said(user, assistant, { role: 'tool' })).toEqual(text('Booked'))
  expect(await said(...turn, user)).toEqual(text('You fly to Rome'))
  expect(await said(...turn, user, assistant, user)).toEqual(text('You fly to Rome'))
  await expect(said(...turn, user, assistant)).rejects.toThrow(
    'fakeModel() has 1 answers to message 2 of the user, and was asked for answer 2',
  )
})

test('a call after the last answer is refused', async () => {
  const late = { prompt: [user, assistant, assistant] }
  const text = 'fakeModel() has 2 answers to message 1 of the user, and was asked for answer 3'
  await expect(model.doGenerate(late)).rejects.toThrow(text)
  await expect(model.doStream(late)).rejects.toThrow(text)
})
