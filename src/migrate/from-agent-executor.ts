/**
 * The adapter: an executor of `@a2a-js/sdk` as the `execute` of a handler.
 *
 * @module
 */
import { onAbort } from '../runtime/abort.js'
import { A2AError } from '../core/errors.js'
import { readOptions, requireFunctions, requireMethods, requireOneOf } from '../runtime/options.js'
import { emitWarning, reportError } from '../runtime/report.js'
import type { Principal } from '../server/caller.js'
import type { Execute } from '../server/execute.js'
import type { Run } from '../server/run/run.js'
import type { AgentExecutorLike, FromAgentExecutorOptions, Ignored, SdkVersion } from './agent-executor.js'
import { EventBus } from './event-bus.js'
import { requestContext, taskBefore } from './request-context.js'
import { Turn } from './turn.js'

/** An executor with the parameters that it is called with. */
interface Callable {
  execute(requestContext: object, eventBus: EventBus): Promise<void>
  cancelTask(taskId: string, eventBus: EventBus): Promise<void>
}

/**
 * Turns an `AgentExecutor` of `@a2a-js/sdk`, without changes to it, into the `execute` of `createRequestHandler`.
 *
 * - Each message begins one call of the executor's `execute`. Each published event changes the task at once.
 * - A refused event ends the turn: the task fails, and `onError` of the handler receives the error. Refused are the id of
 *   another task, an invalid object, an illegal transition, and a value above a limit.
 * - `cancelTask` is called when the client cancels the task, when the task times out, and when the handler closes. The task
 *   is canceled whatever `cancelTask` does.
 *
 * @throws {TypeError} for an object that is not an executor, and for an unknown or invalid option.
 * @example
 * createRequestHandler({ card, execute: fromAgentExecutor(new HelloExecutor()) })
 */
export function fromAgentExecutor<P extends Principal = Principal>(
  executor: AgentExecutorLike,
  options: FromAgentExecutorOptions = {},
): Execute<P> {
  requireMethods(
    'executor',
    executor,
    ['execute', 'cancelTask'],
    'be an AgentExecutor of @a2a-js/sdk, with execute() and cancelTask()',
  )
  const { version = '1.0', onIgnored = warnOnce() } = readOptions(
    options,
    ['version', 'onIgnored'],
    'fromAgentExecutor',
  )
  requireOneOf('version', version, ['1.0', '0.3'])
  requireFunctions({ onIgnored }, ['onIgnored'])
  const callable: Callable = executor
  return (run) => takeTurn(callable, run, version, guarded(onIgnored))
}

async function takeTurn(
  executor: Callable,
  run: Run,
  version: SdkVersion,
  onIgnored: (ignored: Ignored) => void,
): Promise<void> {
  const { signal, taskId } = run
  // A listener of the turn's begin may have canceled the task.
  signal.throwIfAborted()
  const ignore = (ignored: Omit<Ignored, 'taskId'>): void => onIgnored({ taskId, ...ignored })
  const before = taskBefore(run)
  const turn = new Turn(run, version, before, ignore)
  const bus = new EventBus(turn)
  const cancel = async (): Promise<void> => {
    try {
      await executor.cancelTask(taskId, bus)
    } catch (error) {
      ignore({ reason: 'error', error })
    }
    turn.fail(signal.reason)
  }
  let isOver = false
  onAbort(signal, () => {
    const isCanceled = A2AError.is(signal.reason, 'TASK_CANCELED')
    if (turn.hasCanceled) turn.fail(signal.reason)
    else if (!isOver || (isCanceled && turn.isWaiting)) void cancel()
  })
  try {
    void callExecutor(executor, requestContext(run, version, before), bus, turn)
    await turn.ended
  } finally {
    isOver = true
  }
}

async function callExecutor(executor: Callable, context: object, bus: EventBus, turn: Turn): Promise<void> {
  try {
    await executor.execute(context, bus)
    turn.returned()
  } catch (error) {
    turn.fail(error)
  }
}

const TEXTS: Readonly<Record<Exclude<Ignored['reason'], 'error'>, string>> = {
  late: 'an event after the end of its turn is ignored',
  metadata: 'metadata of a task or an update is ignored: use the metadata of the message or the artifact',
  history: 'messages in the history of a task are ignored: use the message of a status',
}

/** The default of `onIgnored`. */
function warnOnce(): (ignored: Ignored) => void {
  const warned = new Set<string>()
  return ({ reason, taskId, error }) => {
    if (reason === 'error') {
      reportError(error, { during: 'AgentExecutor', taskId }, 'Pass "onIgnored" to handle it')
      return
    }
    if (warned.has(reason)) return
    warned.add(reason)
    emitWarning(`AgentExecutor, task ${taskId}: ${TEXTS[reason]}. Pass "onIgnored" to handle it`, '')
  }
}

/** Makes `onIgnored` unable to fail: what it throws becomes a warning. */
function guarded(onIgnored: (ignored: Ignored) => void): (ignored: Ignored) => void {
  return (ignored) => {
    try {
      onIgnored(ignored)
    } catch (error) {
      reportError(error, { during: 'onIgnored', taskId: ignored.taskId }, 'It must not throw')
    }
  }
}
