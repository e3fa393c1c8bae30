/** The page of the inspector in a real browser: what it shows, what it changes, and whom it refuses. */
import { createServer } from 'node:http'
import { TaskManager } from 'a2a-tasks'
import { afterAll, expect, it } from 'vitest'
import { closeBrowser, listen, openPage, requireChromium } from '../support/browser.js'
import { agentOver, OPEN, READ, talk } from './support/inspected.js'
import { serve, visit } from './support/visit.js'

afterAll(closeBrowser)

const SQLITE = 'DurableTaskManager over SQLite'

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
  'cancels a task after a confirmation, and shows the tasks that filters select',
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
    await page.getByRole('dialog').getByRole('button', { name: 'Go back' }).click()
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
    await page.getByRole('button', { name: 'Cancel matching tasks' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel tasks' }).click()
    await page.getByText('1 canceled').waitFor()
    await page.getByRole('searchbox', { name: 'Search tasks' }).fill('ANOTH')
    await expect.poll(() => page.locator('.row-title').allTextContents()).toEqual(['another'])
    expect(faults).toEqual([])
  },
)

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
      { raw: btoa('"onerror=alert(9) x="'), mediaType: 'text/html', filename: svg },
      { raw: base64, mediaType: 'image/png;base64,x" onerror="alert(10)', filename: 'a.png' },
      { url: 'javascript:alert(11)', filename: html },
      { url: 'data:text/html,<script>alert(12)</script>' },
      { data: { [html]: [svg, link, template] } },
      { text: html, mediaType: 'text/html' },
    ],
  })
  const { page, faults } = await visit(chromium, await serve({ ...READ, tasks }))
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
