/**
 * The end of a run whose executor has returned: its result becomes the task's.
 *
 * @module
 */
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import type { ActiveRun } from './active-run.js'
import type { Settings } from '../options.js'
import type { MessageQueues } from '../run/message-queue.js'
import {
  closeStream,
  isStream,
  outputsOf,
  refuseOutput,
  toContent,
  type Content,
  type Result,
  type ReadableLike,
} from '../run/output.js'
import type { RunController } from '../run/run-controller.js'
import { linesOf, refuseStream, type StandardSchema } from '../standard-schema.js'
import { isPromise } from '../tasks.js'
import type { Principal } from '../caller.js'

/**
 * Completes the task, unless it is terminal, waits for the user, or has messages that wait for another run.
 *
 * @throws {TypeError} As a rejection, when the executor returned something else than an `Outcome`, or what the schema refuses.
 */
export async function finish<P extends Principal>(
  active: ActiveRun<P>,
  outcome: unknown,
  queues: MessageQueues<P>,
  { output }: Pick<Settings, 'output'>,
): Promise<void> {
  const { run } = active
  if (!isStream(outcome)) run.turn.requireReplayed()
  const content = output === undefined ? returned(outcome) : await checked(run, outcome, output)
  if (content !== undefined) {
    if (run.replied !== undefined)
      throw new TypeError('execute() returned a result after run.reply(): do only one of the two')
    requireAwaited(run, outcome)
    requeueUnread(active, queues)
    await completeWith(run, queues, content)
    return
  }
  if (isStream(outcome)) await streamOutputs(run, outcome)
  run.turn.requireReplayed()
  await run.replied
  if (run.hasReplied) return
  requeueUnread(active, queues)
  const { state } = run.task
  if (!isTerminal(state) && !isInterrupted(state)) await complete(run, queues)
}

function returned(outcome: unknown): Content | undefined {
  if (outcome === undefined || isStream(outcome)) return undefined
  return toContent(outcome) ?? refuseOutput('return', outcome)
}

/** A result that the schema has checked; `undefined` where the run has ended its turn in another way. */
async function checked<P extends Principal>(
  run: RunController<P>,
  outcome: unknown,
  schema: StandardSchema,
): Promise<Content | undefined> {
  if (isStream(outcome)) {
    await closeStream(outcome)
    refuseStream()
  }
  const isWaiting = run.createdId !== undefined && !run.isTerminal && isInterrupted(run.task.state)
  const isOver = run.replied !== undefined || run.isTerminal || isWaiting
  return outcome === undefined && isOver ? undefined : await validOutput(schema, outcome)
}

/**
 * The content of a result that the schema accepts: the value that it returns, as data, or as text if it is a string.
 * `undefined` where this value is `undefined`.
 *
 * @throws {TypeError} As a rejection, naming the path of each issue, for a result that the schema refuses.
 */
async function validOutput(schema: StandardSchema, result: unknown): Promise<Content | undefined> {
  const checked = await schema['~standard'].validate(result)
  if (checked.issues !== undefined) {
    const { issues } = checked
    const got = result === undefined ? 'execute() returned nothing' : 'The result of execute()'
    const text = `${got}${result === undefined ? ', which' : ''} does not match "output": ${linesOf(issues)}`
    throw new TypeError(text, { cause: issues })
  }
  const { value } = checked
  if (value === undefined) return undefined
  return { type: 'part', part: typeof value === 'string' ? { text: value } : { data: value } }
}

/** Puts unread answers before the messages that wait, and unread steered messages after them. The run reads no more. */
export function requeueUnread<P extends Principal>(active: ActiveRun<P>, queues: MessageQueues<P>): void {
  active.hasReturned = true
  const { run, steered } = active
  const unread = run.turn.removeUnread()
  if (run.createdId === undefined) return
  queues.unshift(run.createdId, unread)
  for (const message of steered) queues.push(run.createdId, message)
  steered.clear()
}

async function completeWith<P extends Principal>(
  run: RunController<P>,
  queues: MessageQueues<P>,
  content: Content,
): Promise<void> {
  if (content.type === 'message') {
    const message = run.say(content.message)
    if (!(await complete(run, queues, { message }))) run.update({ message: content.message })
    return
  }
  const artifact = content.type === 'part' ? { parts: [content.part] } : content.artifact
  if (!(await complete(run, queues, { artifact }))) run.artifact(artifact)
}

/** `false` when a message waits for another run. */
async function complete<P extends Principal>(
  run: RunController<P>,
  queues: MessageQueues<P>,
  result: Result = {},
): Promise<boolean> {
  for (;;) {
    if (hasWaiting(run, queues)) return false
    const finished = run.finish(result)
    if (isPromise(finished) ? await finished : finished) return true
  }
}

function hasWaiting<P extends Principal>(run: RunController<P>, queues: MessageQueues<P>): boolean {
  return run.createdId !== undefined && queues.hasRequest(run.createdId)
}

/**
 * Adds outputs as they arrive. Texts, parts and data are appended to one artifact. A message becomes the status message.
 *
 * @throws {TypeError} As a rejection, for an element that is not an `Output`; what the stream throws; what the run throws
 *   once its task has ended. The stream is closed in every case.
 */
async function streamOutputs<P extends Principal>(
  run: RunController<P>,
  stream: AsyncIterable<unknown> | ReadableLike<unknown>,
): Promise<void> {
  const artifactId = run.turn.newArtifactId()
  for await (const output of outputsOf(stream)) {
    requireAwaited(run, output)
    const content = toContent(output) ?? refuseOutput('yield', output)
    if (content.type === 'part') run.artifact({ artifactId, parts: [content.part] })
    else if (content.type === 'artifact') run.artifact(content.artifact)
    else run.update({ message: content.message })
  }
}

/**
 * A promise of `requireInput()` in a template literal becomes this text.
 *
 * @throws {TypeError} when the run waits for an answer that the text should contain.
 */
function requireAwaited<P extends Principal>(run: RunController<P>, output: unknown): void {
  if (!run.turn.isAsking || typeof output !== 'string' || !output.includes('[object Promise]')) return
  throw new TypeError('execute() used the promise of run.requireInput() as a text: await it')
}
