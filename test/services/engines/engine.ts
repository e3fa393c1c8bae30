/**
 * A queue of the page about queues, on a real server, under the suite for queues.
 *
 * @module
 */
import { pathToFileURL } from 'node:url'
import { afterAll, describe, test, type TestContext } from 'vitest'
import { testDispatch, type QueueUnderTest } from '../../../src/testing/index.js'
import { skipWithoutPostgres, startPostgres } from '../../support/postgres-server.js'
import { expectAllRight } from '../functions/expect-right.js'
import { isInstalled, skipMissing } from '../installed.js'
import { loadRecipe, recipeFile } from './recipe.js'

/** A server that these tests start, and end in the middle of its work. */
export interface EngineServer {
  readonly url: string
  halt(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

export interface Engine<S extends EngineServer = EngineServer> {
  /** The heading of its recipe. */
  readonly heading: string
  /** The variable in which the recipe finds the server. */
  readonly variable: string
  readonly packages: readonly string[]
  readonly hasServer: () => boolean
  /** As `skipWithoutRedis`. */
  readonly skip: (context: TestContext) => void
  readonly start: () => Promise<S>
  /** Empties the server for the next test. Resolves to where the recipe finds it. */
  readonly empty: (server: S) => Promise<string>
  /** Whether its server is ended in the middle of its work. Default is `true`. */
  readonly isHalted?: boolean
  /** Whether processes that it gives turns to are killed, too. */
  readonly isKilled: boolean
}

/** How many wait in the queue in one of the tests: `ENGINE_TURNS`, or a number that takes seconds. */
const TURNS = Number(process.env['ENGINE_TURNS'] ?? 2_000)
const KILLED_TASKS = 60

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

/** The oldest Node that pg-boss and Graphile Worker run on. */
export const isNode22 = major > 22 || (major === 22 && minor >= 18)

function discard(end: () => Promise<unknown>): () => Promise<void> {
  return async () => {
    await end()
  }
}

/** Registers the tests of the suite. */
export function testEngine<S extends EngineServer>(engine: Engine<S>): void {
  const { heading, variable, packages } = engine
  if (!engine.hasServer() || !isInstalled(...packages)) {
    test(`${heading} is installed`, (context) => {
      engine.skip(context)
      skipMissing(context, ...packages)
    })
    return
  }
  describe(heading, { timeout: 180_000 }, () => {
    let running: Promise<S> | undefined
    afterAll(async () => {
      await (await running)?.stop()
    })
    const create = async (): Promise<QueueUnderTest> => {
      const server = await (running ??= engine.start())
      const { dispatch, consume, close } = await loadRecipe(heading, variable, await engine.empty(server))
      return {
        dispatch,
        consume: async (run) => {
          const stop = await consume(run)
          return { close: discard(stop) }
        },
        close: discard(close),
        halt: () => server.halt(),
        restart: () => server.start(),
      }
    }
    testDispatch({ test, create, supports: { halt: engine.isHalted ?? true }, turns: TURNS })
    if (engine.isKilled) {
      test('functions end right whose processes are killed', async (context) => {
        skipWithoutPostgres(context)
        const [store, server] = await Promise.all([startPostgres(), (running ??= engine.start())])
        try {
          const work = pathToFileURL(await recipeFile(heading)).href
          const env = { [variable]: await engine.empty(server) }
          await expectAllRight('postgres', store.url, 3, { work, env, tasks: KILLED_TASKS })
        } finally {
          await store.stop()
        }
      })
    }
  })
}
