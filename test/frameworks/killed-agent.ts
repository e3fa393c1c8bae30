/**
 * An agent with a framework over a file of tasks, for a test that kills its process. It prints each call of its model and of its
 * tools.
 *
 * Without the id of a task, it begins one, prints its id, and hangs in its second tool. With an id, it waits for this task.
 *
 * @module
 */
import Database from 'libsql'
import { spendingOf } from 'a2a-tasks'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'
import { openTasks } from 'a2a-tasks/stores/sqlite'
import * as ai from './ai/kit.js'
import * as langGraph from './langgraph/kit.js'
import * as mastra from './mastra/kit.js'
import * as openAi from './openai-agents/kit.js'

const [framework = '', file = '', id] = process.argv.slice(2)
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const city = { city: 'Rome' }
const weather = (): string => {
  say('weather')
  return 'clear'
}
const book = async (): Promise<string> => {
  say('book')
  if (id === undefined) await new Promise(() => undefined)
  return 'a seat'
}

/** What this agent uses of the kit of a framework. */
interface Kit<M, A> {
  readonly answer: (texts: readonly string[], calls?: [tool: string, id: string, input: object][]) => A
  readonly modelOf: (answers: readonly (() => A)[]) => Promise<M>
  readonly toolOf: (name: string, work: () => unknown) => Promise<object>
  readonly agentOf: (model: M, options: { readonly tools: readonly object[] }) => Execute
}

async function agentWith<M, A>(kit: Kit<M, A>): Promise<Execute> {
  const answers = [
    kit.answer(['Let me', ' see.'], [['weather', 'c1', city]]),
    kit.answer([], [['book', 'c2', city]]),
    kit.answer(['Booked']),
  ]
  const model = await kit.modelOf(
    answers.map((given, at) => () => {
      say(`model ${at + 1}`)
      return given
    }),
  )
  const tools = [await kit.toolOf('weather', weather), await kit.toolOf('book', book)]
  return kit.agentOf(model, { tools })
}

function start(): Promise<Execute> {
  if (framework === 'langgraph') return agentWith(langGraph)
  if (framework === 'mastra') return agentWith(mastra)
  if (framework === 'openai-agents') return agentWith(openAi)
  return agentWith({
    ...ai,
    toolOf: (_, work) => ai.toolOf(work),
    // AI SDK takes tools by their names.
    agentOf: (model, { tools: [first = {}, second = {}] }) =>
      ai.agentOf(model, { tools: () => ({ weather: first, book: second }) }),
  })
}

const tasks = await openTasks(new Database(file), { leaseMs: 5_000, sweepIntervalMs: 100 })
const handler = createRequestHandler({
  card: { name: 'Travel', url: 'http://localhost:3000' },
  tasks,
  execute: await start(),
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
