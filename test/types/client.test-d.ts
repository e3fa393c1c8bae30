import { TaskManager } from 'a2a-tasks'
import {
  A2AClient,
  type DelegationOptions,
  type RemoteTask,
  type RunOptions,
  type RunResult,
} from 'a2a-tasks/client'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { expectTypeOf, test } from 'vitest'

test('a client takes either manager', () => {
  expectTypeOf(new A2AClient({ taskManager: new TaskManager() })).toEqualTypeOf<A2AClient>()
  const durable = new DurableTaskManager({ store: memoryStore() })
  expectTypeOf(new A2AClient({ taskManager: durable })).toEqualTypeOf<A2AClient>()
})

test('sendTask takes no option for messages of earlier processes', () => {
  expectTypeOf<DelegationOptions>().toEqualTypeOf<Omit<RunOptions, 'repeats'>>()
})

test('the task of a result can be read before its type is known', () => {
  expectTypeOf<RunResult['task']>().toEqualTypeOf<RemoteTask | undefined>()
  expectTypeOf<Extract<RunResult, { ok: true }>['task']>().toEqualTypeOf<RemoteTask | undefined>()
})
