/** A worker asks the user a question, waits for the answer, and stops if the task is canceled. */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { TaskManager } from 'a2a-tasks'

const tasks = new TaskManager()

/** Sets the question as the status message, and waits for the next message of the conversation. */
async function ask(id: string, question: string): Promise<string> {
  const { messages } = tasks.updateTask(id, { state: 'input-required', message: question })
  const task = await tasks.waitFor(id, { until: (now) => now.messages.length > messages.length })
  tasks.signalOf(id).throwIfAborted() // a canceled task also ends the wait
  tasks.updateTask(id, { state: 'working', message: 'Thank you' })
  return task.messages.at(-1)?.parts[0]?.text ?? ''
}

async function greet(id: string): Promise<void> {
  tasks.updateTask(id, { state: 'working' })
  const name = await ask(id, 'What is your name?')
  const place = await ask(id, 'And where are you from?')
  tasks.updateTask(id, { state: 'completed', output: `Hello ${name} from ${place}` })
}

/** Replaces your user interface, which shows each question, and adds the answer of the user. */
const answers: Record<string, string> = { 'What is your name?': 'Ada', 'And where are you from?': 'London' }
tasks.on('task:stateChange', ({ taskId, to }) => {
  const question = tasks.peekTask(taskId)?.message
  if (to !== 'input-required' || typeof question !== 'string') return
  const text = answers[question]
  if (text === undefined) return
  void turn().then(() => tasks.addMessage(taskId, { role: 'user', parts: [{ text }] }))
})

const { id } = tasks.createTask({ skill: 'greet' })
await greet(id)
assert.equal(tasks.getTask(id)?.output, 'Hello Ada from London')

// A cancellation rejects the wait, so the worker stops.
const { id: second } = tasks.createTask({ skill: 'greet' })
tasks.updateTask(second, { state: 'working' })
const asking = ask(second, 'Are you there?')
tasks.cancelTask(second)
await assert.rejects(asking, { code: 'TASK_CANCELED' })
console.log(tasks.getTask(id)?.output)
