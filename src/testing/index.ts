/**
 * For the tests of whoever builds on this library: a clock that stands still, ids that can be told in advance, agents
 * in memory.
 *
 * @module
 */
export { fakeAgent, type FakeAgent, type FakeAgentOptions, type FakeStep } from './fake-agent.js'
export { ManualClock } from './manual-clock.js'
export { sequentialIds } from './sequential-ids.js'
