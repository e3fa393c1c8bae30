/** Each example is short, and runs against the built package: `npm run test:all` runs all of them. */
import { afterAll, describe, expect, it } from 'vitest'
import { Consumer } from '../support/consumer.js'
import { FILES, read } from '../support/repository.js'
import { runsAll } from '../support/samples.js'

const FOLDER = FILES.filter((file) => file.startsWith('examples/'))
const EXAMPLES = FOLDER.filter((file) => /^examples\/\d\d-[a-z0-9-]+\.ts$/.test(file))

/** What the examples that mount a handler, keep tasks, or tell OpenTelemetry, bring along. */
const FRAMEWORKS = [
  ...['express', 'fastify', 'hono', '@hono/node-server'],
  ...['@nestjs/common', '@nestjs/core', '@nestjs/platform-express', 'reflect-metadata', 'rxjs'],
  ...['libsql', '@electric-sql/pglite', 'pg', 'ioredis', 'bullmq'],
  ...['api', 'context-async-hooks', 'core', 'sdk-trace-base'].map((name) => `@opentelemetry/${name}`),
]

const consumer = new Consumer()
afterAll(() => {
  consumer.remove()
})

consumer.install(...FRAMEWORKS)

// The README too: the tour reads it.
for (const file of [...FOLDER, ...FILES.filter((name) => name === 'README.md')])
  consumer.write(file, read(file))

it('every program in examples/ is a numbered one, or belongs to an application that other tests run', () => {
  const others = FOLDER.filter((file) => !/^examples\/(chat|nextjs|workers)\//.test(file))
  expect(others.filter((file) => /\.[cm]?[jt]s$/.test(file))).toEqual(EXAMPLES)
})

describe.each(EXAMPLES)('%s', (example) => {
  it('has at most 80 lines', () => {
    expect(read(example).trimEnd().split('\n').length).toBeLessThanOrEqual(80)
  })

  it('imports the package by its name', () => {
    expect(read(example)).toMatch(/from 'a2a-tasks['/]/)
  })
})

/**
 * `npm test` runs the tour, which has the most parts, and the file of the LiteLLM-RS document. The behaviour of the others has
 * tests of its own.
 */
const RUNNING = runsAll ? EXAMPLES : ['examples/00-tour.ts', 'examples/32-litellm-rs.ts']

it.each(RUNNING)('%s runs to its end', { timeout: 90_000 }, async (example) => {
  await consumer.run(example)
})
