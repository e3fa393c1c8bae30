/**
 * The recipe for AWS Lambda, on the local runner of AWS, behind a stand-in for Lambda's API that calls the function. It needs
 * Node 22: `npm run test:node22`.
 */
import { createServer } from 'node:http'
import { once } from 'node:events'
import { json } from 'node:stream/consumers'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, test } from 'vitest'
import type { Turn } from '../../../src/server/index.js'
import { testDispatch, type QueueUnderTest } from '../../../src/testing/index.js'
import { isInstalled, loadService, skipMissing } from '../installed.js'
import { isNode22 } from './engine.js'
import { needsNode22 } from './needs-node22.js'
import { loadRecipe, type Recipe } from './recipe.js'
import { SharedConsumer } from './shared-consumer.js'

const TESTING = '@aws/durable-execution-sdk-js-testing'
const PACKAGES = ['@aws/durable-execution-sdk-js', TESTING, '@aws-sdk/client-lambda']
/** Executions at a time, as a function with reserved concurrency has. */
const CONCURRENCY = 20
/** Each execution takes some ms. */
const TURNS = 300

type Handler = (event: unknown, context: unknown) => Promise<unknown>

interface LambdaRecipe {
  readonly dispatch: Recipe['dispatch']
  readonly handle: (run: (turn: Turn) => Promise<void>) => Handler
}

interface Runner {
  run(call: { readonly payload: unknown }): Promise<unknown>
}

interface Testing {
  readonly LocalDurableTestRunner: {
    new (options: { readonly handlerFunction: Handler }): Runner
    setupTestEnvironment(): Promise<void>
    teardownTestEnvironment(): Promise<void>
  }
}

/** Calls the function for each event that it accepts, so many at a time. */
class Lambda {
  readonly #waiting: unknown[] = []
  #running = 0
  #handler: Handler | undefined
  readonly #server = createServer((request, response) => {
    void json(request).then((payload) => {
      this.#waiting.push(payload)
      this.#callNext()
      response.writeHead(202).end()
    })
  })

  async start(): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening')
    // It listens to a port.
    const { port } = this.#server.address() as AddressInfo
    return `http://127.0.0.1:${port}`
  }

  deploy(handler: Handler | undefined): void {
    this.#handler = handler
    if (handler === undefined) this.#waiting.length = 0
    this.#callNext()
  }

  stop(): void {
    this.#server.close().closeAllConnections()
  }

  #callNext(): void {
    while (this.#handler !== undefined && this.#running < CONCURRENCY && this.#waiting.length > 0) {
      this.#running += 1
      void this.#call(this.#handler, this.#waiting.shift()).finally(() => {
        this.#running -= 1
        this.#callNext()
      })
    }
  }

  async #call(handlerFunction: Handler, payload: unknown): Promise<void> {
    const { LocalDurableTestRunner } = await loadService<Testing>(TESTING)
    await new LocalDurableTestRunner({ handlerFunction }).run({ payload })
  }
}

function testLambda(): void {
  const lambda = new Lambda()
  let url = ''
  beforeAll(async () => {
    const { LocalDurableTestRunner } = await loadService<Testing>(TESTING)
    await LocalDurableTestRunner.setupTestEnvironment()
    url = await lambda.start()
  })
  afterAll(async () => {
    lambda.stop()
    const { LocalDurableTestRunner } = await loadService<Testing>(TESTING)
    await LocalDurableTestRunner.teardownTestEnvironment()
  })
  const create = async (): Promise<QueueUnderTest> => {
    const { dispatch, handle } = await loadRecipe<LambdaRecipe>('AWS Lambda', {
      ...{ AWS_ENDPOINT_URL_LAMBDA: url, AWS_REGION: 'eu-central-1', TURNS_FUNCTION: 'turns:live' },
      ...{ AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
    })
    const recipe: Recipe = {
      dispatch,
      consume: (run) => {
        lambda.deploy(handle(run))
        return Promise.resolve(() => {
          lambda.deploy(undefined)
          return Promise.resolve()
        })
      },
      close: () => Promise.resolve(),
    }
    const shared = await SharedConsumer.open(recipe, () => Promise.resolve())
    return { dispatch, consume: (run) => shared.consume(run), close: () => shared.close() }
  }
  testDispatch({ test, create, turns: TURNS })
}

if (!isNode22) needsNode22('AWS Lambda')
else if (isInstalled(...PACKAGES)) describe('AWS Lambda', { timeout: 180_000 }, testLambda)
else test('AWS Lambda is installed', (context) => skipMissing(context, ...PACKAGES))
