/** The page of an inspector of an agent that is not ours, in a real browser. */
import { afterAll, expect, it } from 'vitest'
import { closeBrowser, requireChromium } from '../support/browser.js'
import { OPEN } from './support/inspected.js'
import { official } from './support/official.js'
import { serve, violationsIn, visit } from './support/visit.js'

afterAll(closeBrowser)

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
