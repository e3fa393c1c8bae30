/** The work on a task, its questions, and its failures, in a real browser. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ManualClock } from 'a2a-tasks/testing'
import { afterAll, expect, it } from 'vitest'
import { closeBrowser, requireChromium } from '../support/browser.js'
import { agentOver, OPEN, talk, taskOf } from './support/inspected.js'
import { serve, violationsIn, visit } from './support/visit.js'

afterAll(closeBrowser)

it(
  'shows steps as a waterfall, with their beginnings and durations',
  { timeout: 60_000 },
  async (context) => {
    const chromium = requireChromium(context)
    const clock = new ManualClock(Date.UTC(2026, 0, 1))
    const { handler, tasks, id } = await taskOf(async (run) => {
      await run.step('first', () => clock.advance(100))
      await run.step('second', () => clock.advance(300))
      clock.advance(100)
      await run.step('third', () => Promise.reject(new Error('Not to be had'))).catch(() => undefined)
      return 'done'
    }, clock)
    const { page, faults } = await visit(chromium, `${await serve({ ...OPEN, tasks, handler })}#/t/${id}`)
    const rows = page.getByRole('region', { name: 'Work' }).getByRole('listitem')
    await rows.nth(3).waitFor()
    expect(await rows.locator('.kind').allTextContents()).toEqual(['turn', 'step', 'step', 'step'])
    expect(await rows.locator('.took').allTextContents()).toEqual(['+0 ms', '100 ms', '300 ms', '0 ms'])
    await rows.nth(3).getByText('failed: Not to be had').waitFor()
    const bars = await page.evaluate<
      [number, number][]
    >(`[...document.querySelectorAll('.fall > span')].map((bar) => {
    const [inner, outer] = [bar.getBoundingClientRect(), bar.parentElement.getBoundingClientRect()]
    return [(inner.left - outer.left) / outer.width, inner.width / outer.width]
  })`)
    const [, first, second, third] = bars
    expect(first?.[0]).toBeCloseTo(0)
    expect(first?.[1]).toBeCloseTo(0.2)
    expect(second?.[0]).toBeCloseTo(0.2)
    expect(second?.[1]).toBeCloseTo(0.6)
    expect(third?.[0]).toBeCloseTo(1)
    expect(await violationsIn(page)).toEqual([])
    expect(faults).toEqual([])
  },
)

it('shows a question once, and takes a yes or no by two buttons', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const { handler, tasks, id } = await taskOf(async (run) => {
    const properties = { approved: { type: 'boolean', title: 'Approve the booking' } }
    const schema = { type: 'object', required: ['approved'], properties }
    const answer = await run.requireInput({ parts: [{ text: 'Shall I book **LH 123**?' }, { data: schema }] })
    const free = await run.requireInput('Which name?')
    return JSON.stringify([answer.parts[0]?.data, free.parts[0]?.text])
  })
  const { page, faults } = await visit(chromium, `${await serve({ ...OPEN, tasks, handler })}#/t/${id}`)
  const panel = page.getByRole('tabpanel')
  await panel.locator('strong', { hasText: 'LH 123' }).waitFor()
  expect(await panel.getByText('Shall I book').count()).toBe(1)
  await panel
    .getByRole('group', { name: 'Approve the booking' })
    .getByRole('button', { name: 'No' })
    .waitFor()
  expect(await panel.getByRole('button', { name: 'Answer' }).count()).toBe(0)
  expect(await violationsIn(page)).toEqual([])
  await panel.getByRole('button', { name: 'Yes' }).click()
  await page.getByRole('dialog').getByText('Yes').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
  await page.getByLabel('Which name?').fill('Ada')
  expect(await panel.getByText('Which name?').count()).toBe(1)
  // The question that was answered is part of the conversation now.
  expect(await panel.getByText('Shall I book').count()).toBe(1)
  await page.getByRole('button', { name: 'Answer' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
  await page.getByText('[{"approved":true},"Ada"]').first().waitFor()
  // In the chat there is one form, too.
  await page.getByRole('link', { name: 'Agent', exact: true }).click()
  await page.getByLabel('Message').fill('again')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('button', { name: 'Yes' }).waitFor()
  expect(await page.getByText('Shall I book').count()).toBe(1)
  expect(await page.getByRole('textbox').count()).toBe(0)
  await page.getByRole('button', { name: 'Begin another task' }).click()
  await page.getByLabel('Message').waitFor()
  expect(faults).toEqual([])
})

it(
  'lists the newest first, and redrives failures that filters select',
  { timeout: 60_000 },
  async (context) => {
    const chromium = requireChromium(context)
    const agent = await agentOver('TaskManager')
    await talk(agent, 'fail')
    await sleep(5)
    const id = await talk(agent, 'the newest')
    const { page, faults } = await visit(
      chromium,
      await serve({ ...OPEN, tasks: agent.tasks, handler: agent }),
    )
    await expect.poll(() => page.locator('.row-title').allTextContents()).toEqual(['the newest', 'fail'])
    await page.getByText('0 changes/min').waitFor()
    await page.getByRole('button', { name: /^Failed 1/ }).click()
    await expect.poll(() => page.locator('.row-title').allTextContents()).toEqual(['fail'])
    await page.getByText('More filters').click()
    await page.getByRole('button', { name: 'Redrive matching failures' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Redrive tasks' }).click()
    await page.getByText('1 redriven').waitFor()
    await page.getByRole('button', { name: /^Failed 2/ }).waitFor()
    await page.locator('.row').last().click()
    for (const [name, hint] of [
      ['Run again', /first message is sent again/],
      ['Redrive', /new task continues it/],
      ['Fork', /shares the past/],
    ] as const) {
      const button = page.locator('.actions').getByRole('button', { name, exact: true })
      expect(await button.getAttribute('title')).toMatch(hint)
    }
    const headings = await page.locator('.columns > div:last-child h2').allTextContents()
    expect([headings[0], headings.at(-1)]).toEqual(['Facts', 'States'])
    expect(await page.getByRole('region', { name: 'Facts' }).getByText('Skill').count()).toBe(0)
    expect(await agent.tasks.stateOf(id)).toBe('completed')
    expect(faults).toEqual([])
  },
)

it(
  'shows the stack of an error to people who may see it, and to no one else',
  { timeout: 60_000 },
  async (context) => {
    const chromium = requireChromium(context)
    const agent = await agentOver('TaskManager')
    const id = await talk(agent, 'fail')
    for (const stacks of [true, false]) {
      const url = await serve({ tasks: agent.tasks, authorize: () => ({ stacks }) })
      const { page, faults } = await visit(chromium, `${url}#/t/${id}`)
      const work = page.getByRole('region', { name: 'Work' })
      await work.getByText('failed for good: it failed').waitFor()
      const summary = work.getByText('Error with its stack')
      if (stacks) {
        await summary.first().click()
        await work
          .getByText(/Error: it failed\s+at .*inspected\.ts/)
          .first()
          .waitFor()
        expect(await violationsIn(page)).toEqual([])
      }
      expect((await summary.count()) > 0).toBe(stacks)
      expect(faults).toEqual([])
    }
  },
)
