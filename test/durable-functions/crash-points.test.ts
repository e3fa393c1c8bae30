/** Durable functions that crash at every write. */
import { testDurable } from 'a2a-tasks/testing'
import { expect, test } from 'vitest'
import { FUNCTIONS } from './functions.js'

test.each(FUNCTIONS)('$name: every crash leaves the same task', async ({ execute, options }) => {
  const { crashPoints, task } = await testDurable(execute, options)
  expect(['completed', 'failed']).toContain(task.state)
  expect(crashPoints).toBeGreaterThan(5)
})
