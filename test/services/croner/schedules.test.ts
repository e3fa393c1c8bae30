/** Schedules by the cron expressions of croner, in a time zone whose clocks are changed. */
import { expect, it, onTestFinished } from 'vitest'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createSchedules } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { settle } from '../../server/durable/support/replicas.js'
import { skipMissing, whenInstalled } from '../installed.js'

const HOUR = 3_600_000

it('has croner', (context) => skipMissing(context, 'croner'))

whenInstalled(['croner'], 'schedules by croner', () => {
  it.each([
    ['spring', '2026-03-28T00:00:00.000Z', ['2026-03-28T01:30', '2026-03-29T01:00', '2026-03-30T00:30']],
    ['autumn', '2026-10-24T00:00:00.000Z', ['2026-10-24T00:30', '2026-10-25T00:30', '2026-10-26T01:30']],
  ])('begin one task a day in %s', async (_, from, expected) => {
    const { Cron } = await import('croner')
    const clock = new ManualClock(from)
    const tasks = new DurableTaskManager({ store: memoryStore({ now: () => clock.now() }), clock })
    const daily = new Cron('30 2 * * *', { timezone: 'Europe/Berlin' })
    const schedules = createSchedules({
      card: { name: 'Shop', url: 'https://shop.example' },
      ...{ tasks, schedules: { daily: { cron: daily, message: (at: Date) => at.toISOString() } } },
    })
    onTestFinished(async () => {
      await schedules.close()
      await tasks.destroy()
    })
    schedules.start()
    for (let hours = 0; hours < 72; hours += 1) {
      await settle()
      clock.advance(HOUR)
    }
    await settle()
    const begun = (await tasks.listTasks()).flatMap(({ messages }) =>
      messages.map(({ parts }) => parts[0]?.text?.slice(0, 16)),
    )
    expect(begun).toEqual(expected)
  })

  it('refuse an expression that has no time', async () => {
    const { Cron } = await import('croner')
    expect(() => new Cron('61 2 * * *')).toThrow()
  })
})
