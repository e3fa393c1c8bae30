/**
 * Tools for tests, with agents in memory, a manual clock, sequential ids and the test suite for task stores.
 *
 * @module
 */
export { fakeAgent, type FakeAgent, type FakeAgentOptions, type FakeStep } from './fake-agent.js'
export { fakeModel, type FakeAnswer, type FakeCall, type FakeModel, type FakeRequest } from './fake-model.js'
export {
  testDurable,
  type DurableReport,
  type TestDurableOptions,
  type UserMessage,
} from './durable-functions/test-durable.js'
export type { QueueConsumer, QueueUnderTest } from './dispatch-suite/queue.js'
export { testDispatch, type TestDispatchOptions } from './dispatch-suite/suite.js'
export { ManualClock } from './manual-clock.js'
export { sequentialIds } from './sequential-ids.js'
export type { StoreCounter } from './task-store-suite/kit.js'
export {
  testTaskStore,
  type CreateStoreOptions,
  type OlderSchema,
  type StoreSupport,
  type StoreUnderTest,
  type TestTaskStoreOptions,
} from './task-store-suite/suite.js'
