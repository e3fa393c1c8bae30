/** Agents that speak in status messages, and return tasks without them. */
import { TaskManager } from 'a2a-tasks'
import { A2AClient, textOf } from 'a2a-tasks/client'
import { toolCallParts } from 'a2a-tasks/wire'
import { describe, expect, test } from 'vitest'
import { chunk, clientOf, scripted, status, stream, task } from './scripted.js'

/** An agent whose turns are these events, and whose GetTask answers with the last state and `more`. */
async function speaking(
  turns: readonly (readonly object[])[],
  more: object = {},
  states = ['input-required', 'completed'],
) {
  let turn = 0
  return await scripted((asked) => {
    if (asked.method === 'GetTask') return { ...task(states[turn - 1] ?? '', { at: `${turn}` }), ...more }
    turn += 1
    return stream(asked, turns[turn - 1] ?? [])
  })
}

const says = (text: string): object => status('working', { says: text })
/** As the server of the Gemini CLI: the text of the model in pieces, and a bare end of the turn. */
const FIRST = [
  { task: task('submitted') },
  says('Which '),
  says('city?'),
  status('input-required', { at: '1' }),
]
const SECOND = [status('working'), says('It rains '), says('in Paris.'), status('completed', { at: '2' })]

describe('what an agent says in status messages only', () => {
  test('is the text, the question, and among the messages', async () => {
    const result = await clientOf(await speaking([FIRST])).run('How is the weather?')
    expect(result).toMatchObject({ type: 'input-required', text: 'Which city?' })
    const { message, messages = [] } = result.task ?? {}
    expect(message && textOf(message)).toBe('Which city?')
    expect(messages.map(textOf)).toEqual(['Which ', 'city?'])
  })

  test('is what the user is asked, once, and only in its turn', async () => {
    const agent = await speaking([FIRST, SECOND])
    const questions: string[] = []
    const result = await clientOf(agent).run('How is the weather?', {
      onInputRequired({ message }) {
        questions.push(message ? textOf(message) : '')
        return 'Paris'
      },
    })
    expect(questions).toEqual(['Which city?'])
    expect(result).toMatchObject({ type: 'completed', text: 'It rains in Paris.' })
  })

  test('is not what it shows of its calls of tools', async () => {
    const call = toolCallParts({ id: '1', name: 'weather', state: 'done' })
    const message = { messageId: 'call', role: 'ROLE_AGENT', parts: call }
    const of = { taskId: 't-1', contextId: 'c-1' }
    const shows = { statusUpdate: { ...of, status: { state: 'TASK_STATE_WORKING', message } } }
    const agent = await speaking(
      [[{ task: task('submitted') }, shows, says('Rain.'), status('completed')]],
      {},
      ['completed'],
    )
    expect(await clientOf(agent).run('How is the weather?')).toMatchObject({
      type: 'completed',
      text: 'Rain.',
    })
  })

  test('is asked by a local task that was delegated', async () => {
    const { card } = await speaking([FIRST])
    const tasks = new TaskManager()
    const { id } = tasks.createTask({ skill: 'weather', input: 'How is it?' })
    const result = await new A2AClient({ taskManager: tasks }).sendTask(card, id)
    expect(result.text).toBe('Which city?')
    const { state, message } = tasks.getTask(id) ?? {}
    expect(state).toBe('input-required')
    expect(typeof message === 'object' && textOf(message)).toBe('Which city?')
  })

  test.each([
    ['a status message', { status: { state: 'TASK_STATE_INPUT_REQUIRED', message: said('Where?') } }],
    ['an artifact', { artifacts: [{ artifactId: 'a', parts: [{ text: 'Where?' }] }] }],
    ['a history that ends with the agent', { history: [said('Which '), said('Where?')] }],
  ])('does not replace %s of the task', async (_, more) => {
    const result = await clientOf(await speaking([FIRST], more)).run('hi')
    expect(result.text).toBe('Where?')
  })

  test('is there once where the task has it too', async () => {
    const result = await clientOf(await speaking([FIRST], { history: [said('Which ')] })).run('hi')
    expect(result.task?.messages.map(textOf)).toEqual(['Which ', 'city?'])
    expect(result.text).toBe('Which city?')
  })

  test('is kept up to a size: the latest', async () => {
    const long = 'x'.repeat(1_500_000)
    const agent = await speaking([
      [{ task: task('submitted') }, says(`1${long}`), says(`2${long}`), status('input-required')],
    ])
    const result = await clientOf(agent).run('hi')
    expect(result.text.slice(0, 2)).toBe('2x')
    expect(result.task?.messages).toHaveLength(1)
  })
})

test('chunks of artifacts stay the text of a completed task', async () => {
  const events = [{ task: task('working') }, says('Thinking'), chunk('Done'), status('completed')]
  const more = { artifacts: [{ artifactId: 'a-1', parts: [{ text: 'Done' }] }] }
  const agent = await speaking([events], more, ['completed'])
  expect(await clientOf(agent).run('hi')).toMatchObject({ type: 'completed', text: 'Done' })
})

function said(text: string): object {
  return { messageId: text, role: 'ROLE_AGENT', parts: [{ text }] }
}
