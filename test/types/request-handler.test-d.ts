import { defineLifecycle, TaskManager, VALID_TRANSITIONS } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { LocalTaskManager } from 'a2a-tasks/compat'
import { createRequestHandler, type Principal, type RequestHandler } from 'a2a-tasks/server'
import { fakeAgent, type FakeAgent } from 'a2a-tasks/testing'
import { expectTypeOf, test } from 'vitest'
import * as z from 'zod'
import * as mini from 'zod/mini'

interface User extends Principal {
  readonly name: string
}

const card = { name: 'Echo', url: 'http://localhost:3000' }
const authenticate = (): User => ({ id: 'ada', name: 'Ada' })
const durable = new DurableTaskManager({ store: memoryStore() })

test('the type of the manager is inferred', () => {
  const own = createRequestHandler({ card, execute: () => 'x' })
  expectTypeOf(own).toEqualTypeOf<RequestHandler>()
  expectTypeOf(own.tasks).toEqualTypeOf<TaskManager>()
  const shared = createRequestHandler({ card, tasks: durable, authenticate, execute: () => 'x' })
  expectTypeOf(shared).toEqualTypeOf<RequestHandler<User, DurableTaskManager>>()
})

test('the type of the principal is enough', () => {
  const own = createRequestHandler<User>({ card, authenticate, execute: (run) => run.principal?.name ?? '' })
  expectTypeOf(own.tasks).toEqualTypeOf<TaskManager>()
  const shared = createRequestHandler<User>({
    card,
    tasks: durable,
    authenticate,
    execute: (run) => run.principal?.name ?? '',
  })
  expectTypeOf(shared.push.health).toBeFunction()
  expectTypeOf(
    createRequestHandler<User, DurableTaskManager>({ card, tasks: durable, execute: () => 'x' }).tasks,
  ).toEqualTypeOf<DurableTaskManager>()
})

test('every part takes every manager, with a lifecycle of its own too', () => {
  const lifecycle = defineLifecycle({
    ...VALID_TRANSITIONS,
    working: [...VALID_TRANSITIONS.working, 'review'],
    review: ['working', 'completed', 'failed', 'canceled'],
  })
  const local = new TaskManager({ lifecycle })
  const shared = new DurableTaskManager({ store: memoryStore(), lifecycle })
  const handler = createRequestHandler({ card, tasks: local, execute: () => 'x' })
  expectTypeOf(handler.tasks).toEqualTypeOf(local)
  expectTypeOf(createRequestHandler({ card, tasks: shared, execute: () => 'x' }).tasks).toEqualTypeOf(shared)
  for (const tasks of [local, shared, durable]) new LocalTaskManager(() => 'x', { tasks })
  expectTypeOf(fakeAgent('x')).toEqualTypeOf<FakeAgent>()
  expectTypeOf(fakeAgent('x', { tasks: durable }).tasks).toEqualTypeOf<DurableTaskManager>()
})

test('the result has the input type of the schema', () => {
  const output = z.object({ sky: z.enum(['clear', 'cloudy']), celsius: z.number().default(20) })
  createRequestHandler({ card, output, execute: () => ({ sky: 'clear' as const }) })
  createRequestHandler({
    card,
    output,
    execute: (run) => Promise.resolve({ sky: 'cloudy' as const, celsius: run.text.length }),
  })
  createRequestHandler({ card, execute: (run) => run.reject(), output })
  // @ts-expect-error: no such sky
  createRequestHandler({ card, output, execute: () => ({ sky: 'green' }) })
  // @ts-expect-error: a text is no such object
  createRequestHandler({ card, output, execute: (run) => run.text })
  const small = mini.object({ sky: mini.string() })
  const handler = createRequestHandler({
    card,
    tasks: durable,
    authenticate,
    output: small,
    execute: (run) => ({ sky: run.principal?.name ?? '' }),
  })
  expectTypeOf(handler).toEqualTypeOf<RequestHandler<User, DurableTaskManager>>()
})

test('a card may have fields that are undefined', () => {
  createRequestHandler({
    card: {
      ...card,
      description: undefined,
      version: undefined,
      provider: undefined,
      capabilities: { streaming: undefined, extensions: undefined },
      skills: [{ id: 'a', name: 'A', description: 'A', tags: [], examples: undefined }],
      protocolVersions: undefined,
      supportedInterfaces: undefined,
    },
    execute: () => 'x',
  })
})
