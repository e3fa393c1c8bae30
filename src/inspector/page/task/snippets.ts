/**
 * A task as code: the request that began it, a client that repeats it, and a test that replays it.
 *
 * @module
 */
import type { Entry, Snapshot } from './log.js'
import { textOf } from '../../../wire/text.js'
import { statusText } from '../../summary.js'

/** The request that began a task, for a shell. */
export function asCurl(task: Snapshot, url: string): string {
  const [first] = task.messages
  const message = {
    // With the id of the first message, the answer would be the task that it began.
    messageId: `curl-${Date.now()}`,
    role: 'ROLE_USER',
    parts: first?.parts ?? [{ data: task.input }],
  }
  const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }
  return [
    `curl ${quoted(url)}`,
    `  -H 'Content-Type: application/json' -H 'A2A-Version: 1.0'`,
    `  -d ${quoted(JSON.stringify(body))}`,
  ].join(' \\\n')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** A program that repeats a task, with the same answers. */
export function asClientCode(task: Snapshot, url: string): string {
  const [first, ...answers] = userTexts(task)
  return `import { A2AClient } from 'a2a-tasks/client'

const agent = await A2AClient.connect(${JSON.stringify(url)})
${runCode('agent', first ?? '', answers)}
console.log(result.type, result.text)
`
}

function runCode(agent: string, first: string, answers: readonly string[], indent = ''): string {
  if (answers.length === 0) return `${indent}const result = await ${agent}.run(${JSON.stringify(first)})`
  return [
    `const answers = ${JSON.stringify(answers)}`,
    `const result = await ${agent}.run(${JSON.stringify(first)}, { onInputRequired: () => answers.shift() ?? '' })`,
  ]
    .map((line) => indent + line)
    .join('\n')
}

function userTexts({ messages, input }: Snapshot): string[] {
  const texts = messages.filter(({ role }) => role === 'user').map((message) => textOf(message))
  return texts.length > 0 ? texts : [typeof input === 'string' ? input : JSON.stringify(input)]
}

/** Whether {@link asTest} can replay the task. */
export function isReplayable({ state, messages }: Snapshot): boolean {
  return ['completed', 'failed'].includes(state) && messages.length > 0
}

/** A test with an agent that asks what the task has asked, and ends as it has ended. */
export function asTest(task: Snapshot, entries: readonly Entry[]): string {
  const [first = '', ...answers] = userTexts(task)
  const questions = questionsIn(entries).slice(0, answers.length)
  const steps = questions.map((question) => `    await run.requireInput(${JSON.stringify(question)})`)
  const results = task.artifacts.flatMap((artifact) =>
    artifact.parts === undefined ? [] : [`    yield ${JSON.stringify(artifact)}`],
  )
  const end =
    task.state === 'failed' ? [`    throw new Error(${JSON.stringify(statusText(task.message))})`] : []
  const text = task.artifacts.map((artifact) => textOf(artifact)).join('')
  const hasText = task.state === 'completed' && text !== ''
  return `import { A2AClient } from 'a2a-tasks/client'
import { fakeAgent } from 'a2a-tasks/testing'
import { expect, it } from 'vitest'

it(${JSON.stringify(`replays the task ${task.id}`)}, async () => {
  const agent = fakeAgent(async function* (run) {
${[...steps, ...results, ...end].join('\n')}
  })
  const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
${runCode('client', first, answers, '  ')}
  expect(result.type).toBe(${JSON.stringify(task.state)})
${hasText ? `  expect(result.text).toBe(${JSON.stringify(text)})\n` : ''}  await agent.close()
})
`
}

function questionsIn(entries: readonly Entry[]): string[] {
  return entries.flatMap((entry) =>
    entry.type === 'status' && entry.from !== entry.to && entry.to === 'input-required'
      ? [statusText(entry.message ?? undefined)]
      : [],
  )
}
