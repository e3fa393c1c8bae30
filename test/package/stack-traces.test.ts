/** What a user reads in a stack trace: names of functions that are in `src/`, in files that say their folder. */
import { expect, it } from 'vitest'
import { Consumer } from '../support/consumer.js'
import { read, SOURCES } from '../support/repository.js'

/** Throws in `execute`, in a step, and in a call of the store, and prints each stack. */
const PROGRAM = `
import { createRequestHandler } from 'a2a-tasks/server'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
Error.stackTraceLimit = 50
const stacks = {}
const note = (where) => { stacks[where] ??= new Error(where).stack }
const store = memoryStore()
const { commit } = store
store.commit = (change) => { note('store'); return commit.call(store, change) }
const handler = createRequestHandler({
  tasks: new DurableTaskManager({ store }),
  card: { name: 'a', description: 'd', version: '1', skills: [], url: 'http://x' },
  async execute(run) {
    note('execute')
    await run.step('s', () => { note('step') })
  },
})
const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
await handler.fetch(new Request('http://x/', {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'A2A-Version': '1.0' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
}))
await handler.close()
console.log(JSON.stringify(stacks))
process.exit()
`

it('stacks of an execute, a step and a store name functions and folders of src/', async () => {
  const consumer = new Consumer()
  const stacks = JSON.parse(await consumer.run(consumer.write('stacks.mjs', PROGRAM))) as Record<
    string,
    string
  >
  expect(Object.keys(stacks).sort()).toEqual(['execute', 'step', 'store'])
  const text = SOURCES.map((file) => read(`src/${file}`)).join('\n')
  const folders = new Set(SOURCES.map((file) => file.split('/')[0]))
  for (const [where, stack] of Object.entries(stacks)) {
    const frames = stack.split('\n').filter((line) => line.includes('/dist/'))
    expect(frames.length, stack).toBeGreaterThan(0)
    for (const frame of frames) {
      const name = / at (?:async )?(?:\w+\.)?(#?\w+) \(/.exec(frame)?.[1]
      // A bundler numbers functions of one name.
      const plain = name?.replace(/\d$/, '') ?? ''
      expect(text, `${where}: ${frame}`).toMatch(new RegExp(`(?<!\\w)${plain}\\b`))
      const file = /\/dist\/(?:shared\/)?([a-z]+)/.exec(frame)?.[1]
      expect(folders, `${where}: ${frame}`).toContain(file)
    }
  }
  consumer.remove()
})
