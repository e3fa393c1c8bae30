/**
 * An agent over a file of tasks, for a test that kills its process. It prints each call of its model and of its tools.
 *
 * Without the id of a task, it begins one, prints its id, and hangs in its second tool. With an id, it waits for this task.
 *
 * @module
 */
import Database from 'libsql'
import { spendingOf } from 'a2a-tasks'
import { createRequestHandler } from 'a2a-tasks/server'
import { openTasks } from 'a2a-tasks/stores/sqlite'
import { agentOf, answer, modelOf, toolOf } from './kit.js'

const [file = '', id] = process.argv.slice(2)
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const city = { city: 'Rome' }
const answers = [
  answer(['Let me', ' see.'], [['weather', 'c1', city]]),
  answer([], [['book', 'c2', city]]),
  answer(['Booked']),
]
const model = await modelOf(
  answers.map((parts, at) => () => {
    say(`model ${at + 1}`)
    return parts
  }),
)
const weather = await toolOf(() => {
  say('weather')
  return 'clear'
})
const book = await toolOf(async () => {
  say('book')
  if (id === undefined) await new Promise(() => undefined)
  return 'a seat'
})

const tasks = await openTasks(new Database(file), { leaseMs: 5_000, sweepIntervalMs: 100 })
const handler = createRequestHandler({
  card: { name: 'Travel', url: 'http://localhost:3000' },
  tasks,
  execute: agentOf(model, { tools: () => ({ weather, book }) }),
})
if (id === undefined) {
  const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'To Rome' }] }
  const params = { message, configuration: { returnImmediately: true } }
  const sent = await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
  say(JSON.stringify(sent))
} else {
  const { state, artifacts } = await tasks.waitFor(id)
  const { total } = spendingOf((await tasks.getTask(id)) ?? undefined) ?? { total: {} }
  say(`${state} ${JSON.stringify(artifacts[0]?.parts)} ${JSON.stringify(total)}`)
  await handler.close()
  await tasks.destroy()
}
