/** Questions with a schema, and the forms of their answers, in a real browser. */
import { ManualClock } from 'a2a-tasks/testing'
import type { Execute } from 'a2a-tasks/server'
import type { Locator, Page } from 'playwright-core'
import { afterAll, expect, it, type TestContext } from 'vitest'
import * as z from 'zod'
import { closeBrowser, requireChromium } from '../support/browser.js'
import { OPEN, taskOf } from './support/inspected.js'
import { serve, violationsIn, visit } from './support/visit.js'

afterAll(closeBrowser)

const LONG = { timeout: 60_000 }

async function open(
  context: TestContext,
  execute: Execute,
  clock?: ManualClock,
): Promise<Awaited<ReturnType<typeof visit>> & Awaited<ReturnType<typeof taskOf>>> {
  const chromium = requireChromium(context)
  const agent = await taskOf(execute, clock)
  const { tasks, handler, id } = agent
  return { ...(await visit(chromium, `${await serve({ ...OPEN, tasks, handler })}#/t/${id}`)), ...agent }
}

const name = (page: Page): Locator => page.getByRole('textbox', { name: 'Which name?' })

async function confirm(page: Page): Promise<void> {
  await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
}

it('shows who answers, and no form, where the owner of the task may not', LONG, async (context) => {
  const { page, tasks, id } = await open(context, (run) =>
    run.approve('pay', { message: 'Pay 42 €?', answeredBy: ['boss', 'deputy'] }),
  )
  await page.getByText('Waits for the answer of boss or deputy').waitFor()
  await page.getByText('Pay 42 €?').first().waitFor()
  expect(await page.getByRole('button', { name: 'approve' }).count()).toBe(0)
  expect(await violationsIn(page)).toEqual([])
  expect(tasks.getTask(id)).toMatchObject({ state: 'input-required' })
})

it('shows a field for each property, and a refusal at its field', LONG, async (context) => {
  const trip = z.object({
    city: z.string().meta({ title: 'City', description: 'Where you sleep' }),
    nights: z.int().min(1),
    price: z.number().optional(),
    day: z.iso.date().refine((day) => day > '2027-01-01', 'is in the past'),
    class: z.enum(['first', 'second']),
    quiet: z.boolean(),
    stops: z.array(z.string()).optional(),
    payer: z.object({ email: z.email() }),
  })
  const { page, faults, tasks, id } = await open(context, async (run) =>
    JSON.stringify(await run.requireInput('Where **and** when?', { schema: trip })),
  )
  const form = page.getByRole('group', { name: 'Where and when?' })
  const answer = page.getByRole('button', { name: 'Answer' })
  await form.getByLabel('City: Where you sleep').fill('Rome')
  expect(await answer.isDisabled()).toBe(true)
  await form.getByLabel('nights').fill('two')
  await form.getByText('must be a whole number').waitFor()
  await form.getByLabel('nights').fill('0')
  await form.getByLabel('day').fill('2026-05-01')
  await form.getByLabel('class').selectOption('second')
  await form.getByLabel('quiet').check()
  await form.getByLabel('stops (optional)').fill('["Bern"')
  await form.getByText('is no JSON').waitFor()
  await form.getByLabel('stops (optional)').fill('["Bern"]')
  await form.getByRole('group', { name: 'payer' }).getByLabel('email').fill('ada@x.org')
  expect(await violationsIn(page)).toEqual([])
  // The page knows the JSON Schema, and the agent knows the rest.
  await answer.click()
  await form.getByRole('alert').getByText('must be at least 1').waitFor()
  expect(await page.evaluate('document.activeElement.getAttribute("aria-invalid")')).toBe('true')
  expect(await form.getByLabel('nights').getAttribute('aria-describedby')).toBeTruthy()
  await form.getByLabel('nights').fill('2')
  expect(await form.getByRole('alert').count()).toBe(0)
  await answer.click()
  await confirm(page)
  await form.getByRole('alert').getByText('is in the past').waitFor()
  expect(await page.getByRole('dialog').count()).toBe(0)
  await form.locator('input:focus[type=date]').waitFor()
  expect(tasks.getTask(id)).toMatchObject({ state: 'input-required' })
  expect(await violationsIn(page)).toEqual([])
  await form.getByLabel('day').fill('2027-05-01')
  await answer.click()
  await confirm(page)
  await page.getByText('"city":"Rome","nights":2').first().waitFor()
  // The answer is read where it was given.
  await page.locator('.answers').getByText('input#1').waitFor()
  // Chromium reports the refusal of the agent.
  expect(faults).toEqual(['Failed to load resource: the server responded with a status of 400 (Bad Request)'])
})

it('takes an approval by a button, also by the keyboard', LONG, async (context) => {
  const { page, faults } = await open(context, (run) =>
    run.approve('book', { message: 'Book for 42 €?', options: ['approve', 'reject', 'edit'] }),
  )
  const form = page.getByRole('group', { name: 'Book for 42 €?' })
  await form.getByRole('button').first().waitFor()
  expect(await form.getByRole('button').allTextContents()).toEqual(['approve', 'reject', 'edit'])
  expect(await page.getByRole('textbox').count()).toBe(0)
  await form.getByRole('button', { name: 'edit' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').getByText('edit').waitFor()
  await confirm(page)
  await page.locator('.answers').getByText('book#1').waitFor()
  await form.waitFor({ state: 'detached' })
  expect(faults).toEqual([])
})

it('takes several answers one by one and together', LONG, async (context) => {
  const { page, faults } = await open(context, async (run) => {
    const answers = await run.ask({
      hotel: { message: 'Which hotel?', schema: z.enum(['Ritz', 'Inn']) },
      car: { message: 'Do you need a car?', schema: z.boolean() },
      name: { message: 'Which name?', schema: z.string() },
    })
    return JSON.stringify(answers)
  })
  await name(page).fill('Ada')
  await page.getByRole('group', { name: 'Do you need a car?' }).getByRole('radio', { name: 'No' }).check()
  await name(page).fill('')
  expect(await violationsIn(page)).toEqual([])
  await page.getByRole('button', { name: 'Answer 1 of 3' }).click()
  await page.getByRole('dialog').getByText('Do you need a car? No').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Go back' }).click()
  await name(page).fill('Bob')
  await name(page).fill('')
  await page.getByRole('button', { name: 'Answer 1 of 3' }).click()
  await confirm(page)
  await page.getByRole('group', { name: 'Do you need a car?' }).waitFor({ state: 'detached' })
  await name(page).fill('Ada')
  await page.getByRole('radio', { name: 'Inn' }).focus()
  await page.keyboard.press('Space')
  await page.getByRole('button', { name: 'Answer', exact: true }).click()
  await confirm(page)
  await page.getByText('{"hotel":"Inn","car":false,"name":"Ada"}').first().waitFor()
  expect(faults).toEqual([])
})

it('closes a question that has expired or was withdrawn', LONG, async (context) => {
  const clock = new ManualClock(Date.now() - 60_000)
  const { page, faults } = await open(
    context,
    async (run) => {
      const verdict = await run.approve('book', { message: 'Book?', expiresInMs: 30_000 })
      const signal = AbortSignal.abort()
      const next = await run.approve('pay', { message: 'Pay?', signal }).catch(() => 'withdrawn')
      return `${verdict}, ${next}`
    },
    clock,
  )
  // The clock of the agent is late.
  await page.getByText('The time for an answer has passed').waitFor()
  expect(await page.getByRole('button', { name: 'approve' }).isDisabled()).toBe(true)
  clock.advance(30_000)
  await page.getByText('expired, withdrawn').first().waitFor()
  expect(await page.getByRole('button', { name: 'approve' }).count()).toBe(0)
  expect(faults).toEqual([])
})

it('shows where to authorize, and a button to decline', LONG, async (context) => {
  const { page, faults, tasks, id } = await open(context, async (run) => {
    const options = { url: 'https://login.example/?state=1', message: 'Let me read your calendar' }
    return await run.authorize<string>('calendar', options).catch(String)
  })
  const form = page.getByRole('group', { name: 'Let me read your calendar' })
  const link = form.getByRole('link', { name: 'https://login.example/?state=1' })
  expect(await link.getAttribute('href')).toBe('https://login.example/?state=1')
  expect(await link.getAttribute('rel')).toContain('noopener')
  expect(await form.getByRole('button').allTextContents()).toEqual(['decline'])
  expect(await violationsIn(page)).toEqual([])
  await form.getByRole('button', { name: 'decline' }).click()
  await confirm(page)
  await page.getByText('The user has declined').first().waitFor()
  expect(tasks.getTask(id)).toMatchObject({ state: 'completed' })
  expect(faults).toEqual([])
})
