/** A small agent works through a real text file: `npm start`, or `npm start -- some.txt`. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { A2A_LIFECYCLE, TaskManager, type TaskEvent, type TaskState } from 'a2a-tasks'

const file = process.argv[2] ?? new URL('../README.md', import.meta.url)
const text = await readFile(file, 'utf8')
const words = text.toLowerCase().match(/\p{L}{4,}/gu) ?? []
const tasks = new TaskManager({ taskTimeoutMs: 400 })

/** What the agent can do. A skill gets its task's id and signal, and returns the output. */
const skills: Record<string, (id: string, signal: AbortSignal) => Promise<string>> = {
  async outline(id) {
    const lines = text.split('\n').filter((line) => line.startsWith('#'))
    for (const line of lines.slice(0, 6)) {
      tasks.appendArtifact(id, { artifactId: 'outline', parts: [{ text: line }] })
      await sleep(10)
    }
    return `${lines.length} headings`
  },
  async search(id) {
    tasks.updateTask(id, { state: 'input-required', message: 'Which word shall I count?' })
    await tasks.waitFor(id, { until: ({ messages }) => messages.length > 0 })
    const word = tasks.peekTask(id)?.messages[0]?.parts[0]?.text ?? ''
    tasks.updateTask(id, { state: 'working', message: `Counting "${word}"` })
    return `${words.filter((each) => each === word).length} times "${word}"`
  },
  async translate(id, signal) {
    tasks.updateTask(id, { message: `1 of ${words.length} words` })
    return sleep(10_000, 'somebody cancels before', { signal })
  },
  parse: () => Promise.resolve(String(JSON.parse(text))),
  ponder: (_, signal) => sleep(10_000, 'the task times out before', { signal }),
}

async function work(id: string): Promise<void> {
  const signal = tasks.signalOf(id)
  try {
    const { skill } = tasks.updateTask(id, { state: 'working' })
    tasks.updateTask(id, { state: 'completed', output: await skills[skill]?.(id, signal) })
  } catch (error) {
    if (signal.aborted) return // canceled or timed out: the task has ended already
    tasks.updateTask(id, { state: 'failed', message: String(error).slice(0, 60) })
  }
}

const marks: Record<string, string> = { completed: '✔', failed: '✘', canceled: '⊘', 'input-required': '?' }
function show(event: TaskEvent): string {
  if (event.type === 'created') return `● ${event.state}`
  if (event.type === 'output') return `= ${JSON.stringify(event.output)}`
  if (event.type === 'artifact') return `+ ${event.artifact.parts?.[0]?.text}`
  if (event.type === 'message') return `» ${event.message.parts[0]?.text}`
  return [marks[event.to] ?? '▶', event.to, event.message && JSON.stringify(event.message)].join(' ').trim()
}
const start = Date.now()
tasks.on('task:event', (event) => {
  const skill = tasks.peekTask(event.taskId)?.skill ?? ''
  console.log(`${`${Date.now() - start} ms`.padStart(8)}  ${skill.padEnd(10)} ${show(event)}`)
})

console.log(`\n  Five tasks on the ${text.length} characters of ${process.argv[2] ?? 'README.md'}\n`)
const ids = Object.keys(skills).map((skill) => tasks.createTask({ skill }).id)
for (const id of ids) void work(id)
await sleep(100)
tasks.addMessage(ids[1] ?? '', { role: 'user', parts: [{ text: 'task' }] })
tasks.cancelTask(ids[2] ?? '', { message: 'Not worth the time' })
const ended = await Promise.all(ids.map((id) => tasks.waitFor(id)))

console.log('\n  The states, and how many of the five went where:\n')
const steps = ended.flatMap(({ history }) =>
  history.map(({ state }, i) => `${history[i - 1]?.state}→${state}`),
)
for (const from of A2A_LIFECYCLE.states) {
  const count = (to: TaskState): number => steps.filter((step) => step === `${from}→${to}`).length
  const targets = A2A_LIFECYCLE.transitions[from].map((to) => (count(to) > 0 ? `${to} ×${count(to)}` : to))
  console.log(`  ${from.padEnd(14)} → ${targets.join(', ') || 'the end'}`)
}
const states = ended.map(({ state }) => state)
assert.deepEqual(states, ['completed', 'completed', 'canceled', 'failed', 'failed'])
