/** Contents that grow, are long, many, or in other scripts, and a page that is used by keyboard alone, or on a phone. */
import { defineLifecycle, TaskManager } from 'a2a-tasks'
import { afterAll, expect, it } from 'vitest'
import { closeBrowser, requireChromium } from '../support/browser.js'
import { agentOver, OPEN, READ, talk } from './support/inspected.js'
import { serve, violationsIn, visit } from './support/visit.js'

afterAll(closeBrowser)

it(
  'shows the latest messages of a long conversation, and the earlier ones on demand',
  { timeout: 60_000 },
  async (context) => {
    const chromium = requireChromium(context)
    const tasks = new TaskManager()
    const { id } = tasks.createTask({ skill: 'talk' })
    for (let index = 0; index < 500; index += 1) {
      tasks.addMessage(id, { messageId: `m${index}`, role: 'user', parts: [{ text: `number ${index}.` }] })
    }
    const { page, faults } = await visit(chromium, `${await serve({ ...READ, tasks })}#/t/${id}`)
    const messages = page.getByRole('region', { name: 'Conversation' }).getByRole('listitem')
    await page.getByText('number 499.').waitFor()
    expect(await messages.count()).toBe(50)
    await page.getByRole('button', { name: 'Show 450 earlier messages' }).click()
    await messages.first().getByText('number 0.').waitFor()
    expect(await messages.count()).toBe(500)
    expect(faults).toEqual([])
  },
)

it(
  'draws the lifecycle in use, with the path, and an artifact as it grows',
  { timeout: 60_000 },
  async (context) => {
    const chromium = requireChromium(context)
    const lifecycle = defineLifecycle({
      submitted: ['drafting'],
      drafting: ['review', 'failed'],
      review: ['drafting', 'published'],
      published: [],
      failed: [],
    })
    const tasks = new TaskManager({ lifecycle, feedSize: 100 })
    const { id } = tasks.createTask({ skill: 'draft', owner: 'ann', contextId: 'one' })
    tasks.createTask({ skill: 'draft', owner: 'bob', contextId: 'two' })
    for (const state of ['drafting', 'review', 'drafting'] as const) tasks.updateTask(id, { state })
    const { page, faults } = await visit(chromium, `${await serve({ ...READ, tasks })}#/t/${id}`)
    const path = 'The path of the task: Submitted, then Drafting, then Review, then Drafting'
    const diagram = page.getByRole('img', { name: path, exact: true })
    await diagram.getByText(/^2 × · /).waitFor()
    expect(await diagram.locator('.edge.lit').count()).toBe(3)
    expect(await diagram.locator('.node.here').textContent()).toContain('Drafting')
    const chart = page.getByRole('img', { name: /^[1-9]\d* changes in the last minute$/ })
    const artifact = page.getByRole('region', { name: 'Results' }).getByRole('article')
    for (const text of ['one ', 'two ', 'three']) {
      tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text }] })
      await artifact.getByText(text).waitFor()
    }
    expect(await artifact.locator('.text').textContent()).toBe('one two three')
    // The page counts changes from when it follows them.
    await expect
      .poll(
        () => {
          tasks.appendArtifact(id, { artifactId: 'b', parts: [{ text: 'x' }] })
          return chart.count()
        },
        { interval: 500, timeout: 60_000 },
      )
      .toBe(1)
    await page.getByRole('button', { name: 'ann' }).click()
    await expect.poll(() => page.locator('.row-note').allTextContents()).toEqual(['draft · ann'])
    expect(faults).toEqual([])
  },
)

it(
  'keeps a text of 10,000 chunks and a long word in a box that scrolls',
  { timeout: 60_000 },
  async (context) => {
    const chromium = requireChromium(context)
    const tasks = new TaskManager({ eventLogSize: 20_000 })
    const { id } = tasks.createTask({ skill: 'write' })
    tasks.updateTask(id, { state: 'working' })
    for (let index = 0; index < 10_000; index += 1) {
      tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: `chunk ${index} ` }] })
    }
    tasks.appendArtifact(id, { artifactId: 'b', parts: [{ text: 'x'.repeat(3_000) }] })
    const { page, faults } = await visit(chromium, `${await serve({ ...READ, tasks })}#/t/${id}`)
    const boxes = page.getByRole('region', { name: 'Results' }).locator('.long')
    await boxes.nth(1).waitFor()
    await page.getByRole('tab', { name: 'Log 10,003' }).waitFor()
    for (const box of await boxes.all()) {
      expect((await box.boundingBox())?.height).toBeLessThan(500)
    }
    const isWithin = `[...document.querySelectorAll('.long')].every((each) => each.scrollWidth === each.clientWidth)`
    expect(await page.evaluate(isWithin)).toBe(true)
    // The marks of 10,000 events are all along the timeline, and few.
    expect(await page.locator('.marks span').count()).toBeLessThan(410)
    expect(await violationsIn(page)).toEqual([])
    expect(faults).toEqual([])
  },
)

it('writes each paragraph in the direction of its script', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const tasks = new TaskManager()
  const { id } = tasks.createTask({ skill: 'talk' })
  tasks.addMessage(id, { role: 'user', parts: [{ text: 'שלום world.\nHello עולם' }] })
  const { page } = await visit(chromium, `${await serve({ ...READ, tasks })}#/t/${id}`)
  const text = page.getByRole('region', { name: 'Conversation' }).locator('.text')
  await text.waitFor()
  // Where the first letter of each line is, from the left of the text.
  const lefts = await page.evaluate<number[]>(`(() => {
    const element = document.querySelector('.message .text')
    return [0, ${'שלום world.\n'.length}].map((offset) => {
      const range = document.createRange()
      range.setStart(element.firstChild, offset)
      range.setEnd(element.firstChild, offset + 1)
      return range.getBoundingClientRect().left - element.getBoundingClientRect().left
    })
  })()`)
  const width = (await text.boundingBox())?.width ?? 0
  expect(lefts[0]).toBeGreaterThan(width / 2)
  expect(lefts[1]).toBe(0)
})

it('is used by keyboard alone, from the list to an answer', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const agent = await agentOver('TaskManager')
  const id = await talk(agent, 'ask')
  await talk(agent, 'another')
  const { page, faults } = await visit(chromium, await serve({ ...OPEN, tasks: agent.tasks, handler: agent }))
  await page.locator('.row').nth(1).waitFor()
  const focused = (): Promise<string> => page.evaluate<string>('document.activeElement.textContent')
  const tabTo = async (text: RegExp): Promise<void> => {
    for (let count = 0; count < 60; count += 1) {
      const name = await page.evaluate<string>(`(() => {
        const { activeElement: element } = document
        const other = document.getElementById(element.getAttribute('aria-labelledby'))
        return element.getAttribute('aria-label') ?? (other ?? element.closest('label') ?? element).textContent
      })()`)
      if (text.test(name)) return
      await page.keyboard.press('Tab')
    }
    throw new Error(`Tab does not reach ${text}`)
  }
  await tabTo(/^another/)
  await page.keyboard.press('ArrowDown')
  expect(await focused()).toContain('Which one?')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'ask' }).waitFor()
  await tabTo(/^Event/)
  await page.keyboard.press('Home')
  await page.locator('.heading-facts').getByText('Submitted').waitFor()
  await page.keyboard.press('End')
  await page.locator('.heading-facts').getByText('Input required').waitFor()
  await tabTo(/^Overview/)
  await page.keyboard.press('ArrowRight')
  await page.getByRole('tabpanel', { name: 'Log' }).waitFor()
  await page.keyboard.press('ArrowLeft')
  await tabTo(/^Which one/)
  await page.keyboard.type('red')
  await tabTo(/^Answer$/)
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await tabTo(/^Send$/)
  await page.keyboard.press('Enter')
  await page.getByText('chosen: red').waitFor()
  expect(await agent.tasks.stateOf(id)).toBe('completed')
  expect(faults).toEqual([])
})

it('fits a phone, its menus and dialogs too', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const agent = await agentOver('TaskManager')
  const id = await talk(agent, 'fail')
  const url = await serve({ ...OPEN, tasks: agent.tasks, handler: agent })
  const { page } = await visit(chromium, url)
  await page.setViewportSize({ width: 390, height: 780 })
  const isWithin = async (): Promise<boolean> =>
    page.evaluate('document.documentElement.scrollWidth <= innerWidth')
  const expectInView = async (selector: string): Promise<void> => {
    await page.locator(selector).waitFor()
    const box = await page.locator(selector).boundingBox()
    expect(box?.x, selector).toBeGreaterThanOrEqual(0)
    expect((box?.x ?? 0) + (box?.width ?? 0), selector).toBeLessThanOrEqual(390)
  }
  await page.locator('.row').waitFor()
  await page.getByText('More filters').click()
  expect(await isWithin()).toBe(true)
  await page.goto(`${url}#/t/${id}`)
  await page.getByText('Copy', { exact: true }).click()
  await expectInView('.menu-items')
  await page.getByText('Copy', { exact: true }).click()
  await page.getByRole('button', { name: 'Delete task' }).click()
  await expectInView('dialog')
  await page.getByRole('dialog').getByRole('button', { name: 'Go back' }).click()
  for (const tab of ['Overview', 'Log', 'Wire']) {
    await page.getByRole('tab', { name: tab }).click()
    await page.locator('#tab-panel .block').first().waitFor()
    expect(await isWithin(), tab).toBe(true)
  }
})
