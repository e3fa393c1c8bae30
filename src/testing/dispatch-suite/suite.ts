/**
 * Conformance tests of a queue that hands turns to workers.
 *
 * @module
 */
import { readOptions, requireFunction, requireWhole } from '../../runtime/options.js'
import { deliveryTests } from './delivery.js'
import { absenceTests, backlogTest, failureTests } from './failures.js'
import { House } from './house.js'
import type { DispatchTests } from './kit.js'
import type { QueueUnderTest } from './queue.js'
import { turnTests } from './turns.js'

/** Parameters of {@link testDispatch}. */
export interface TestDispatchOptions {
  /** Registers a test. The `test` function of any runner fits. */
  readonly test: (name: string, run: () => Promise<void>) => unknown
  /** Opens an empty queue. Called once for each test. */
  readonly create: () => Promise<QueueUnderTest>
  /** Optional features. Tests of others are not registered. */
  readonly supports?: {
    /** Whether the server of the queue can be ended and started again. Default is `false`. */
    readonly halt?: boolean | undefined
  }
  /** How many turns wait in the queue in the test of a long one, at least 1. Default is `1_000`. */
  readonly turns?: number | undefined
}

/**
 * Registers the tests of a queue behind the option `dispatch` of `createRequestHandler`: each turn is done once, however the
 * queue repeats, reorders, loses and delivers it, and whichever process dies. Handlers, workers and a store in memory run in this process,
 * by a clock that is ahead of the queue's: hours pass in seconds.
 *
 * @example
 * import { test } from 'node:test'
 * import { testDispatch } from 'a2a-tasks/testing'
 *
 * testDispatch({
 *   test,
 *   create: async () => {
 *     const waiting = []
 *     let deliver = (turn) => waiting.push(turn)
 *     return {
 *       dispatch: (turn) => deliver(turn),
 *       consume: async (run) => {
 *         deliver = (turn) => void run(turn).catch(() => waiting.push(turn))
 *         for (const turn of waiting.splice(0)) deliver(turn)
 *         return { close: async () => void (deliver = (turn) => waiting.push(turn)) }
 *       },
 *       close: async () => {},
 *     }
 *   },
 * })
 * @throws {TypeError | RangeError} for an invalid option; the message names it.
 */
export function testDispatch(options: TestDispatchOptions): void {
  const given = readOptions(options, ['test', 'create', 'supports', 'turns'], 'testDispatch')
  const { test, create, supports = {}, turns = 1_000 } = given
  requireFunction('test', test)
  requireFunction('create', create)
  requireWhole('turns', turns, 1)
  const { halt = false } = readOptions(supports, ['halt'], 'testDispatch', 'supports')
  const register = (tests: DispatchTests): void => {
    for (const [name, run] of Object.entries(tests)) {
      test(name, async () => {
        const queue = await create()
        const house = new House(queue)
        try {
          await run(house, queue)
        } finally {
          await house.close()
          await queue.close()
        }
      })
    }
  }
  for (const tests of [deliveryTests, turnTests, failureTests, backlogTest(turns)]) register(tests)
  if (halt) register(absenceTests)
}
