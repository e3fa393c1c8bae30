/**
 * A queue or an engine of the pages about them, on a real server, under the suite for queues.
 *
 * @module
 */
import { pathToFileURL } from 'node:url'
import { afterAll, describe, test, type TestContext } from 'vitest'
import { testDispatch, type QueueUnderTest } from '../../../src/testing/index.js'
import { skipWithoutPostgres, startPostgres } from '../../support/postgres-server.js'
import { expectAllRight } from '../functions/expect-right.js'
import { isInstalled, skipMissing } from '../installed.js'
import { loadRecipe, recipeFile, type Recipe } from './recipe.js'
import { SharedConsumer } from './shared-consumer.js'

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
  readonly packages: readonly string[]
  readonly hasServer: () => boolean
  /** As `skipWithoutRedis`. */
  readonly skip: (context: TestContext) => void
  readonly start: () => Promise<S>
  /** Empties the server for the next test. Resolves to the variables by which the recipe finds it. */
  readonly empty: (server: S) => Promise<Readonly<Record<string, string>>>
  /** Whether its server is ended in the middle of its work. Default is `true`. */
  readonly isHalted?: boolean
  /** Whether processes that it gives turns to are killed, too. */
  readonly isKilled: boolean
  /**
   * For engines that a process can consume once: called when this process consumes. All workers of a test share that. Absent
   * where each worker of the suite can consume.
   */
  readonly whenConsuming?: (server: S) => Promise<void>
  /** How many turns wait in one of the tests. Default is {@link TURNS}. */
  readonly turns?: number
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

/** Each worker consumes. */
function consumeEach({ consume, close }: Recipe): Pick<QueueUnderTest, 'consume' | 'close'> {
  return {
    consume: async (run) => {
      const stop = await consume(run)
      return { close: discard(stop) }
    },
    close: discard(close),
  }
}

/** Registers the tests of the suite. */
export function testEngine<S extends EngineServer>(engine: Engine<S>): void {
  const { heading, packages, whenConsuming } = engine
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
      const recipe = await loadRecipe(heading, await engine.empty(server))
      const consuming =
        whenConsuming === undefined
          ? consumeEach(recipe)
          : await SharedConsumer.open(recipe, () => whenConsuming(server))
      return {
        dispatch: recipe.dispatch,
        consume: (run) => consuming.consume(run),
        close: () => consuming.close(),
        halt: () => server.halt(),
        restart: () => server.start(),
      }
    }
    testDispatch({ test, create, supports: { halt: engine.isHalted ?? true }, turns: engine.turns ?? TURNS })
    if (engine.isKilled) {
      test('functions end right whose processes are killed', async (context) => {
        skipWithoutPostgres(context)
        const [store, server] = await Promise.all([startPostgres(), (running ??= engine.start())])
        try {
          const work = pathToFileURL(await recipeFile(heading)).href
          const env = await engine.empty(server)
          await expectAllRight('postgres', store.url, 3, { work, env, tasks: KILLED_TASKS })
        } finally {
          await store.stop()
        }
      })
    }
  })
}
