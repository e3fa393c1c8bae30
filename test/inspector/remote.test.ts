/** An inspector of an agent that is not ours: a server of the official SDK, in a real browser and by the API. */
import { A2AClient } from 'a2a-tasks/client'
import { ManualClock } from 'a2a-tasks/testing'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { serveOfficialAgent } from '../conformance/support/official-agent.js'
import { closeBrowser, requireChromium } from '../support/browser.js'
import { entriesOf, OPEN, Page } from './support/inspected.js'
import { serve, violationsIn, visit } from './support/visit.js'

afterAll(closeBrowser)

async function official(): Promise<{
  client: A2AClient
  stop: () => void
  taskOf: (text: string) => Promise<string>
}> {
  const { url, close } = await serveOfficialAgent()
  onTestFinished(close)
  const client = await A2AClient.connect(url, { retry: { attempts: 1 } })
  const taskOf = async (text: string): Promise<string> => {
    const sent = await client.send(text, { returnImmediately: true })
    if (sent.type !== 'task') throw new Error('There is no task')
    return sent.task.id
  }
  return { client, stop: close, taskOf }
}

it(
  'shows the tasks, the card and a chat, answers a question, and remembers the states',
  { timeout: 60_000 },
  async (context) => {
    const chromium = requireChromium(context)
    const { client, taskOf } = await official()
    await taskOf('stream')
    await taskOf('fail')
    const id = await taskOf('ask')
    const { page, faults } = await visit(chromium, await serve({ ...OPEN, client }))
    await page.locator('.row', { hasText: 'It did not work' }).waitFor()
    await page.getByText('More filters').click()
    expect(await page.getByLabel('Skill').count()).toBe(0)
    await page.locator('.row', { hasText: 'What is your name?' }).click()
    await page.getByLabel('What is your name?').fill('Ada')
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
    await page.getByText('You said: Ada').waitFor()
    await page.locator('.heading-facts').getByText('Completed').waitFor()
    const bands = (): Promise<string[]> => page.locator('.band-name').allTextContents()
    expect((await bands())[0]).toBe('Input required')
    expect((await bands()).at(-1)).toBe('Completed')
    await page.reload()
    await page.locator('.heading-facts').getByText('Completed').waitFor()
    expect((await bands())[0]).toBe('Input required')
    expect(await violationsIn(page)).toEqual([])
    expect(page.url()).toContain(id)

    await page.getByRole('link', { name: 'Agent', exact: true }).click()
    await page.getByRole('heading', { name: /^Official/ }).waitFor()
    await page.getByLabel('Message').fill('reply')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('region', { name: 'Try it' }).getByText('Hello').waitFor()
    expect(faults).toEqual([])
  },
)

it('says that the agent does not answer', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const { client, taskOf, stop } = await official()
  const id = await taskOf('wait')
  const url = await serve({ ...OPEN, client, onError: () => undefined })
  const { page } = await visit(chromium, url)
  await page.locator('.row').first().waitFor()
  stop()
  await page.getByRole('status').getByText('Reconnecting').waitFor()
  await page.goto(`${url}#/t/${id}`)
  await page.reload()
  await page.getByRole('alert').getByText('The agent does not answer').first().waitFor()
})

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
