/**
 * One turn of a delegated task at its agent: from the task, or an answer of the user, to the end or the next question.
 *
 * @module
 */
import { onAbort } from '../../runtime/abort.js'
import type { JsonValue } from '../../core/json-types.js'
import { lineageOf, lineageOfTask } from '../../core/lineage/lineage.js'
import type { Part, TaskSnapshot } from '../../core/task.js'
import type { MessageContent } from '../message.js'
import { RunAbandoned } from '../run/run-errors.js'
import type { RunOptions, RunResult, RunUpdate, TaskRunner } from '../run/run-types.js'
import type { RunHandle } from '../../remote/runner.js'
import { LocalCopy, replicateRun, TaskReplicator } from './local-copy.js'
import type { AgentReference, DelegatedTask, Position } from './positions.js'

/** What a turn does first: it sends a message, perhaps once more, or follows a task. */
type Step =
  | { readonly message: MessageContent; readonly repeats?: RunHandle; readonly answerId?: string | undefined }
  | { readonly message?: undefined; readonly handle: RunHandle; readonly answerId?: string | undefined }

/** Sends what the agent does not have yet, or resumes, and applies the agent's task to the local one. */
export async function runTurn(
  delegated: DelegatedTask,
  task: TaskSnapshot,
  client: TaskRunner,
  agent: AgentReference,
  options: RunOptions,
): Promise<RunResult> {
  const { id, tasks, position } = delegated
  const last = position !== undefined && isSame(position.agent, agent) ? position : undefined
  const step = nextStep(task, last)
  const { answerId } = step
  let isUnconfirmed = step.message !== undefined
  const save = (handle: RunHandle): Promise<void> => {
    const { messageId } = last?.handle ?? handle
    return delegated.save({
      agent,
      handle: { ...handle, messageId },
      ...(answerId !== undefined && { answerId }),
      ...(isUnconfirmed && { isUnconfirmed }),
    })
  }
  const onStart = async (handle: RunHandle): Promise<void> => {
    await save(handle)
    if (answerId !== undefined) new LocalCopy(tasks, id).goOn()
    await options.onStart?.(handle)
  }
  const onUpdate = (update: RunUpdate): void => {
    if (isUnconfirmed) {
      isUnconfirmed = false
      // The next position is stored when the turn is over. Until then the earlier one finds the task.
      save(update.handle).catch(() => undefined)
    }
    return options.onUpdate?.(update)
  }
  // The delegated task is the parent of the agent's.
  const lineage = options.lineage ?? lineageOfTask(task.id, lineageOf(task))
  const result = await follow(delegated, client, { ...options, lineage, onStart, onUpdate }, (runOptions) =>
    step.message === undefined
      ? client.resume(step.handle, runOptions)
      : client.run(step.message, { ...runOptions, repeats: step.repeats }),
  )
  if (delegated.signal.reason instanceof RunAbandoned) return result
  const stored = 'handle' in result ? save(result.handle) : delegated.forget()
  // The result counts, and the earlier position finds the task.
  await stored.catch(() => undefined)
  return result
}

async function follow(
  { id, tasks, signal: ended }: DelegatedTask,
  client: TaskRunner,
  options: RunOptions,
  run: (options: RunOptions) => Promise<RunResult>,
): Promise<RunResult> {
  const replica = new TaskReplicator(tasks, client.card.name).startCall(undefined, { localId: id })
  const controller = new AbortController()
  const ignored = [ended, options.signal].map((signal) =>
    onAbort(signal, () => controller.abort(signal?.reason)),
  )
  try {
    return await replicateRun(replica, { ...options, signal: controller.signal }, run)
  } finally {
    for (const ignore of ignored) ignore()
  }
}

function nextStep(task: TaskSnapshot, last: Position | undefined): Step {
  if (last === undefined) return { message: toContent(task) }
  const { handle, answerId, isUnconfirmed } = last
  if (isUnconfirmed === true) {
    const { messageId } = handle
    const answer = answerId === undefined ? undefined : answerOf(task, answerId, handle)
    return { message: answer ?? { ...toContent(task), messageId }, repeats: handle, answerId }
  }
  const answer = task.state === 'input-required' ? task.messages.at(-1) : undefined
  return answer?.role === 'user' && answer.messageId !== answerId
    ? { message: toAnswer(answer, handle), answerId: answer.messageId }
    : { handle, answerId }
}

/** The message that starts the remote task: the local input, else the skill. The local metadata is not sent. */
function toContent({ input, skill }: TaskSnapshot): MessageContent {
  const given = input ?? skill
  // Copied, because snapshots are frozen.
  const part: Part =
    typeof given === 'string' ? { text: given } : { data: structuredClone(given) as JsonValue }
  return { parts: [part], metadata: { skill } }
}

function answerOf({ messages }: TaskSnapshot, id: string, handle: RunHandle): MessageContent | undefined {
  const answer = messages.find(({ messageId, role }) => messageId === id && role === 'user')
  return answer && toAnswer(answer, handle)
}

function toAnswer(
  { messageId, parts }: TaskSnapshot['messages'][number],
  { taskId, contextId }: RunHandle,
): MessageContent {
  return { messageId, parts: structuredClone(parts) as Part[], taskId, contextId }
}

function isSame(one: AgentReference, other: AgentReference): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
