/**
 * Test tools: a manual clock, sequential ids, agents in memory, and the conformance suite of task stores.
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
