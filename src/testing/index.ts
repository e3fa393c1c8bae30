/**
 * For the tests of whoever builds on this library: a clock that stands still, ids that can be told in advance, agents
 * in memory, and all that a store of tasks has to pass.
 *
 * @module
 */
export { fakeAgent, type FakeAgent, type FakeAgentOptions, type FakeStep } from './fake-agent.js'
export { ManualClock } from './manual-clock.js'
export { sequentialIds } from './sequential-ids.js'
export {
  testTaskStore,
  type CreateStoreOptions,
  type OlderSchema,
  type StoreSupport,
  type StoreUnderTest,
  type TestTaskStoreOptions,
} from './task-store-suite/suite.js'
