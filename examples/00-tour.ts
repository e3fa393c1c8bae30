/** An agent works through a real text file, and its clients watch: `npm start`, or `npm start -- some.txt`. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { TaskManager } from 'a2a-tasks'
import type { StreamResponse } from 'a2a-tasks/schemas'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'

const text = await readFile(process.argv[2] ?? new URL('../README.md', import.meta.url), 'utf8')
const words = text.toLowerCase().match(/\p{L}{4,}/gu) ?? []

/** What the agent can do. What a skill returns completes its task; what it yields streams. */
const skills: Record<string, Execute> = {
  async *outline() {
    const lines = text.match(/^#.+/gm) ?? text.match(/.*\p{L}.*/gu) ?? []
    for (const line of lines.slice(0, 6)) yield await sleep(15, line)
  },
  async count(run) {
    const { parts } = await run.requireInput('Which word shall I count?')
    return `${words.filter((word) => word === parts[0]?.text).length} times "${parts[0]?.text}"`
  },
  async translate(run) {
    for (let current = 1; ; current++) {
      run.update({ current, total: words.length })
      await sleep(30, null, { signal: run.signal })
    }
  },
  print: () => Promise.reject<string>(new Error('No printer at 10.0.0.7')),
  greet: (run) => run.reply('Hello. That is no work: a message, and no task'),
}

const tasks = new TaskManager()
const unsaid: unknown[] = []
const handler = createRequestHandler({
  card: { name: 'Reader', url: 'http://reader.example' },
  tasks,
  execute: (run) => skills[run.text]?.(run),
  onError: (error) => unsaid.push(error),
})

/** What a client sends. The handler is a function from a request to a response: no port is needed. */
function request(path: string, body?: object): Promise<Response> {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  return handler.fetch(new Request(`http://reader.example${path}`, body && post))
}

const marks: Record<string, string> = { submitted: '●', completed: '✔', failed: '✘', canceled: '⊘' }
const ids = new Map<string, string>()
const start = Date.now()

/** Sends a message, and prints the events as they come. */
async function follow(skill: string, say = skill): Promise<void> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: say }] }
  const { body } = await request('/message:stream', { message: { ...message, taskId: ids.get(skill) } })
  // Without a network between, each chunk is one event.
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const [, id = '–', data = ''] = /(?:id: (\d+)\n)?data: (.*)/.exec(chunk) ?? []
    const { task, message: reply, statusUpdate, artifactUpdate } = JSON.parse(data) as StreamResponse
    if (task !== undefined) ids.set(skill, task.id)
    const status = statusUpdate?.status ?? task?.status
    const state = status?.state.replace('TASK_STATE_', '').toLowerCase() ?? ''
    const said = (status?.message ?? reply ?? artifactUpdate?.artifact)?.parts[0]?.text?.slice(0, 60) ?? ''
    const what = status ? `${marks[state] ?? '▶'} ${state}` : reply ? '»' : '+'
    console.log(
      `${`${Date.now() - start} ms`.padStart(8)}  ${skill.padEnd(10)}${id.padStart(3)}  ${what} ${said}`,
    )
  }
}

console.log(`\n  Five messages about ${text.length} characters: when, to which skill, event, what it tells\n`)
const following = Object.keys(skills).map((skill) => follow(skill))
await following[1]
await follow('count', 'task')
await request(`/tasks/${ids.get('translate')}:cancel`, {})
await Promise.all(following)

const { tasks: list } = (await (await request('/tasks')).json()) as { tasks: StreamResponse['task'][] }
const states = list.map((task) => task?.status.state.replace('TASK_STATE_', '').toLowerCase())
console.log(`\n  GET /tasks: ${states.join(', ')}\n  Told to nobody but the agent: ${unsaid.join()}\n`)
assert.deepEqual(states.sort(), ['canceled', 'completed', 'completed', 'failed'])
