/** Every place that takes a handler takes one whose users are of a type of the program. */
import type { IncomingMessage } from 'node:http'
import { TaskManager } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { A2AGateway, gatewayRequestHandler } from 'a2a-tasks/gateway'
import { createInspector, type Inspector } from 'a2a-tasks/inspector'
import { fromAgentExecutor } from 'a2a-tasks/migrate'
import { createTaskManagerHandler, LocalTaskManager, type TaskManagerHandler } from 'a2a-tasks/compat'
import { createRequestHandler, type Principal, type RequestHandler } from 'a2a-tasks/server'
import { toNodeListener, type NodeListener } from 'a2a-tasks/server/node'
import { instrumentHandler } from 'a2a-tasks/telemetry'
import { fakeAgent } from 'a2a-tasks/testing'
import { expectTypeOf, test } from 'vitest'

interface User extends Principal {
  readonly name: string
  readonly roles: readonly string[]
}

interface UserRequest extends IncomingMessage {
  readonly user?: User
}

const ADA: User = { id: '1', name: 'Ada', roles: [] }
const card = { name: 'Echo', url: 'http://localhost:3000' }
const options = { card, authenticate: () => ADA, principalOf: (id: string): User => ({ ...ADA, id }) }
const execute = (): string => 'x'
const authorize = (): object => ({})
const durable = new DurableTaskManager({ store: memoryStore() })

const handler = createRequestHandler<User>({ ...options, execute })
const shared = createRequestHandler({ ...options, tasks: durable, execute })
const either = createRequestHandler<User, TaskManager | DurableTaskManager>({
  ...options,
  tasks: durable,
  execute,
})
const kaos = createTaskManagerHandler<User>({
  card,
  authenticate: () => ADA,
  taskManager: new LocalTaskManager(() => 'x'),
})

test('createInspector', () => {
  for (const each of [handler, shared, either]) {
    expectTypeOf(createInspector({ tasks: each.tasks, handler: each, authorize })).toEqualTypeOf<Inspector>()
  }
  createInspector({ tasks: handler.tasks, handler, authorize, actions: true, push: handler.push })
  createInspector({ tasks: shared.tasks, handler: shared, authorize: () => ({ principal: ADA }) })
  createInspector({ tasks: new TaskManager(), handler: kaos, authorize })
  // @ts-expect-error: a handler of something else
  createInspector({ tasks: handler.tasks, handler: { dispatch: (text: string) => text }, authorize })
})

test('instrumentHandler', () => {
  expectTypeOf(instrumentHandler(handler)).toEqualTypeOf<RequestHandler<User>>()
  expectTypeOf(instrumentHandler(shared)).toEqualTypeOf<RequestHandler<User, DurableTaskManager>>()
  expectTypeOf(instrumentHandler(kaos)).toEqualTypeOf<TaskManagerHandler<User>>()
  const recorded = instrumentHandler(shared)
  createInspector({ tasks: recorded.tasks, handler: recorded, authorize })
})

test('toNodeListener', () => {
  for (const { fetch } of [handler, shared, either, kaos]) {
    expectTypeOf(toNodeListener(fetch)).toEqualTypeOf<NodeListener>()
    toNodeListener(fetch, { principal: (req: UserRequest) => req.user })
  }
})

test('executors of other parts, and fake agents', () => {
  const executor = { execute: () => Promise.resolve(), cancelTask: () => Promise.resolve() }
  createRequestHandler<User>({ ...options, execute: fromAgentExecutor(executor) })
  const gateway = new A2AGateway({ providers: {} })
  createRequestHandler<User>({ ...options, execute: gatewayRequestHandler(gateway) })
  fakeAgent('x', { authenticate: () => ADA })
})
