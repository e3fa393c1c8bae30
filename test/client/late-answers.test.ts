/** Answers that come when their task does not wait for them any more. */
import { A2AClient } from 'a2a-tasks/client'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'
import { expect, onTestFinished, test } from 'vitest'
import * as z from 'zod'

function connect(execute: Execute): A2AClient {
  const handler = createRequestHandler({ card: { name: 'Asker', url: 'https://agent.test' }, execute })
  onTestFinished(() => handler.close({ graceMs: 1 }))
  return new A2AClient({
    card: handler.card,
    fetch: (url, init) => handler.fetch(new Request(url, init)),
  })
}

test('a run has the result of a task that has ended while its user answered a question', async () => {
  const withdraw = new AbortController()
  const client = connect(async (run) => {
    const question = { schema: z.string(), signal: withdraw.signal }
    await run.requireInput('City?', question).catch(() => undefined)
    return 'Done without'
  })
  const result = await client.run('Go', {
    onQuestions: async (questions, task) => {
      withdraw.abort()
      await expect.poll(async () => (await client.getTask(task.id)).state).toBe('completed')
      return Object.fromEntries(questions.map(({ id }) => [id, 'Rome']))
    },
  })
  expect(result).toMatchObject({ type: 'completed', text: 'Done without' })
})

test('a run has the result of a task that was canceled while its user answered in words', async () => {
  const client = connect(async (run) => `You said ${(await run.requireInput('City?')).parts[0]?.text ?? ''}`)
  const result = await client.run('Go', {
    onInputRequired: async ({ id }) => {
      await client.cancelTask(id)
      return 'Rome'
    },
  })
  expect(result).toMatchObject({ type: 'canceled' })
})

test('a run that begins with a message to a task that has ended is refused', async () => {
  const client = connect(() => 'Done')
  const first = await client.run('Go')
  if (first.type !== 'completed') throw new Error('It completes')
  const { id: taskId } = first.task
  expect(await client.run('more', { taskId })).toMatchObject({ type: 'error' })
})
