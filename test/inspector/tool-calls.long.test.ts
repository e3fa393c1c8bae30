/** The calls of tools of a task, and what it may spend, in a real browser. */
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler, type Run } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { toolCallParts, type ToolCall } from '../../src/wire/tool-calls.js'
import { closeBrowser, requireChromium } from '../support/browser.js'
import { OPEN, talk } from './support/inspected.js'
import { serve, violationsIn, visit } from './support/visit.js'

afterAll(closeBrowser)

it(
  'lists calls with their input, output or error, time and approval, and sums what was spent',
  { timeout: 60_000 },
  async (context) => {
    const chromium = requireChromium(context)
    const clock = new ManualClock(Date.UTC(2026, 0, 1))
    const show = (run: Run, call: ToolCall): void => run.update({ message: { parts: toolCallParts(call) } })
    const tasks = new DurableTaskManager({ store: memoryStore(), clock })
    const handler = createRequestHandler({
      card: { name: 'Travel', url: 'http://agent.test' },
      tasks,
      anonymous: 'shared',
      limits: { budget: { inputTokens: 5_000 } },
      async execute(run) {
        const city = { city: 'Rome' }
        show(run, { id: 'c1', name: 'weather', state: 'called', input: city })
        show(run, { id: 'c2', name: 'trains', state: 'called', input: city })
        await run.step('weather c1', () => clock.advance(250))
        show(run, { id: 'c1', name: 'weather', state: 'done', output: { sky: 'clear' } })
        show(run, { id: 'c2', name: 'trains', state: 'failed', error: 'There is a strike' })
        run.spend({ inputTokens: 1_200, model: 'gpt-5' })
        show(run, { id: 'c3', name: 'book', state: 'called', input: city })
        const verdict = await run.approve('book', { message: 'book({"city":"Rome"})?' })
        await run.step('book c3', () => clock.advance(40))
        show(run, { id: 'c3', name: 'book', state: verdict === 'approve' ? 'done' : 'rejected' })
        return 'Booked'
      },
    })
    onTestFinished(async () => {
      await handler.close({ graceMs: 0 })
      await tasks.destroy()
    })
    const id = await talk(handler, 'To Rome')
    const { page, faults } = await visit(chromium, `${await serve({ ...OPEN, tasks, handler })}#/t/${id}`)
    const calls = page.getByRole('region', { name: 'Tool calls' }).getByRole('listitem')
    await calls.nth(2).getByText('waits for approval').waitFor()
    const budget = page.getByRole('region', { name: 'Budget' })
    await budget.getByText('gpt-5: inputTokens 1,200').waitFor()
    await budget.getByText('1,200 of 5,000').waitFor()
    // The user thinks for an hour, which is no time of the call.
    clock.advance(3_600_000)
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
    await calls.nth(2).getByText('approved by the user').waitFor()
    expect(await calls.locator('.kind').allTextContents()).toEqual(['done', 'failed', 'done'])
    expect(await calls.locator('.step-name').allTextContents()).toEqual(['weather', 'trains', 'book'])
    expect(await calls.locator('.took').allTextContents()).toEqual(['250 ms', '250 ms', '40 ms'])
    await calls.nth(1).getByText('There is a strike').waitFor()
    await calls.nth(0).getByText('Output').click()
    await calls.nth(0).getByText('"sky": "clear"').waitFor()
    await calls.nth(0).getByText('Input').click()
    await calls.nth(0).getByText('"city": "Rome"').waitFor()
    expect(await violationsIn(page)).toEqual([])
    expect(faults).toEqual([])
  },
)
