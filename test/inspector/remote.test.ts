/** An inspector of an agent that is not ours, by its API. */
import { A2AClient } from 'a2a-tasks/client'
import { ManualClock } from 'a2a-tasks/testing'
import { expect, it } from 'vitest'
import { entriesOf, OPEN, Page } from './support/inspected.js'
import { official } from './support/official.js'

it('counts the changes of a task, also those between two looks, and those before a restart', async () => {
  const { client, taskOf } = await official()
  const id = await taskOf('ask')
  await expect.poll(async () => (await client.getTask(id)).state).toBe('input-required')
  const clock = new ManualClock()
  const page = new Page({ ...OPEN, client, clock })
  const eventsOf = async (inspector: Page, after: number): Promise<unknown> =>
    (await inspector.get(`tasks/${id}/events?after=${after}`)).body
  expect(await eventsOf(page, 0)).toMatchObject({
    events: [{ generation: 1, task: { state: 'input-required' } }],
  })
  expect(await eventsOf(page, 1)).toEqual({ events: [] })
  await page.post('messages', { text: 'Ada', taskId: id })
  await expect.poll(async () => (await client.getTask(id)).state).toBe('completed')
  const history = [{ state: 'input-required' }, { state: 'completed' }]
  const following = entriesOf(await page.open(`tasks/${id}/follow?after=1`))
  expect((await following.next()).value).toMatchObject({ generation: 2, task: { history } })
  expect((await following.next()).done).toBe(true)
  const restarted = new Page({ ...OPEN, client, clock })
  expect(await eventsOf(restarted, 2)).toMatchObject({
    events: [{ generation: 3, task: { state: 'completed' } }],
  })
})

it('lists tasks by either spelling of canceled', async () => {
  const { client, taskOf } = await official()
  const id = await taskOf('ask')
  await client.cancelTask(id)
  const page = new Page({ ...OPEN, client })
  for (const state of ['canceled', 'cancelled']) {
    expect((await page.get(`tasks?state=${state}`)).body).toMatchObject({ tasks: [{ id }] })
  }
})

it('shows what clients stumble on in the card', async () => {
  const { client } = await official()
  const {
    skills: [skill],
    ...card
  } = client.card
  const lax = new A2AClient({ card: { ...card, skills: skill === undefined ? [] : [skill, skill] } })
  expect((await new Page({ ...OPEN, client: lax }).get('problems')).body).toContainEqual(
    expect.objectContaining({ path: expect.stringContaining('skills') as unknown }),
  )
})
