/** The page of the inspector in a real browser, over an agent on SQLite. */
import { createServer } from 'node:http'
import axe from 'axe-core'
import { TaskManager } from 'a2a-tasks'
import { createInspector, type InspectorOptions } from 'a2a-tasks/inspector'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { listen, openPage, requireChromium } from '../support/browser.js'
import { agentOver, OPEN, talk } from './support/inspected.js'

const SQLITE = 'DurableTaskManager over SQLite'

async function serve(options: InspectorOptions): Promise<string> {
  const { fetch } = createInspector({ ...options, pollIntervalMs: 50 })
  return `${await listen(createServer(toNodeListener(fetch)))}/inspector/`
}

/** The page, and what it did that it must not: errors, refused loads, requests to elsewhere. */
async function visit(chromium: string, url: string): Promise<{ page: Page; faults: string[] }> {
  const { page } = await openPage(chromium, 'about:blank')
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
  page.on('dialog', (dialog) => {
    faults.push(`dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(new URL(url).origin) && !/^(data|blob):/.test(request.url())) {
      faults.push(`request to ${request.url()}`)
    }
  })
  await page.goto(url)
  return { page, faults }
}

async function violationsIn(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const found = await page.evaluate(async () => {
    // The line before defines it.
    const { axe: inPage } = globalThis as unknown as { axe: typeof axe }
    const { violations } = await inPage.run()
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  })
  return found
}

it(
  'lists tasks, follows them, replays one and answers its question',
  { timeout: 60_000 },
  async (context) => {
    const chromium = requireChromium(context)
    const agent = await agentOver(SQLITE)
    await talk(agent, 'the first')
    await talk(agent, 'fail')
    const { page, faults } = await visit(
      chromium,
      await serve({ ...OPEN, tasks: agent.tasks, handler: agent }),
    )
    const titles = page.locator('.row-title')
    await page.getByText('the first').waitFor()
    expect(await titles.allTextContents()).toEqual(['fail', 'the first'])

    await talk(agent, 'ask')
    await page.locator('.row', { hasText: 'Which one?' }).click()
    await page.getByRole('heading', { name: 'ask' }).waitFor()
    await page.getByLabel('Which one?').fill('the red one')
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
    await page.getByText('chosen: the red one').waitFor()
    await page.locator('.heading-facts').getByText('Completed').waitFor()

    const slider = page.getByRole('slider', { name: 'Event' })
    await slider.fill('0')
    await page.locator('.heading-facts').getByText('Submitted').waitFor()
    expect(await page.getByText('chosen: the red one').count()).toBe(0)
    await page.waitForURL(/#\/t\/[^/]+\/1$/)
    await page.getByRole('button', { name: 'Replay at 10 times the speed' }).click()
    await page.getByText('chosen: the red one').waitFor()

    await page.getByRole('tab', { name: 'Log' }).click()
    await page.getByRole('button', { name: 'JSON of event 1', exact: true }).click()
    await page.getByText('"type": "created"').waitFor()
    await page.getByRole('tab', { name: 'Wire' }).click()
    await page.getByText('TASK_STATE_COMPLETED').first().waitFor()
    await page.getByRole('button', { name: 'A2A 0.3' }).click()
    await page.getByText('"kind": "task"').first().waitFor()
    expect(faults).toEqual([])
  },
)

it(
  'cancels a task after a confirmation, and shows what filters select',
  { timeout: 60_000 },
  async (context) => {
    const chromium = requireChromium(context)
    const agent = await agentOver(SQLITE)
    const id = await talk(agent, 'wait', true)
    await talk(agent, 'another')
    const { page, faults } = await visit(
      chromium,
      await serve({ ...OPEN, tasks: agent.tasks, handler: agent }),
    )
    await page.getByRole('link', { name: /wait/ }).click()
    await page.getByRole('button', { name: 'Cancel task' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Keep it' }).click()
    expect(await agent.tasks.stateOf(id)).toBe('working')
    await page.getByRole('button', { name: 'Cancel task' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel task' }).click()
    await page.locator('.heading-facts').getByText('Canceled').waitFor()
    await page.getByRole('button', { name: /^Canceled 1/ }).click()
    await page.getByText('another').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: /^All 2/ }).click()
    await page.getByRole('button', { name: 'Run again' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Run again' }).click()
    await page.getByRole('button', { name: /^Working 1/ }).waitFor()
    await page.getByText('More filters').click()
    await page.getByRole('button', { name: 'Cancel all that match' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel all' }).click()
    await page.getByText('1 canceled').waitFor()
    await page.getByRole('searchbox', { name: 'Search tasks' }).fill('ANOTH')
    await expect.poll(() => page.locator('.row-title').allTextContents()).toEqual(['another'])
    expect(faults).toEqual([])
  },
)

it('asks by a form where the question has a schema', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const tasks = new TaskManager()
  const schema = {
    type: 'object',
    required: ['seats'],
    properties: {
      seats: { type: 'integer', title: 'Seats' },
      class: { type: 'string', enum: ['first', 'second'] },
      quiet: { type: 'boolean', description: 'No telephones' },
    },
  }
  const handler = createRequestHandler({
    card: { name: 'Desk', url: 'http://agent.test' },
    tasks,
    async execute(run) {
      const answer = await run.requireInput({ parts: [{ text: 'Which seats?' }, { data: schema }] })
      return { parts: [{ data: { chosen: answer.parts[0]?.data ?? null } }] }
    },
  })
  const { page, faults } = await visit(chromium, await serve({ ...OPEN, tasks, handler }))
  await page.getByRole('link', { name: 'Agent', exact: true }).click()
  await page.getByLabel('Message').fill('book')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('group', { name: 'Which seats?' }).waitFor()
  expect(await violationsIn(page)).toEqual([])
  const answer = page.getByRole('button', { name: 'Answer' })
  await page.getByLabel('Seats').fill('two')
  expect(await answer.isDisabled()).toBe(true)
  await page.getByLabel('Seats').fill('2')
  await page.getByLabel('class').selectOption('first')
  await answer.click()
  await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
  await page.getByText('"quiet": false').last().waitFor()
  const [task] = tasks.listTasks()
  expect(task?.messages.at(-1)?.parts).toEqual([{ data: { seats: 2, class: 'first', quiet: false } }])
  await handler.close()
  expect(faults).toEqual([])
})

it('reads no stream while it is hidden, and catches up after that', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const agent = await agentOver(SQLITE)
  const { page, faults } = await visit(chromium, await serve({ ...OPEN, tasks: agent.tasks }))
  const show = (isHidden: boolean): Promise<unknown> =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))`)
  await page.getByText('There are no tasks yet').waitFor()
  const ended = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/changes'))
  await show(true)
  await ended
  await talk(agent, 'while hidden')
  await show(false)
  await page.getByText('while hidden').waitFor()
  expect(faults).toEqual([])
})

const HOSTILE = [
  '<img src=x onerror=alert(1)><script>alert(2)</script>',
  '"><svg/onload=alert(3)>',
  'javascript:alert(4)//\'"`',
  '[x](javascript:alert(5)) ${alert(6)} {{alert(7)}}',
]

it('shows hostile contents as text, and runs no script of them', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const tasks = new TaskManager()
  const [html = '', svg = '', link = '', template = ''] = HOSTILE
  const id = `t-${html}/../${svg}`
  tasks.createTask({
    id,
    skill: html,
    contextId: svg,
    owner: link,
    input: { [html]: svg },
    metadata: { [link]: html },
  })
  tasks.addMessage(id, { messageId: svg, role: 'user', parts: [{ text: html }, { text: template }] })
  tasks.updateTask(id, { state: 'working', message: template })
  const base64 = btoa('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(8)"/>')
  tasks.appendArtifact(id, {
    artifactId: svg,
    name: html,
    description: link,
    parts: [
      { raw: base64, mediaType: 'image/svg+xml', filename: html },
      { raw: '"onerror=alert(9) x="', mediaType: 'image/png', filename: svg },
      { raw: base64, mediaType: 'image/png;base64,x" onerror="alert(10)', filename: 'a.png' },
      { url: 'javascript:alert(11)', filename: html },
      { url: 'data:text/html,<script>alert(12)</script>' },
      { data: { [html]: [svg, link, template] } },
      { text: html, mediaType: 'text/html' },
    ],
  })
  const { page, faults } = await visit(chromium, await serve({ ...OPEN, tasks }))
  await page.locator('.row').click()
  await page.getByRole('heading', { name: 'Results' }).waitFor()
  expect(await page.locator('main img, main svg:not(.diagram), main script, main iframe').count()).toBe(0)
  expect(await page.locator('a[href^="javascript:"], a[href^="data:"]').count()).toBe(0)
  expect(await page.locator('main').textContent()).toContain(html)
  for (const tab of ['Log', 'Wire', 'Overview']) {
    await page.getByRole('tab', { name: tab }).click()
    await page.locator('#tab-panel .block').first().waitFor()
  }
  expect(faults).toEqual([])
})

it('cannot be framed, read or used by a page of another origin', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const agent = await agentOver(SQLITE)
  const id = await talk(agent, 'ask')
  const url = await serve({ ...OPEN, tasks: agent.tasks, handler: agent })
  const evil = await listen(
    createServer((_, response) => {
      response.setHeader('content-type', 'text/html')
      response.end(`<iframe src="${url}" id="frame"></iframe>`)
    }),
  )
  const { page } = await openPage(chromium, evil)
  expect(await page.frames()[1]?.title()).not.toBe('Tasks')
  const outcomes = await page.evaluate(
    async ([target = '', taskId = '']) => {
      const attempts = [
        () => fetch(`${target}api/tasks`),
        () => fetch(`${target}api/tasks`, { headers: { 'x-a2a-inspector': '1' } }),
        () => fetch(`${target}api/tasks/${taskId}/cancel`, { method: 'POST', body: '{}' }),
        () => fetch(`${target}api/tasks/${taskId}/cancel`, { method: 'POST', body: '{}', mode: 'no-cors' }),
        () =>
          fetch(`${target}api/tasks/${taskId}/cancel`, {
            method: 'POST',
            body: '{}',
            headers: { 'x-a2a-inspector': '1', 'content-type': 'application/json' },
          }),
      ]
      const settled = await Promise.allSettled(attempts.map((attempt) => attempt()))
      return settled.map((each) => (each.status === 'fulfilled' ? each.value.type : 'refused'))
    },
    [url, id],
  )
  expect(outcomes).toEqual(['refused', 'refused', 'refused', 'refused', 'refused'])
  expect(await agent.tasks.stateOf(id)).toBe('input-required')
})

it('keeps the document small while a long list is scrolled', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const tasks = new TaskManager({ maxTasks: 5_000 })
  for (let index = 0; index < 3_000; index += 1)
    tasks.createTask({ skill: `number ${index}`, input: `task ${index}` })
  const { page, faults } = await visit(chromium, await serve({ ...OPEN, tasks }))
  await page.locator('.row').first().waitFor()
  for (let loaded = 0; loaded < 1_000;) {
    await page.evaluate(`document.querySelector('.rows').scrollTo(0, 1e9)`)
    const rows = (): Promise<number> =>
      page.evaluate<number>(`document.querySelector('.rows ol').clientHeight / 56`)
    await expect.poll(rows, { timeout: 10_000 }).toBeGreaterThan(loaded)
    loaded = await rows()
    expect(await page.locator('.row').count()).toBeLessThan(60)
  }
  await page.getByRole('button', { name: /^All 3,000/ }).waitFor()
  expect(faults).toEqual([])
})

it.for(['light', 'dark'] as const)(
  'has no fault of accessibility when %s, on a phone too',
  { timeout: 90_000 },
  async (colorScheme, context) => {
    const chromium = requireChromium(context)
    const agent = await agentOver(SQLITE)
    const id = await talk(agent, 'ask')
    await talk(agent, 'fail')
    const url = await serve({ ...OPEN, tasks: agent.tasks, handler: agent })
    const { page } = await visit(chromium, url)
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    for (const size of [
      { width: 1_280, height: 800 },
      { width: 390, height: 780 },
    ]) {
      await page.setViewportSize(size)
      for (const [path, ready] of [
        ['#/', '.row'],
        [`#/t/${id}`, '.timeline'],
        ['#/agent', '.agent-page'],
      ] as const) {
        await page.goto(`${url}${path}`)
        await page.locator(ready).first().waitFor()
        expect(await violationsIn(page), `${path} at ${size.width}`).toEqual([])
      }
    }
    await page.goto(`${url}#/t/${id}`)
    for (const tab of ['Log', 'Wire']) {
      await page.getByRole('tab', { name: tab }).click()
      expect(await violationsIn(page), tab).toEqual([])
    }
  },
)
