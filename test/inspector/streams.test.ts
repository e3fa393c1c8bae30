/** Open streams of an inspector: they end with the access of their reader, and one person has a share of them. */
import { TaskManager } from 'a2a-tasks'
import type { InspectorAccess } from 'a2a-tasks/inspector'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, it } from 'vitest'
import { entriesOf, Page } from './support/inspected.js'

/** The time after which a stream asks for access again, in ms. */
const RECHECK_MS = 10_000

/** A page whose access a test changes, with the streams of the list and of one task. */
function changeable(first: InspectorAccess | Response | null) {
  const clock = new ManualClock()
  const tasks = new TaskManager({ feedSize: 100 })
  const { id } = tasks.createTask({ skill: 'secret', owner: 'ann' })
  const errors: unknown[] = []
  const access = { now: (): InspectorAccess | Response | null => first }
  const page = new Page({
    tasks,
    clock,
    authorize: () => access.now(),
    onError: (error) => errors.push(error),
  })
  const streams = {
    changes: async () => {
      const entries = entriesOf(await page.open('changes'))
      expect((await entries.next()).value).toEqual({ type: 'resync' })
      return entries
    },
    follow: async () => {
      const entries = entriesOf(await page.open(`tasks/${id}/follow?after=0`))
      expect((await entries.next()).value).toMatchObject({ type: 'created' })
      return entries
    },
  }
  return { clock, tasks, id, errors, access, page, streams }
}

/** The next entry of a stream, while time passes. */
async function nextOf(entries: ReturnType<typeof entriesOf>, clock: ManualClock) {
  const next = entries.next()
  for (;;) {
    const pause = new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined)))
    const first = await Promise.race([next, pause])
    if (first !== undefined) return first
    clock.advance(500)
  }
}

describe.each(['changes', 'follow'] as const)('the stream "%s"', (name) => {
  it.each<[string, () => InspectorAccess | Response | null]>([
    ['is withdrawn', () => null],
    ['is redirected', () => Response.redirect('http://host.test/login', 302)],
    ['is that of another owner', () => ({ owner: 'bob' })],
    [
      'can no longer be decided',
      () => {
        throw new Error('no sessions')
      },
    ],
  ])('ends before it shows a change after the access %s', async (change, next) => {
    const { clock, tasks, id, access, streams, errors } = changeable({ owner: 'ann' })
    const entries = await streams[name]()
    access.now = next
    clock.advance(RECHECK_MS)
    tasks.updateTask(id, { state: 'working', message: 'secret' })
    expect(await nextOf(entries, clock)).toEqual({ done: true, value: undefined })
    expect(errors.map(String)).toEqual(change.includes('decided') ? ['Error: no sessions'] : [])
    tasks.destroy()
  })

  it('goes on while the access stays as it is', async () => {
    const { clock, tasks, id, access, streams } = changeable({ owner: 'ann' })
    const entries = await streams[name]()
    let asked = 0
    access.now = () => {
      asked += 1
      return { owner: 'ann', user: 'Ann' }
    }
    clock.advance(RECHECK_MS)
    tasks.updateTask(id, { state: 'working' })
    expect((await nextOf(entries, clock)).done).toBe(false)
    expect(asked).toBe(1)
    tasks.destroy()
  })
})

it('a stream without changes ends, too', async () => {
  const { clock, tasks, access, streams } = changeable({ owner: 'ann' })
  const entries = await streams.follow()
  access.now = () => null
  expect((await nextOf(entries, clock)).done).toBe(true)
  tasks.destroy()
})

it('one person opens at most 32 streams, and others still open theirs', async () => {
  const { access, page, tasks } = changeable({})
  const open = async (user: InspectorAccess): Promise<number> => {
    access.now = () => user
    return (await page.open('changes')).status
  }
  for (let count = 0; count < 32; count += 1) expect(await open({ user: 'Ann' })).toBe(200)
  expect(await open({ user: 'Ann' })).toBe(429)
  expect(await open({ user: 'Bob' })).toBe(200)
  for (let count = 0; count < 32; count += 1) expect(await open({ owner: 'ann' })).toBe(200)
  expect(await open({ owner: 'ann' })).toBe(429)
  expect(await open({ owner: 'bob' })).toBe(200)
  const ended = new AbortController()
  access.now = () => ({ user: 'Bob' })
  for (let count = 1; count < 32; count += 1) await page.open('changes', {}, ended.signal)
  expect(await open({ user: 'Bob' })).toBe(429)
  ended.abort()
  await expect.poll(() => open({ user: 'Bob' })).toBe(200)
  tasks.destroy()
})

it.each(['changes', 'follow'] as const)('a stream "%s" ends with the signal of its request', async (name) => {
  const tasks = new TaskManager({ feedSize: 100 })
  const { id } = tasks.createTask({ skill: 'any' })
  const page = new Page({ tasks, authorize: () => ({}) })
  const path = name === 'changes' ? name : `tasks/${id}/follow?after=0`
  for (let round = 0; round < 300; round += 1) {
    const controller = new AbortController()
    const response = await page.open(path, {}, controller.signal)
    expect([round, response.status]).toEqual([round, 200])
    const entries = entriesOf(response)
    if (round % 2 === 0) await entries.next()
    controller.abort()
    if (round % 2 === 0) while ((await entries.next()).done !== true);
  }
  tasks.destroy()
})
