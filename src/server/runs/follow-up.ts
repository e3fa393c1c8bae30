/**
 * Messages to tasks that there are: whether they are taken, and what becomes of them.
 *
 * @module
 */
import { requireGeneration } from '../../core/decide.js'
import { A2AError, invalidParams } from '../../core/errors.js'
import { describe } from '../../runtime/describe.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { Message, TaskSnapshot } from '../../core/task.js'
import type { SendRequest } from '../../wire/dialect.js'
import { POLICIES, type FollowUpPolicy, type Settings } from '../options.js'

/**
 * @throws {A2AError} `TASK_GENERATION_MISMATCH`; `TASK_TERMINAL`; `INVALID_PARAMS` when it names another context than
 *   the task's.
 */
export function requireTaking(task: TaskSnapshot, { message, ifGeneration }: SendRequest): void {
  if (ifGeneration !== undefined) requireGeneration(task, ifGeneration)
  if (isTerminal(task.state)) throw noMore(task)
  if (message.contextId !== undefined && message.contextId !== task.contextId) {
    throw invalidParams(
      'message.contextId',
      'is not the context of this task: leave it out, or send the right one',
    )
  }
}

export function noMore({ id, state }: TaskSnapshot): A2AError<'TASK_TERMINAL'> {
  const text = `Cannot send a message to a task in terminal state: ${state}`
  return new A2AError('TASK_TERMINAL', text, { taskId: id, state })
}

/**
 * What becomes of a message to a task that is being worked on.
 *
 * @throws {A2AError} `UNSUPPORTED_OPERATION` where it is refused.
 * @throws {TypeError} when `onFollowUp` returns no policy.
 */
export function policyFor(
  onFollowUp: Settings['onFollowUp'],
  message: Message,
  task: TaskSnapshot,
): Exclude<FollowUpPolicy, 'reject'> {
  const policy = onFollowUp(message, task)
  if (!POLICIES.includes(policy)) {
    throw new TypeError(`onFollowUp() must return ${POLICIES.join(', ')}, got ${describe(policy)}`)
  }
  if (policy !== 'reject') return policy
  throw new A2AError('UNSUPPORTED_OPERATION', 'The task is being worked on and takes no message now', {
    operation: 'SendMessage',
  })
}
