/** One process of several that serve the same tasks, by the store that its environment names. It is made to be killed. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { DurableTaskManager } from '../../../src/durable/index.js'
import { textOf, type Run } from '../../../src/server/index.js'
import { toNodeListener } from '../../../src/server/node/index.js'
import { book } from '../functions/book.js'
import { transfer } from '../functions/transfer.js'
import { rolesOf } from './roles.js'
import { openStore } from './stores.js'

const { STORE = '', STORE_URL = '', RECOVER, STEPS_FILE = '', WORK = 'here' } = process.env
/** Work is restarted only where replicas hand it over: they do so at once. */
const recover = RECOVER === 'resume' ? 'resume' : 'fail'

/** Says its numbers one by one, so that a lost or doubled one shows. */
async function count(run: Run, most: number): Promise<void> {
  for (let number = 0; number < most; number += 1) {
    run.artifact({ artifactId: 'numbers', parts: [{ text: `${number} ` }] })
    await delay(Math.random() * 8, undefined, { signal: run.signal })
  }
}

async function execute(run: Run): Promise<string | undefined> {
  const [what, number] = run.text.split(' ')
  switch (what) {
    case 'ask':
      return `You said ${textOf(await run.requireInput('What?'))}`
    case 'turn':
      // The answer begins another run, wherever it comes to.
      run.requireInput('What next?').catch(() => undefined)
      return undefined
    case 'book':
      return await book(run, STEPS_FILE)
    case 'transfer':
      return await transfer(run)
    case 'hold':
      run.start()
      await once(run.signal, 'abort')
      return undefined
    default:
      await count(run, Number(number))
      return undefined
  }
}

const { store, close } = await openStore(STORE, STORE_URL)
const tasks = new DurableTaskManager({
  ...{ store, recover },
  ...{ leaseMs: 1_500, sweepIntervalMs: 300, pollIntervalMs: 200, storeRetryMs: 10_000 },
})
const roles = await rolesOf(
  WORK,
  {
    card: { name: 'Counter', url: 'http://127.0.0.1' },
    tasks,
    // So that runs that sleep leave the memory.
    limits: { waitingRunMs: 100 },
    onError: (error, context) => console.error(context, error),
  },
  execute,
)
const server = createServer(toNodeListener(roles.handler.fetch)).listen(0, '127.0.0.1')
await once(server, 'listening')
// It listens to a port.
process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)

process.once('message', () => {
  void (async () => {
    await roles.close(recover === 'resume' ? 0 : 1_000)
    await tasks.destroy()
    server.close()
    server.closeAllConnections()
    await close()
    process.disconnect()
  })()
})
