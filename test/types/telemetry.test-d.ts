import { defineLifecycle, TaskManager } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { A2AGateway } from 'a2a-tasks/gateway'
import { createRequestHandler } from 'a2a-tasks/server'
import { instrumentTasks } from 'a2a-tasks/telemetry'
import { expectTypeOf, test } from 'vitest'

const store = memoryStore()
const durable = new DurableTaskManager({ store })

test('both managers are accepted', () => {
  expectTypeOf(instrumentTasks(new TaskManager())).toEqualTypeOf<() => void>()
  expectTypeOf(instrumentTasks(durable)).toEqualTypeOf<() => void>()
  instrumentTasks(new A2AGateway({ providers: {} }).tasks)
  const handler = createRequestHandler({
    card: { name: 'Echo', url: 'http://localhost:3000' },
    tasks: durable,
    execute: () => 'x',
  })
  instrumentTasks(handler.tasks, { prefix: 'kaos' })
})

test('and so is either of them, and each with a lifecycle of its own', () => {
  const lifecycle = defineLifecycle({ todo: ['done'], done: [] })
  const local = new TaskManager({ lifecycle })
  const shared = new DurableTaskManager({ store, lifecycle })
  instrumentTasks(local)
  instrumentTasks(shared)
  const choose = (isShared: boolean): typeof local | typeof shared => (isShared ? shared : local)
  instrumentTasks(choose(true))
})

test('other values are not', () => {
  // @ts-expect-error a store is no manager
  instrumentTasks(store)
  // @ts-expect-error a promise is no manager
  instrumentTasks(Promise.resolve(durable))
  // @ts-expect-error null is no manager
  instrumentTasks(null)
  // @ts-expect-error no such option
  instrumentTasks(durable, { prefx: 'kaos' })
})
