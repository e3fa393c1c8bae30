/** A thousand calls at once: short ones, and long ones that become tasks. */
import { expect, it } from 'vitest'
import { sceneOf, textIn, type Json } from './kit.js'

const COUNT = 1_000
const TASKS = { tasks: true, elicitation: { form: {} } }
/** No call is a task because the machine is busy. */
const SHORT = { waitMs: 60_000 }
const texts = Array.from({ length: COUNT }, (_, index) => `call ${index}`)

it('short calls are answered at once, each with its own result', async () => {
  const { say } = sceneOf((run) => `You said: ${run.text}`, SHORT)
  const replies = await Promise.all(texts.map((text) => say(text, TASKS)))
  expect(replies.map(({ result }) => textIn(result))).toEqual(texts.map((text) => `You said: ${text}`))
})

it('short calls of clients without tasks are answered as far as there is room for streams', async () => {
  const { say } = sceneOf((run) => `You said: ${run.text}`, SHORT)
  const replies = await Promise.all(texts.map((text) => say(text)))
  const answered = replies.filter(({ status }) => status === 200)
  expect(answered).toHaveLength(750)
  for (const { status, headers } of replies.filter((reply) => !answered.includes(reply)))
    expect([status, headers.get('retry-after')]).toEqual([503, '1'])
})

it('long calls are tasks that are read, answered and ended one by one', async () => {
  const { say, ask, tasks } = sceneOf(
    async (run) => {
      const { parts } = await run.requireInput(`Which, ${run.text}?`)
      return `${run.text}: ${parts[0]?.text ?? ''}`
    },
    { waitMs: 0 },
  )
  const created = await Promise.all(texts.map((text) => say(text, TASKS)))
  const ids = created.map(({ result }) => String(result['taskId']))
  expect(new Set(ids).size).toBe(COUNT)
  await Promise.all(ids.map((id) => tasks.waitFor(id, { until: ({ state }) => state === 'input-required' })))
  const get = async (taskId: string): Promise<Json> => (await ask('tasks/get', { taskId }, TASKS)).result
  const answer = async (taskId: string, index: number): Promise<void> => {
    const { inputRequests } = await get(taskId)
    const [key = ''] = Object.keys(inputRequests as Json)
    const inputResponses = { [key]: { action: 'accept', content: { answer: String(index) } } }
    await ask('tasks/update', { taskId, inputResponses }, TASKS)
  }
  await Promise.all(ids.map(answer))
  await Promise.all(ids.map((id) => tasks.waitFor(id)))
  const ended = await Promise.all(ids.map(get))
  expect(ended.map(({ result }) => textIn(result as Json))).toEqual(
    texts.map((text, index) => `${text}: ${index}`),
  )
})
