/** An agent works on a text file, and clients follow its tasks. Run `npm start`, or `npm start -- some.txt`. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { A2AClient, type RunResult, type RunUpdate } from 'a2a-tasks/client'
import { createRequestHandler, textOf, type Execute } from 'a2a-tasks/server'

const text = await readFile(process.argv[2] ?? new URL('../README.md', import.meta.url), 'utf8')
const words = text.toLowerCase().match(/\p{L}{4,}/gu) ?? []

/** The skills of the agent. A returned string completes the task; yielded strings are streamed. */
const skills: Record<string, Execute> = {
  async *outline() {
    const lines = text.match(/^#.+/gm) ?? text.match(/.*\p{L}.*/gu) ?? []
    for (const line of lines.slice(0, 6)) yield await sleep(15, line)
  },
  async count(run) {
    const word = textOf(await run.requireInput('Which word shall I count?'))
    return `${words.filter((each) => each === word).length} times "${word}"`
  },
  async translate(run) {
    for (let current = 1; ; current++) {
      run.update({ current, total: words.length })
      await sleep(30, null, { signal: run.signal })
    }
  },
  print: () => Promise.reject<string>(new Error('No printer at 10.0.0.7')),
  greet: (run) => run.reply('Hello. This is a message without a task'),
}

const errors: unknown[] = []
const handler = createRequestHandler({
  card: { name: 'Reader', url: 'http://reader.example' },
  execute: (run) => skills[run.text]?.(run),
  anonymous: 'shared', // The only client may list all tasks.
  onError: (error) => errors.push(error),
})

/** The client calls the handler directly, without a port. */
const agent = new A2AClient({
  card: handler.card,
  fetch: (url, init) => handler.fetch(new Request(url, init)),
})

const marks: Record<string, string> = { submitted: '●', completed: '✔', failed: '✘', canceled: '⊘' }
const [ids, start] = [new Map<string, string>(), Date.now()]
function print(skill: string, what: string, said = ''): string {
  console.log(`${Date.now() - start} ms`.padStart(8), skill.padEnd(10), what, said.slice(0, 60))
  return said
}

/** Sends a message, and prints what the client receives and does. */
async function follow(skill: string): Promise<RunResult> {
  const onUpdate = ({ event, task }: RunUpdate): void => {
    ids.set(skill, task.id)
    const { state, message } = event.type === 'status' ? event : task
    if (event.type === 'artifact') print(skill, '+', textOf(event.artifact))
    else print(skill, `${marks[state] ?? '▶'} ${state}`, message && textOf(message))
  }
  const onInputRequired = (): string => print(skill, '← client answers:', 'task')
  const result = await agent.run(skill, { onUpdate, onInputRequired })
  if (result.type === 'message') print(skill, '»', result.text)
  return result
}

console.log('\n  A client sends five messages to an agent that reads a text: time, message, what happens\n')
const following = Object.keys(skills).map(follow)
await following[1]
print('translate', '← client cancels')
await agent.cancelTask(ids.get('translate') ?? '')
const results = (await Promise.all(following)).map(({ type }) => type)

const { tasks } = await agent.listTasks()
console.log(`\n  The agent's tasks: ${tasks.map(({ state }) => state).join(', ')}`)
console.log(`  Errors that only the agent sees: ${errors.join()}\n`)
assert.deepEqual(results, ['completed', 'completed', 'canceled', 'failed', 'message'])
if (process.stdout.isTTY) {
  const { serveInspector } = await import('./26-inspector.js')
  console.log(`  See them in a page, until Ctrl-C: ${(await serveInspector(handler)).url}\n`)
}
