/** One process of several that do turns, of each key a few at a time. It writes when each begins and ends, and is made to be killed. */
import { appendFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { DurableTaskManager } from '../../../src/durable/index.js'
import { createWorker, textOf } from '../../../src/server/index.js'
import { openStore } from './stores.js'

const { STORE = '', STORE_URL = '', TURNS_FILE = '', MAX = '1' } = process.env

const { store, close } = await openStore(STORE, STORE_URL)
const tasks = new DurableTaskManager({
  ...{ store, leaseMs: 1_500, sweepIntervalMs: 300, pollIntervalMs: 200, storeRetryMs: 10_000 },
})

function write(what: 'begins' | 'ends', text: string): void {
  appendFileSync(TURNS_FILE, `${JSON.stringify({ what, text, pid: process.pid, at: Date.now() })}\n`)
}

const worker = createWorker({
  ...{ card: { name: 'Shop', url: 'http://127.0.0.1' }, tasks, concurrency: 20, pollMs: 100 },
  perKey: {
    keyOf: ({ messages: [first] }) => (first === undefined ? undefined : textOf(first).split(' ')[0]),
    max: Number(MAX),
  },
  onError: (error, context) => console.error(context, error),
  execute: async (run) => {
    for (const part of [1, 2]) {
      write('begins', run.text)
      await delay(10 + Math.random() * 60)
      write('ends', run.text)
      // It leaves its place, and waits for another one.
      if (part === 1) await run.sleep('rest', { ms: 100 })
    }
    return 'done'
  },
})
worker.start()
process.send?.('ready')

process.once('message', () => {
  void (async () => {
    await worker.close({ graceMs: 1_000 })
    await tasks.destroy()
    await close()
    process.disconnect()
  })()
})
