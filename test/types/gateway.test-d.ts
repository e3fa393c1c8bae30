import { defineLifecycle, TaskManager, VALID_TRANSITIONS } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { A2AGateway, gatewayRequestHandler, loadGatewayConfig } from 'a2a-tasks/gateway'
import { createRequestHandler } from 'a2a-tasks/server'
import { expectTypeOf, test } from 'vitest'

const durable = new DurableTaskManager({ store: memoryStore() })
const providers = {}

test('a gateway has the manager of its options', () => {
  expectTypeOf(new A2AGateway({ providers }).tasks).toEqualTypeOf<TaskManager>()
  expectTypeOf(new A2AGateway({ providers, tasks: new TaskManager() }).tasks).toEqualTypeOf<TaskManager>()
  expectTypeOf(new A2AGateway({ providers, tasks: durable }).tasks).toEqualTypeOf<DurableTaskManager>()
})

test('a manager may have a lifecycle of its own', () => {
  const lifecycle = defineLifecycle({
    ...VALID_TRANSITIONS,
    working: [...VALID_TRANSITIONS.working, 'review'],
    review: ['working', 'completed', 'failed', 'canceled'],
  })
  const local = new TaskManager({ lifecycle })
  const shared = new DurableTaskManager({ store: memoryStore(), lifecycle })
  const gateway = new A2AGateway({ providers, tasks: local })
  expectTypeOf(gateway.tasks).toEqualTypeOf(local)
  expectTypeOf(new A2AGateway({ providers, tasks: shared }).tasks).toEqualTypeOf(shared)
  const card = { name: 'Gateway', url: 'http://localhost:3000' }
  createRequestHandler({ card, tasks: local, execute: gatewayRequestHandler(gateway) })
})

test('also one of a configuration', async () => {
  const config = await loadGatewayConfig('')
  const gateway = A2AGateway.fromConfig(config, { providers, tasks: durable })
  expectTypeOf(gateway.tasks).toEqualTypeOf<DurableTaskManager>()
  expectTypeOf(A2AGateway.fromConfig(config, { providers }).tasks).toEqualTypeOf<TaskManager>()
})

test('its executor serves both', () => {
  interface User {
    readonly id: string
    readonly name: string
  }
  const gateway = new A2AGateway({ providers, tasks: durable })
  createRequestHandler<User>({
    card: { name: 'Gateway', url: 'http://localhost:3000' },
    tasks: gateway.tasks,
    execute: gatewayRequestHandler<User>(gateway, { chooseAgent: ({ principal }) => principal?.name }),
  })
  const local = new A2AGateway({ providers })
  createRequestHandler({
    card: { name: 'Gateway', url: 'http://localhost:3000' },
    tasks: local.tasks,
    execute: gatewayRequestHandler(local),
  })
})
