/**
 * The end of a run whose executor has returned: its result becomes the task's.
 *
 * @module
 */
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import { describe } from '../../runtime/describe.js'
import type { GenerateId } from '../../runtime/ids.js'
import type { ActiveRun } from './active-run.js'
import type { Outcome } from '../options.js'
import type { MessageQueues } from './message-queue.js'
import type { Run } from './run.js'
import type { RunController } from './run-controller.js'
import { isPromise } from '../tasks.js'
import type { Principal } from '../caller.js'

/**
 * Completes the task, unless it is terminal, waits for the user, or has messages that wait for another run.
 *
 * @throws {TypeError} As a rejection, when the executor returned neither a text, nor texts, nor nothing.
 */
export async function finish<P extends Principal>(
  active: ActiveRun<P>,
  outcome: Outcome,
  queues: MessageQueues<P>,
  generateId: GenerateId,
): Promise<void> {
  const { run } = active
  if (typeof outcome === 'string') {
    if (run.replied !== undefined)
      throw new TypeError('execute() returned a text, and replied: do one of the two')
    requeueUnread(active, queues)
    if (!(await complete(run, queues, outcome))) run.artifact(outcome)
    return
  }
  if (outcome !== undefined) await streamTexts(run, outcome, generateId())
  await run.replied
  if (run.hasReplied) return
  requeueUnread(active, queues)
  const { state } = run.task
  const isDone = isTerminal(state) || (outcome === undefined && isInterrupted(state))
  if (!isDone) await complete(run, queues)
}

/** Puts unread answers before the messages that wait, and unread steered messages after them. The run reads no more. */
export function requeueUnread<P extends Principal>(active: ActiveRun<P>, queues: MessageQueues<P>): void {
  active.hasReturned = true
  const { run, steered } = active
  const unread = run.removeUnread()
  if (run.taskId === undefined) return
  queues.unshift(run.taskId, unread)
  for (const message of steered) queues.push(run.taskId, message)
  steered.clear()
}

/** `false` when a message waits for another run. */
async function complete<P extends Principal>(
  run: RunController<P>,
  queues: MessageQueues<P>,
  text?: string,
): Promise<boolean> {
  for (;;) {
    if (run.taskId !== undefined && queues.has(run.taskId)) return false
    const finished = run.finish(text)
    if (isPromise(finished) ? await finished : finished) return true
  }
}

/**
 * Appends texts to one artifact as they arrive.
 *
 * @throws {TypeError} As a rejection, when the elements are not texts; what the iterable throws; what the run throws once
 *   its task has ended. The iterable is closed in every case.
 */
async function streamTexts(run: Pick<Run, 'artifact'>, texts: unknown, artifactId: string): Promise<void> {
  if (typeof texts !== 'object' || texts === null || !(Symbol.asyncIterator in texts)) {
    throw new TypeError(
      `execute() must return a string, an async iterable of strings, or nothing, got ${describe(texts)}`,
    )
  }
  for await (const text of withResult(texts as AsyncIterable<unknown, unknown>)) {
    if (typeof text !== 'string') throw new TypeError(`execute() must yield strings, got ${describe(text)}`)
    run.artifact({ artifactId, parts: [{ text }] })
  }
}

/** The elements of `texts`, and its return value: a generator may return its last text instead of yielding it. */
export async function* withResult(
  texts: AsyncIterable<unknown, unknown>,
): AsyncGenerator<unknown, undefined> {
  const iterator = texts[Symbol.asyncIterator]()
  let isDone = false
  try {
    while (!isDone) {
      // An iterator that throws is done: it must not be closed.
      isDone = true
      const result = await iterator.next()
      isDone = result.done ?? false
      if (!isDone || result.value !== undefined) yield result.value
    }
  } finally {
    if (!isDone) await iterator.return?.()
  }
}
