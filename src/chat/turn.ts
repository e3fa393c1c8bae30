/**
 * Turns of a conversation, for every front end: a message in its context, and a reply that is shown again.
 *
 * @module
 */
import { isTerminal } from '../core/lifecycle.js'
import type { Message } from '../core/task.js'
import { compact } from '../runtime/compact.js'
import type { CallOptions, MessageContent } from '../client/message.js'
import type { RunOptions, RunResult, RunUpdate } from '../client/run/run-types.js'
import type { RemoteTask } from '../wire/client/dialect.js'
import { answersIn, awaitedOthersOf } from '../wire/question/questions.js'
import type { Reply } from './reply.js'
import { isWaiting } from './request.js'
import type { ChatClient } from './chat-client.js'

/** Runs a message in this context. Some agents choose the ids of contexts themselves: a wish may be refused. */
export async function runInContext(
  agent: ChatClient,
  message: MessageContent,
  context: string | { readonly wished: string },
  options: RunOptions,
): Promise<RunResult> {
  const run = async (contextId: string | undefined): Promise<RunResult> =>
    await agent.run({ ...message, ...compact({ contextId }) }, options)
  if (typeof context === 'string') return await run(context)
  const result = await run(context.wished)
  return isContextRefused(result) ? await run(undefined) : result
}

function isContextRefused(result: RunResult): boolean {
  if (result.type !== 'error' || result.task !== undefined) return false
  return ['INVALID_PARAMS', 'TASK_NOT_FOUND'].includes(result.error.code)
}

/**
 * Shows what a task has done since this message of the user, by the log of its events if the agent has one, and goes on until
 * the task ends or waits. Without the message, it shows all.
 */
export async function replay(
  agent: ChatClient,
  task: RemoteTask,
  message: Message | undefined,
  reply: Reply,
  options: CallOptions,
): Promise<RunResult> {
  const said = task.messages.filter(({ role }) => role === 'user')
  const first = said.findIndex(({ messageId }) => messageId === message?.messageId)
  const answers = new Map(said.flatMap((each) => [...(answersIn(each) ?? [])]))
  try {
    // Each message of the user but the first has answered the agent.
    let waits = 0
    for await (const event of agent.subscribe(task.id, { ...options, lastEventId: '0' })) {
      if (event.type !== 'task' && waits < first) reply.skip(event)
      else reply.event(event)
      if (event.type !== 'status') continue
      if (isWaiting(event.state) && (waits += 1) > first && awaitedOthersOf(event) === undefined)
        reply.answered(event.message, answers)
      if (isTerminal(event.state) || waits >= said.length) break
    }
  } catch {
    // An agent without streams, or a stream that broke.
  }
  const onUpdate = ({ event }: RunUpdate): void => reply.event(event)
  const messageId = message?.messageId ?? task.id
  return await agent.resume({ messageId, taskId: task.id }, { ...options, onUpdate })
}
