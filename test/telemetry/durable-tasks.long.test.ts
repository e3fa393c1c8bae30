/** The bound of the open spans of a `DurableTaskManager`. */
import { expect, it } from 'vitest'
import { instrumentTasks } from 'a2a-tasks/telemetry'
import { replicas } from '../durable/support/durable.js'
import { sdk } from './support/sdk.js'

it('the oldest span ends when 10,000 newer tasks are open', { timeout: 120_000 }, async () => {
  const { span, spans } = sdk()
  const { a } = replicas(1, { maxCached: 20_000 })
  instrumentTasks(a)
  const { id } = await a.createTask({ skill: 'x' })
  await Promise.all(Array.from({ length: 9_999 }, () => a.createTask({ skill: 'x' })))
  expect(spans().filter(({ name }) => name === 'a2a.task.execute')).toHaveLength(0)
  await a.createTask({ skill: 'x' })
  expect(span('a2a.task.execute').attributes['a2a.task.id']).toBe(id)
})
