/** Schedules in an inspector: what people see of them, and who pauses them. */
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import type { InspectorAudit, InspectorOptions } from 'a2a-tasks/inspector'
import { A2AClient } from 'a2a-tasks/client'
import { createInspector } from 'a2a-tasks/inspector'
import { createSchedules } from 'a2a-tasks/server'
import { fakeAgent, ManualClock } from 'a2a-tasks/testing'
import { expect, it, onTestFinished } from 'vitest'
import { Page } from './support/inspected.js'

const START = Date.parse('2026-01-01T00:00:00.000Z')
const HOUR = 3_600_000

/** An inspector over two schedules, and what it has audited. */
function openPage(options: Partial<InspectorOptions> = {}) {
  const clock = new ManualClock(START)
  const tasks = new DurableTaskManager({ store: memoryStore({ now: () => clock.now() }), clock })
  onTestFinished(() => tasks.destroy())
  const schedules = createSchedules({
    ...{ card: { name: 'Shop', url: 'http://agent.test' }, tasks, dispatch: 'store' },
    schedules: {
      hourly: { everyMs: HOUR, message: 'go' },
      once: { cron: { nextRun: () => null }, message: 'go', missed: 'all' },
    },
  })
  const audits: InspectorAudit[] = []
  const onAction = (audit: InspectorAudit): void => void audits.push(audit)
  const page = new Page({ tasks, schedules, authorize: () => ({}), onAction, ...options })
  return { page, audits, schedules }
}

it('shows the name, the next time and the policy of each', async () => {
  const { page } = openPage()
  expect((await page.get('schedules')).body).toEqual([
    { name: 'hourly', next: new Date(START + HOUR).toISOString(), isPaused: false, missed: 'last' },
    { name: 'once', isPaused: false, missed: 'all' },
  ])
  expect((await page.get('session')).body).toMatchObject({ hasSchedules: true, actions: [] })
})

it('pauses and resumes, after an audit', async () => {
  const { page, audits, schedules } = openPage({ actions: ['schedule'] })
  const paused = await page.post('schedules', { name: 'hourly', isPaused: true })
  expect(paused.body).toMatchObject([{ name: 'hourly', isPaused: true }, { name: 'once' }])
  expect(await schedules.list()).toMatchObject([{ isPaused: true }, { isPaused: false }])
  expect(audits).toEqual([{ action: 'schedule', schedule: 'hourly', access: {} }])
  await page.post('schedules', { name: 'hourly', isPaused: false })
  expect(await schedules.list()).toMatchObject([{ isPaused: false }, { isPaused: false }])
  expect(audits).toHaveLength(2)
  expect((await page.post('schedules', { name: 'other', isPaused: true })).status).toBe(400)
  expect((await page.post('schedules', { name: 'hourly', isPaused: 'yes' })).status).toBe(400)
})

it('does nothing for people without the action', async () => {
  const { page, audits, schedules } = openPage({ actions: ['cancel'] })
  expect((await page.post('schedules', { name: 'hourly', isPaused: true })).status).toBe(403)
  expect(await schedules.list()).toMatchObject([{ isPaused: false }, { isPaused: false }])
  expect(audits).toEqual([])
})

it.each([{ owner: 'ann' }, { owner: null }])('shows none to people who see %o only', async (access) => {
  const { page, schedules } = openPage({ actions: ['schedule'], authorize: () => access })
  expect((await page.get('session')).body).toMatchObject({ hasSchedules: false, actions: [] })
  expect((await page.get('schedules')).status).toBe(403)
  expect((await page.post('schedules', { name: 'hourly', isPaused: true })).status).toBe(403)
  expect(await schedules.list()).toMatchObject([{ isPaused: false }, { isPaused: false }])
})

it('has no such page without them, and takes none for a remote agent', async () => {
  const { page, schedules } = openPage({ schedules: undefined } as unknown as InspectorOptions)
  expect((await page.get('schedules')).status).toBe(404)
  const { card, fetch } = fakeAgent('Hi')
  const client = new A2AClient({ card, fetch })
  expect(() => createInspector({ client, schedules, authorize: () => ({}) })).toThrow(
    '"schedules" cannot be used with "client"',
  )
})
