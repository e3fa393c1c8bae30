/** What people do with the page of the inspector, in a real browser. */
import { createServer } from 'node:http'
import { TaskManager } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { A2AGateway, AgentRegistry, custom } from 'a2a-tasks/gateway'
import { createMcpHandler } from 'a2a-tasks/mcp'
import { createRequestHandler, createSchedules } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { statelessRequest } from '../mcp/kit.js'
import { closeBrowser, listen, requireChromium } from '../support/browser.js'
import { agentOver, OPEN, READ, talk } from './support/inspected.js'
import { serve, violationsIn, visit } from './support/visit.js'

afterAll(closeBrowser)

const SQLITE = 'DurableTaskManager over SQLite'

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
  expect(await page.getByText('"properties"').first().isVisible()).toBe(false)
  expect(await violationsIn(page)).toEqual([])
  const answer = page.getByRole('button', { name: 'Answer' })
  await page.getByLabel('Seats', { exact: true }).fill('two')
  expect(await answer.isDisabled()).toBe(true)
  await page.getByLabel('Seats', { exact: true }).fill('2')
  await page.getByLabel('class').selectOption('first')
  await answer.click()
  await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
  await page.getByText('"quiet": false').last().waitFor()
  const [task] = tasks.listTasks()
  expect(task?.messages.at(-1)?.parts).toEqual([{ data: { seats: 2, class: 'first', quiet: false } }])
  await handler.close()
  expect(faults).toEqual([])
})

it('says above the list how many turns wait and are under way', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const tasks = new DurableTaskManager({ store: memoryStore() })
  const handler = createRequestHandler({
    ...{ card: { name: 'Shop', url: 'http://agent.test' }, tasks, dispatch: 'store', anonymous: 'shared' },
  })
  const { page, faults } = await visit(chromium, await serve({ ...READ, tasks }))
  const workers = page.getByRole('group', { name: 'Workers' })
  await workers.getByText('Turns: 0 wait for a process · 0 under way').waitFor()
  await talk(handler, 'go', true)
  await workers.getByText('Turns: 1 wait for a process, the first for').waitFor()
  expect(await violationsIn(page)).toEqual([])
  expect(faults).toEqual([])
  await handler.close()
  await tasks.destroy()
})

it('reads no stream while it is hidden, and catches up after that', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const agent = await agentOver(SQLITE)
  const { page, faults } = await visit(chromium, await serve({ ...READ, tasks: agent.tasks }))
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

it('forks a task with another answer from an earlier event', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const agent = await agentOver(SQLITE)
  const id = await talk(agent, 'ask')
  const url = await serve({ ...OPEN, tasks: agent.tasks, handler: agent })
  const { page, faults } = await visit(chromium, `${url}#/t/${id}`)
  await page.getByLabel('Which one?').fill('the red one')
  await page.getByRole('button', { name: 'Answer' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
  await page.getByText('chosen: the red one').waitFor()
  const events = await agent.tasks.events(id)
  const answered = events.findIndex((event) => event.type === 'journal' && event.entry.kind === 'answer')
  await page.getByRole('slider', { name: 'Event' }).fill(String(answered))
  await page.getByRole('button', { name: 'Fork from here' }).click()
  const dialog = page.getByRole('dialog')
  expect(await dialog.getByLabel(/^Answer to/).inputValue()).toBe('the red one')
  await dialog.getByLabel(/^Answer to/).fill('the blue one')
  expect(await violationsIn(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Fork' }).click()
  await page.getByText('chosen: the blue one').waitFor()
  await page.getByText('Builds on').waitFor()
  expect(page.url()).not.toContain(id)
  expect(await agent.tasks.countTasks({})).toBe(2)
  expect(faults).toEqual([])
})

it('redrives a task that has failed for good, and shows its usage', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const agent = await agentOver(SQLITE)
  const id = await talk(agent, 'fail')
  const traceUrl = ({ id: taskId }: { id: string }): string => `https://traces.test/${taskId}`
  const url = await serve({ ...OPEN, tasks: agent.tasks, handler: agent, traceUrl })
  const { page, faults } = await visit(chromium, `${url}#/t/${id}`)
  await page.getByRole('region', { name: 'Budget' }).getByText('of 10,000').waitFor()
  expect(await page.getByRole('link', { name: 'Open', exact: true }).getAttribute('href')).toBe(
    `https://traces.test/${id}`,
  )
  await page.getByRole('button', { name: 'Redrive' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Redrive' }).click()
  await page.getByText('Builds on').waitFor()
  expect(await agent.tasks.countTasks({})).toBe(2)
  expect(faults).toEqual([])
})

it('deletes a task that has ended after a confirmation', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const agent = await agentOver(SQLITE)
  const id = await talk(agent, 'the old one')
  await talk(agent, 'another')
  const audits: unknown[] = []
  const options = {
    ...OPEN,
    tasks: agent.tasks,
    handler: agent,
    onAction: (audit: object) => void audits.push(audit),
  }
  const { page, faults } = await visit(chromium, `${await serve(options)}#/t/${id}`)
  await page.getByRole('button', { name: 'Delete task' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Go back' }).click()
  expect(await agent.tasks.stateOf(id)).toBe('completed')
  await page.getByRole('button', { name: 'Delete task' }).click()
  expect(await violationsIn(page)).toEqual([])
  await page.getByRole('dialog').getByRole('button', { name: 'Delete task' }).click()
  await expect.poll(() => page.url()).not.toContain(id)
  expect(await agent.tasks.stateOf(id)).toBeNull()
  expect(audits).toMatchObject([{ action: 'delete', taskId: id }])
  expect(faults).toEqual([])
})

it('shows children as lanes, with their own children in them', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const tasks = new TaskManager()
  const child = (id: string, parentTaskId: string): void => {
    const lineage = { parentTaskId, rootTaskId: 'root', depth: 1, path: [] }
    tasks.createTask({ id, skill: 'child' })
    const metadata = { 'https://a2a-tasks.dev/extensions/lineage/v1': lineage }
    tasks.addMessage(id, { role: 'user', parts: [{ text: 'go' }], metadata })
  }
  tasks.createTask({ id: 'root', skill: 'parent' })
  child('first', 'root')
  child('nested', 'first')
  const { page, faults } = await visit(chromium, `${await serve({ ...READ, tasks })}#/t/root`)
  const lanes = page.getByRole('region', { name: 'Timeline' }).getByRole('list', { name: 'Children' })
  await lanes.getByRole('link', { name: 'first' }).waitFor()
  expect(await lanes.getByRole('link', { name: 'nested' }).count()).toBe(0)
  await lanes.getByRole('button', { name: 'Children of first' }).click()
  await lanes.getByRole('link', { name: 'nested' }).first().waitFor()
  await lanes.getByRole('button', { name: 'Children of nested' }).click()
  await lanes.getByText('No child tasks').first().waitFor()
  expect(await violationsIn(page)).toEqual([])
  expect(faults).toEqual([])
})

it('shows the agents of a gateway, and takes one out of service', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const registry = new AgentRegistry()
  const endpoint = { url: 'https://agents.test/one' }
  const capabilities = ['plan']
  registry.register({
    id: 'one',
    name: 'Planner',
    provider: 'custom',
    capabilities,
    endpoint,
    maxConcurrentTasks: 4,
  })
  const gateway = new A2AGateway({
    registry,
    providers: { custom: custom({ run: () => ({ state: 'completed', spent: { cost: 3 } }) }) },
  })
  const options = { tasks: gateway.tasks, gateway, actions: ['maintain'] } as const
  const { page, faults } = await visit(chromium, await serve({ ...READ, ...options }))
  await page.getByRole('link', { name: 'Gateway' }).click()
  await page.getByRole('heading', { name: 'Planner' }).waitFor()
  await gateway.sendTask('one', 'Plan it')
  await page
    .getByText(
      /^Runs 0 of at most 4 tasks · 1 so far: 1 completed, 0 failed, \d+ ms on average · spent cost 3/,
    )
    .waitFor()
  expect(await violationsIn(page)).toEqual([])
  await page.getByRole('button', { name: 'Take out of service: one' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Take out of service' }).click()
  await page.getByText('maintenance', { exact: true }).waitFor()
  expect(registry.get('one')?.status).toBe('maintenance')
  await page.getByRole('button', { name: 'Put back into service: one' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Put back into service' }).click()
  await page.getByText('online', { exact: true }).waitFor()
  await gateway.close()
  gateway.tasks.destroy()
  expect(faults).toEqual([])
})

it('shows the schedules, and pauses one', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const tasks = new DurableTaskManager({ store: memoryStore() })
  // After the page, which reads it, is closed.
  onTestFinished(() => tasks.destroy())
  const schedules = createSchedules({
    ...{ card: { name: 'Shop', url: 'http://agent.test' }, tasks, dispatch: 'store' },
    schedules: { report: { everyMs: 3_600_000, message: 'go', missed: 'skip' } },
  })
  const options = { tasks, schedules, actions: ['schedule'] } as const
  const { page, faults } = await visit(chromium, await serve({ ...READ, ...options }))
  await page.getByRole('link', { name: 'Schedules' }).click()
  await page.getByRole('heading', { name: 'report' }).waitFor()
  await page.getByText('Times that were missed are skipped').waitFor()
  await page.getByText(/^Next: /).waitFor()
  expect(await violationsIn(page)).toEqual([])
  await page.getByRole('button', { name: 'Pause: report' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
  await page.getByText('paused', { exact: true }).waitFor()
  expect(await schedules.list()).toMatchObject([{ isPaused: true }])
  await page.getByRole('button', { name: 'Resume: report' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click()
  await page.getByText(/^Next: /).waitFor()
  expect(await schedules.list()).toMatchObject([{ isPaused: false }])
  expect(faults).toEqual([])
})

it('says that a task has come by MCP, and finds it', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const agent = await agentOver('TaskManager')
  await talk(agent, 'by A2A')
  const params = { name: 'Echo', arguments: { message: 'by the other' } }
  await createMcpHandler(agent)(statelessRequest(1, 'tools/call', params))
  const { page, faults } = await visit(chromium, await serve({ ...READ, tasks: agent.tasks }))
  const rows = page.getByRole('list', { name: 'Tasks, latest change first' })
  await rows.getByText('by A2A', { exact: true }).waitFor()
  await page.getByLabel('Search tasks').fill('mcp')
  await rows.getByText('by A2A', { exact: true }).waitFor({ state: 'detached' })
  await rows.getByText('MCP', { exact: true }).waitFor()
  await rows.getByRole('link').click()
  await page.getByRole('region', { name: 'Facts' }).getByText('MCP', { exact: true }).waitFor()
  expect(await violationsIn(page)).toEqual([])
  expect(faults).toEqual([])
})

it('shows the latest attempts of a webhook, and delivers again', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const statuses = [204, 410]
  const hook = createServer((_, response) => response.writeHead(statuses.shift() ?? 204).end())
  const url = await listen(hook)
  const tasks = new TaskManager()
  const handler = createRequestHandler({
    card: { name: 'Pushing', url: 'http://agent.test' },
    tasks,
    anonymous: 'shared',
    push: { allow: ['127.0.0.1'] },
    onError: () => undefined,
    execute: () => 'done',
  })
  const { id } = tasks.createTask({ skill: 'push' })
  const params = { taskId: id, id: 'hook', url }
  await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'CreateTaskPushNotificationConfig', params })
  await expect.poll(async () => (await handler.push.health(id))[0]?.delivered).toBe(1)
  tasks.updateTask(id, { state: 'canceled' })
  await expect.poll(async () => (await handler.push.health(id))[0]?.state).toBe('disabled')
  const { page, faults } = await visit(chromium, `${await serve({ ...OPEN, tasks, handler })}#/t/${id}`)
  const region = page.getByRole('region', { name: 'Webhooks' })
  await region.getByText('Latest attempts (2)').click()
  const rows = region.locator('tbody tr')
  await expect.poll(() => rows.nth(0).textContent()).toMatch(/^\d\d:\d\d:\d\d\.\d{3}21HTTP 410\d/)
  expect(await rows.nth(1).textContent()).toMatch(/11delivered\d/)
  expect(await violationsIn(page)).toEqual([])
  await rows.nth(1).getByRole('link', { name: '1' }).click()
  await page.locator('.heading-facts').getByText('Submitted').waitFor()
  await region.getByRole('button', { name: 'Deliver again' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Deliver again' }).click()
  await expect.poll(async () => (await handler.push.health(id))[0]?.state).toBe('done')
  await handler.close()
  expect(faults).toEqual([])
})

it('says that it is not live once the access of its reader is gone', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const clock = new ManualClock()
  const tasks = new TaskManager()
  let isAllowed = true
  const url = await serve({ tasks, clock, authorize: () => (isAllowed ? {} : null) })
  const { page } = await visit(chromium, url)
  await page.getByText('There are no tasks yet').waitFor()
  isAllowed = false
  clock.advance(10_000)
  tasks.createTask({ skill: 'secret' })
  const isLive = page.getByRole('status').getByText('Reconnecting')
  await expect
    .poll(async () => {
      clock.advance(5_000)
      return await isLive.count()
    })
    .toBe(1)
  expect(await page.getByText('secret').count()).toBe(0)
})

it('keeps the document small while a long list is scrolled', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const tasks = new TaskManager({ maxTasks: 5_000 })
  for (let index = 0; index < 3_000; index += 1)
    tasks.createTask({ skill: `number ${index}`, input: `task ${index}` })
  const { page, faults } = await visit(chromium, await serve({ ...READ, tasks }))
  await page.locator('.row').first().waitFor()
  for (let loaded = 0; loaded < 1_000;) {
    await page.evaluate(`document.querySelector('.rows').scrollTo(0, 1e9)`)
    const rows = (): Promise<number> =>
      page.evaluate<number>(`document.querySelector('.rows ol').clientHeight / 56`)
    await expect.poll(rows).toBeGreaterThan(loaded)
    loaded = await rows()
    expect(await page.locator('.row').count()).toBeLessThan(60)
  }
  await page.getByRole('button', { name: /^All 3,000/ }).waitFor()
  expect(faults).toEqual([])
})

it(
  'a list that is scrolled does not move when tasks come, and shows them at its top',
  { timeout: 60_000 },
  async (context) => {
    const chromium = requireChromium(context)
    const tasks = new TaskManager({ feedSize: 1_000 })
    for (let index = 0; index < 150; index += 1) tasks.createTask({ skill: 'old', input: `task ${index}` })
    const { page, faults } = await visit(chromium, await serve({ ...READ, tasks }))
    await page.locator('.row').first().waitFor()
    // From here on, the page follows changes.
    tasks.createTask({ skill: 'old', input: 'the first change' })
    await page.getByText('the first change').waitFor()
    await page.evaluate(`document.querySelector('.rows').scrollTo(0, 3000)`)
    const top = page.locator('.row').nth(20)
    await expect.poll(() => top.textContent()).toContain('task')
    const before = await page.locator('.row-title').allTextContents()
    for (let index = 0; index < 3; index += 1) tasks.createTask({ skill: 'new', input: `new ${index}` })
    await page.getByRole('button', { name: '3 newer tasks' }).waitFor()
    expect(await page.locator('.row-title').allTextContents()).toEqual(before)
    expect(await violationsIn(page)).toEqual([])
    await page.getByRole('button', { name: '3 newer tasks' }).click()
    await page.getByText('new 2').first().waitFor()
    await page.getByRole('button', { name: '3 newer tasks' }).waitFor({ state: 'detached' })
    expect((await page.locator('.row-title').allTextContents()).slice(0, 3).toSorted()).toEqual([
      'new 0',
      'new 1',
      'new 2',
    ])
    expect(faults).toEqual([])
  },
)

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
