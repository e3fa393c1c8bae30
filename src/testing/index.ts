/**
 * For the tests of whoever builds on this library: a clock that stands still, ids that can be told in advance.
 *
 * @module
 */
export { ManualClock } from './manual-clock.js'
export { sequentialIds } from './sequential-ids.js'
