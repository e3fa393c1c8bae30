/** The built package runs, and lets its process end. `.ci/run` has the same programs run by other runtimes. */
import { afterAll, expect, it } from 'vitest'
import { Consumer } from '../support/consumer.js'
import { read } from '../support/repository.js'

const consumer = new Consumer()
afterAll(() => {
  consumer.remove()
})

it.each(['import', 'require'])('a program that loads the package by `%s` runs and ends', async (system) => {
  for (const shared of ['smoke-life.mjs', 'smoke-talk.mjs'])
    consumer.write(shared, read(`test/package/${shared}`))
  const file = system === 'import' ? 'smoke.mjs' : 'smoke.cjs'
  const program = consumer.write(file, read(`test/package/${file}`))
  expect(await consumer.run(program)).toBe(`${system}: Node is done\n`)
})
