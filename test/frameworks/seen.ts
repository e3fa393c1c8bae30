/**
 * What a client sees of an agent.
 *
 * @module
 */
import { spendingOf, TaskManager, type Task } from 'a2a-tasks'
import {
  A2AClient,
  answerPart,
  awaitedOthersOf,
  openQuestionsOf,
  textOf,
  toolCallsIn,
  type MessageInput,
  type RunResult,
  type ToolCall,
} from 'a2a-tasks/client'
import type { Execute } from 'a2a-tasks/server'
import { fakeAgent } from 'a2a-tasks/testing'

export interface Outcome {
  readonly type: string
  readonly task: Task
  readonly errors: readonly string[]
  /** The calls of tools, the texts and the metadata of the status messages, in their order. */
  readonly calls: readonly ToolCall[]
  readonly texts: readonly string[]
  readonly metadata: readonly unknown[]
  /** The pieces of the artifacts, as they came. */
  readonly chunks: readonly string[]
  readonly spent: unknown
}

/** Runs the agent for one message, and answers what it asks. */
export async function seenOf(
  execute: Execute,
  { verdict = 'approve', input = 'Hi' }: { readonly verdict?: string; readonly input?: MessageInput } = {},
): Promise<Outcome> {
  const errors: string[] = []
  const tasks = new TaskManager()
  const agent = fakeAgent(execute, { tasks, onError: (error) => errors.push(String(error)) })
  const client = await A2AClient.connect(agent.url, { fetch: agent.fetch })
  const messages = new Map<string, NonNullable<Task['messages'][number]>>()
  const chunks: string[] = []
  const result = await client.run(input, {
    onUpdate: ({ event }) => {
      if (event.type === 'artifact') chunks.push(textOf(event.artifact))
      if (event.type === 'status' && event.message) messages.set(event.message.messageId, event.message)
    },
    onInputRequired: () => verdict,
  })
  const [task] = tasks.listTasks()
  if (task === undefined) throw new Error('There is no task')
  const said = [...messages.values()]
  return {
    ...{ type: result.type, task, errors, chunks },
    calls: said.flatMap(toolCallsIn),
    texts: said.map(textOf),
    metadata: said.map((message) => message.metadata),
    spent: spendingOf(task)?.total,
  }
}

/** Runs the agent for a user who may not answer its question, and lets the first of those answer who may. */
export async function answeredByOthers(
  execute: Execute,
  verdict: string,
): Promise<{ readonly result: RunResult; readonly asked: readonly string[] }> {
  const agent = fakeAgent(execute, {
    authenticate: ({ headers }) => ({ id: headers.get('authorization') ?? 'ann' }),
  })
  const clientOf = (authorization: string): Promise<A2AClient> =>
    A2AClient.connect(agent.url, { fetch: agent.fetch, headers: { authorization } })
  const asked: string[] = []
  const answer = async (user: string, taskId: string): Promise<void> => {
    const client = await clientOf(user)
    const [question] = openQuestionsOf(await client.getTask(taskId))
    if (question === undefined) return
    asked.push(`${user}: ${question.message}`)
    await client.run({ taskId, parts: [answerPart({ [question.id]: verdict })] })
  }
  const ann = await clientOf('ann')
  const result = await ann.run('Hi', {
    onUpdate: ({ task }) => {
      const [user] = awaitedOthersOf(task) ?? []
      if (user !== undefined) void answer(user, task.id)
    },
  })
  return { result, asked }
}

/** Runs the agent, cancels its task when the model has been called, and resolves to the signal that the model got. */
export async function canceledSignalOf(
  agentOf: (onCall: (signal: AbortSignal | undefined) => Promise<never>) => Execute,
): Promise<{ readonly type: string; readonly signal: AbortSignal | undefined }> {
  let begin: (signal: AbortSignal | undefined) => void = () => undefined
  const begun = new Promise<AbortSignal | undefined>((resolve) => (begin = resolve))
  const execute = agentOf((signal) => {
    begin(signal)
    return new Promise<never>((_, reject) =>
      signal?.addEventListener('abort', () => reject(new Error('aborted'))),
    )
  })
  const agent = fakeAgent(execute)
  const client = await A2AClient.connect(agent.url, { fetch: agent.fetch })
  const running = client.run('Hi')
  const signal = await begun
  agent.tasks.cancelTask(agent.tasks.listTasks()[0]?.id ?? '')
  return { type: (await running).type, signal }
}
