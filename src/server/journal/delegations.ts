/**
 * Delegations of a run: tasks of other agents that the journal of the task keeps.
 *
 * @module
 */
import { isTaskEnd } from '../../core/errors.js'
import { copyJson } from '../../core/json.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { DeepReadonly, Part, TaskSnapshot } from '../../core/task.js'
import { observed, onAbort } from '../../runtime/abort.js'
import { readOptions, requireBoolean, requireFunctions, requireMethods } from '../../runtime/options.js'
import { agentIdOf, withLineage, type Lineage, type LineageSource } from '../../core/lineage/mark.js'
import { Follower, isOver, type FollowerOutcome, type Leg } from '../../remote/follower.js'
import type { RunHandle, Runner } from '../../remote/runner.js'
import type { NamedEntry } from '../../core/history/named-entry.js'
import type { Journal } from './journal.js'
import type {
  AnswerOf,
  DelegatedMessage,
  DelegateOptions,
  DelegationAgent,
  DelegationResult,
} from './call-types.js'
import { requireName } from './names.js'
import type { OpenDelegation, OpenDelegations } from './open-delegations.js'

interface Asked {
  readonly parts: readonly DeepReadonly<Part>[]
}

/** What delegations use of their run. */
export interface DelegationHost {
  readonly journal: Journal
  readonly lineageTo: LineageSource['lineageTo']
  readonly limits: { readonly maxStepBytes: number; readonly maxDepth: number }
  /** Also once this process has let go of the task. */
  readonly taskId: () => string
  /** The id of the message of a delegation. */
  readonly messageId: (label: string) => string
  readonly work: () => void
  /** Marks the task while it waits for other agents. */
  readonly marks: OpenDelegations
  /** The agents' tasks that are followed now. */
  readonly followers: Set<Follower>
  readonly peek: (id: string) => TaskSnapshot | null
  readonly signal: () => AbortSignal
  /** Resolves when everything so far is stored. */
  readonly stored: () => Promise<void> | undefined
  readonly ask: (prompt: string) => Promise<Asked>
}

/** See `Run.delegate`. */
export function delegate(
  host: DelegationHost,
  name: string,
  agent: DelegationAgent,
  message: DelegatedMessage,
  options: DelegateOptions,
): Promise<DelegationResult> {
  return observed(follow(host, name, agent, message, options))
}

async function follow(
  ...[host, name, agent, message, options]: Parameters<typeof delegate>
): Promise<DelegationResult> {
  requireName('delegation', name)
  requireMethods('agent', agent, ['run'])
  const { onInputRequired, mayRepeat = false } = readOptions(
    options,
    ['onInputRequired', 'mayRepeat'],
    'run.delegate',
  )
  requireFunctions(options, ['onInputRequired'])
  requireBoolean('mayRepeat', mayRepeat)
  const answerTo = onInputRequired ?? (async ({ text }) => partsOf(await host.ask(text)))
  const agentId = agentIdOf(agent.card)
  const lineage = host.lineageTo(agentId, { mayRepeat })
  // The client checks what it is given. Its types are those of another folder.
  const runner = agent
  let next: object = withMetadata(message, lineage)
  let asked: AskedBy | undefined
  const open = host.marks.open()
  for (;;) {
    const result = await runLeg(host, name, runner, next, open, asked)
    if (result.type !== 'input-required') {
      open.close()
      return result
    }
    // The agent that asks has a task.
    const task = result.task as Pick<AskedBy, 'id' | 'contextId'>
    asked = { ...task, by: host.taskId() }
    const { id: taskId, contextId } = asked
    const answer = await answered(host, result, answerTo, asked, runner, open)
    if (answer === undefined) {
      open.close()
      return result
    }
    next = {
      ...withMetadata(answer, lineage),
      taskId,
      ...(contextId !== undefined && { contextId }),
    }
  }
}

/** The agent's task that waits for an answer of the task `by`. */
interface AskedBy {
  readonly id: string
  readonly contextId?: string
  readonly by: string
}

/** The answer to a question of the agent. When the task ends before, the agent's task is canceled. */
async function answered(
  host: DelegationHost,
  question: DelegationResult,
  answerTo: (question: DelegationResult) => AnswerOf | Promise<AnswerOf>,
  asked: AskedBy,
  ...where: WaitingAt
): Promise<AnswerOf> {
  try {
    return await answerTo(question)
  } catch (error) {
    await cancelWaiting(host, asked, ...where)
    throw error
  }
}

type WaitingAt = readonly [runner: Runner, open: OpenDelegation]

/** Cancels the agent's task that waits for an answer, if the task that would answer has ended. */
async function cancelWaiting(
  host: DelegationHost,
  asked: AskedBy,
  ...[runner, open]: WaitingAt
): Promise<void> {
  const signal = host.signal()
  if (!signal.aborted || !hasEnded(host, asked.by, signal)) return
  await open.mark()
  const { id: taskId, contextId } = asked
  const known = { messageId: taskId, taskId, ...(contextId !== undefined && { contextId }) }
  const message = { parts: [{ text: '' }], messageId: taskId }
  const { maxStepBytes: maxBytes, maxDepth } = host.limits
  const leg: Leg = {
    agent: agentIdOf(runner.card),
    runner,
    message,
    label: taskId,
    known,
    isFollowed: true,
    maxBytes,
    maxDepth,
  }
  if (isOver(await Follower.cancel(leg, signal.reason))) open.close()
}

/** A task that has ended begins nothing new, and answers nothing. */
async function refuse(host: DelegationHost, asked: AskedBy | undefined, ...where: WaitingAt): Promise<void> {
  if (asked !== undefined) await cancelWaiting(host, asked, ...where)
  host.signal().throwIfAborted()
}

/** One message to the agent, and what comes of it until the agent's task ends or waits. */
async function runLeg(
  host: DelegationHost,
  name: string,
  runner: Runner,
  message: object,
  open: OpenDelegation,
  asked: AskedBy | undefined,
): Promise<DelegationResult> {
  const { journal, followers } = host
  if (host.signal().aborted && !journal.isReplaying) await refuse(host, asked, runner, open)
  host.work()
  const label = journal.nameOf('delegate', name)
  const begun = journal.pass('delegate', label)
  const followed = journal.pass('handle', label)
  const recorded = await journal.next('delegated', label)
  // An earlier attempt recorded it.
  if (recorded !== undefined) return recorded.result as unknown as DelegationResult
  if (begun === undefined && host.signal().aborted) await refuse(host, asked, runner, open)
  const known = (followed ?? begun)?.handle as RunHandle | undefined
  const leg: Leg = {
    agent: agentIdOf(runner.card),
    ...{ runner, message: { ...message, messageId: host.messageId(label) }, label, known },
    ...{
      isFollowed: followed !== undefined,
      maxBytes: host.limits.maxStepBytes,
      maxDepth: host.limits.maxDepth,
    },
  }
  const record = (entry: NamedEntry): void => journal.record(entry, journal.inFlight - 1)
  let follower: Follower | undefined
  let unfollow = (): void => {}
  let leave = journal.enter()
  try {
    await open.mark()
    const outcome = await new Promise<FollowerOutcome>((settle) => {
      const end = (outcome: FollowerOutcome): void => {
        // The run waits no more, and stays in memory until the outcome is stored.
        if (follower !== undefined) followers.delete(follower)
        settle(outcome)
      }
      follower = new Follower(leg, { record, stored: host.stored, settle: end })
      followers.add(follower)
      // From now on the run waits for nothing but the agent.
      leave()
      leave = journal.enter()
      unfollow = endWith(follower, host, host.taskId())
    })
    if (host.signal().aborted && isOver(outcome)) open.close()
    // The run is over: what becomes of the agent's task is up to the next attempt of the turn.
    host.signal().throwIfAborted()
    if ('error' in outcome) throw outcome.error
    record({ kind: 'delegated', name: label, result: outcome.result })
    await host.stored()
    return outcome.result as unknown as DelegationResult
  } finally {
    unfollow()
    leave()
  }
}

/**
 * Cancels the agent's task when the task has ended, and stops following it when this process lets go of the task.
 *
 * @returns A function that ends the connection.
 */
function endWith(follower: Follower, host: DelegationHost, id: string): () => void {
  const signal = host.signal()
  return onAbort(signal, () => {
    if (hasEnded(host, id, signal)) follower.cancel(signal.reason)
    else follower.stop(signal.reason)
  })
}

/** Whether the task has ended, and not only this process has let go of it. */
function hasEnded({ peek }: DelegationHost, id: string, { reason }: AbortSignal): boolean {
  const task = peek(id)
  return (task !== null && isTerminal(task.state)) || isTaskEnd(reason)
}

function withMetadata(message: DelegatedMessage, lineage: Lineage): object {
  return withLineage(typeof message === 'string' ? { parts: [{ text: message }] } : message, lineage)
}

function partsOf({ parts }: Asked): DelegatedMessage {
  // Messages of the conversation are frozen: the client gets its own copy.
  return { parts: copyJson(parts) as Part[] }
}
