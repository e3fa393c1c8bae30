/** The conversation of the README, over a file of SQLite: its process is killed after each question. */
import { execFile } from 'node:child_process'
import { afterAll, expect, it } from 'vitest'
import { Consumer } from '../support/consumer.js'
import { programsOf } from '../support/markdown.js'
import { read } from '../support/repository.js'

const consumer = new Consumer()
afterAll(() => {
  consumer.remove()
})

const TASKS = `import { openTasks } from 'a2a-tasks/stores/sqlite'
const tasks = await openTasks('tasks.db', { leaseMs: 400, sweepIntervalMs: 100 })
`

/** Sends one message of the user, prints what the agent says and the task, and dies. */
const TALK = `
const [, , text, taskId] = process.argv
const said = await agent.run(text, taskId === undefined ? {} : { taskId })
console.log(JSON.stringify({ type: said.type, text: said.text, taskId: said.task.id }))
process.kill(process.pid, 'SIGKILL')
`

interface Said {
  readonly type: string
  readonly text: string
  readonly taskId: string
}

/** The agent and the client as the README has them, without what it sends. */
function agentOfReadme(): string {
  const programs = programsOf('README.md', read('README.md'))
  const [code = ''] = programs.flatMap(({ code }) => (code.includes('requireInput') ? [code] : []))
  const [agent = ''] = code.split(/^const answers = /m)
  const durable = agent.replace('createRequestHandler({', 'createRequestHandler({ tasks,')
  expect(durable).not.toBe(code)
  expect(durable).toContain('{ tasks,')
  return TASKS + durable + TALK
}

async function talk(program: string, ...args: readonly string[]): Promise<Said> {
  const { signal, stdout } = await new Promise<{ signal: unknown; stdout: string }>((resolve) => {
    execFile(
      process.execPath,
      [program, ...args],
      { cwd: consumer.folder, timeout: 60_000 },
      (error, stdout) => {
        resolve({ signal: error?.signal, stdout })
      },
    )
  })
  expect({ signal, stdout }).toEqual({
    signal: 'SIGKILL',
    stdout: expect.stringMatching(/^\{.*\}\n$/) as string,
  })
  // The program prints it.
  return JSON.parse(stdout) as Said
}

it('continues in another process, which asks the next question', { timeout: 90_000 }, async () => {
  consumer.write('poet.ts', agentOfReadme())
  const program = consumer.compile('poet.ts')
  const first = await talk(program, 'A poem')
  expect(first).toMatchObject({ type: 'input-required', text: 'Which flower?' })
  const second = await talk(program, 'violets', first.taskId)
  expect(second).toMatchObject({ type: 'input-required', text: 'Which colour?' })
  const third = await talk(program, 'blue', first.taskId)
  expect(third).toMatchObject({ type: 'completed', text: 'Roses are red, violets are blue' })
})
