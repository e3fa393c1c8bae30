/**
 * Delegations of a run: tasks of other agents that the journal of the task keeps.
 *
 * @module
 */
import { isTaskEnd } from '../../core/errors.js'
import { copyJson } from '../../core/json.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { DeepReadonly, Part } from '../../core/task.js'
import { observed, onAbort } from '../../runtime/abort.js'
import { readOptions, requireBoolean, requireFunctions, requireMethods } from '../../runtime/options.js'
import { readLineage } from '../../core/lineage/lineage.js'
import { agentIdOf, withLineage, type Lineage, type LineageCarrier } from '../../core/lineage/mark.js'
import { allSpent, spendingOf, type Amounts } from '../../core/spending.js'
import { endedEntry, Follower, isOver, type FollowerOutcome, type Leg } from '../../remote/follower.js'
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
import { OpenDelegations, type OpenDelegation } from './open-delegations.js'
import type { TurnPort } from './turn-port.js'
import type { TurnIds } from './writes/turn-ids.js'

/** The delegations of one turn. */
export class Delegations {
  readonly port: TurnPort
  readonly journal: Journal
  readonly ids: TurnIds
  /** The agents' tasks that are followed now. */
  readonly followers = new Set<Follower>()
  /** Mark the task while it waits for other agents. */
  readonly marks: OpenDelegations

  constructor(port: TurnPort, journal: Journal, ids: TurnIds) {
    this.port = port
    this.journal = journal
    this.ids = ids
    this.marks = new OpenDelegations(port)
  }

  /** See `Run.delegate`. */
  readonly delegate = (
    name: string,
    agent: DelegationAgent,
    message: DelegatedMessage,
    options: DelegateOptions = {},
  ): Promise<DelegationResult> => observed(follow(this, name, agent, message, options))
}

/** Sends the message, and answers the agent's questions, until the agent's task ends or no answer comes. */
async function follow(
  turn: Delegations,
  name: string,
  agent: DelegationAgent,
  message: DelegatedMessage,
  options: DelegateOptions,
): Promise<DelegationResult> {
  const { port } = turn
  requireName('delegation', name)
  requireMethods('agent', agent, ['run'])
  const { onInputRequired, mayRepeat = false } = readOptions(
    options,
    ['onInputRequired', 'mayRepeat'],
    'run.delegate',
  )
  requireFunctions(options, ['onInputRequired'])
  requireBoolean('mayRepeat', mayRepeat)
  turn.journal.scopes.requireOutside('delegate')
  const answerTo = onInputRequired ?? (async ({ text }) => partsOf(await port.ask(text)))
  const agentId = agentIdOf(agent.card)
  const lineage = port.lineageTo(agentId, { mayRepeat })
  // The client checks what it is given. Its types are those of another folder.
  const runner = agent
  let next: object = withMetadata(message, lineage)
  let asked: AskedBy | undefined
  const open = turn.marks.open()
  for (;;) {
    const result = await runLeg(turn, name, runner, next, open, asked)
    if (result.type !== 'input-required') {
      open.close()
      return result
    }
    // The agent that asks has a task.
    const task = result.task as Pick<AskedBy, 'id' | 'contextId'>
    asked = { ...task, by: port.taskId(), spent: allSpent(spendingOf(result.task as object)) }
    const { id: taskId, contextId } = asked
    const answer = await answered(port, result, answerTo, asked, runner, open)
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
  /** What the agent's task has spent so far. */
  readonly spent: Amounts
}

/** The answer to a question of the agent. When the task ends before, the agent's task is canceled. */
async function answered(
  port: TurnPort,
  question: DelegationResult,
  answerTo: (question: DelegationResult) => AnswerOf | Promise<AnswerOf>,
  asked: AskedBy,
  ...where: WaitingAt
): Promise<AnswerOf> {
  try {
    return await answerTo(question)
  } catch (error) {
    await cancelWaiting(port, asked, ...where)
    throw error
  }
}

type WaitingAt = readonly [runner: Runner, open: OpenDelegation]

/** Cancels the agent's task that waits for an answer, if the task that would answer has ended. */
async function cancelWaiting(port: TurnPort, asked: AskedBy, ...[runner, open]: WaitingAt): Promise<void> {
  const signal = port.signal()
  if (!signal.aborted || !hasEnded(port, asked.by, signal)) return
  await open.mark()
  const { id: taskId, contextId } = asked
  const known = { messageId: taskId, taskId, ...(contextId !== undefined && { contextId }) }
  const message = { parts: [{ text: '' }], messageId: taskId }
  const { maxStepBytes: maxBytes, maxDepth } = port.settings.limits
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
async function refuse(port: TurnPort, asked: AskedBy | undefined, ...where: WaitingAt): Promise<void> {
  if (asked !== undefined) await cancelWaiting(port, asked, ...where)
  port.signal().throwIfAborted()
}

/** One message to the agent, and what comes of it until the agent's task ends or waits. */
async function runLeg(
  turn: Delegations,
  name: string,
  runner: Runner,
  message: object,
  open: OpenDelegation,
  asked: AskedBy | undefined,
): Promise<DelegationResult> {
  const { port, journal, followers } = turn
  if (port.signal().aborted && !journal.isReplaying) await refuse(port, asked, runner, open)
  port.work()
  const label = journal.nameOf('delegate', name)
  const begun = journal.pass('delegate', label)
  const followed = journal.pass('handle', label)
  const recorded = await journal.next('delegated', label)
  // An earlier attempt recorded it.
  if (recorded !== undefined) return recorded.result as unknown as DelegationResult
  if (begun === undefined && port.signal().aborted) await refuse(port, asked, runner, open)
  const known = (followed ?? begun)?.handle as RunHandle | undefined
  const record = (entry: NamedEntry): void => journal.record(entry, journal.inFlight - 1)
  let follower: Follower | undefined
  let unfollow = (): void => {}
  let leave = journal.enter()
  try {
    const budget = await budgetOf(port, begun)
    const leg: Leg = {
      agent: agentIdOf(runner.card),
      ...{ runner, message: sent(message, turn.ids.ofDelegation(label), budget), label, known },
      ...{
        isFollowed: followed !== undefined,
        maxBytes: port.settings.limits.maxStepBytes,
        maxDepth: port.settings.limits.maxDepth,
        counted: countedOf(budget, asked),
      },
    }
    const recordLeg = recordWith(budget, record)
    await open.mark()
    const outcome = await new Promise<FollowerOutcome>((settle) => {
      const end = (outcome: FollowerOutcome): void => {
        // The run waits no more, and stays in memory until the outcome is stored.
        if (follower !== undefined) followers.delete(follower)
        settle(outcome)
      }
      follower = new Follower(leg, { record: recordLeg, stored: port.stored, settle: end })
      followers.add(follower)
      // From now on the run waits for nothing but the agent.
      leave()
      leave = journal.enter()
      unfollow = endWith(follower, port)
    })
    if (port.signal().aborted && isOver(outcome)) open.close()
    // The run is over: what becomes of the agent's task is up to the next attempt of the turn.
    port.signal().throwIfAborted()
    if ('error' in outcome) throw outcome.error
    const entry = endedEntry(leg, outcome.result)
    record(entry)
    if (entry.kind === 'delegated') port.budget()?.spent(entry.spent ?? {})
    await port.stored()
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
function endWith(follower: Follower, port: TurnPort): () => void {
  const signal = port.signal()
  const id = port.taskId()
  return onAbort(signal, () => {
    if (hasEnded(port, id, signal)) follower.cancel(signal.reason)
    else follower.stop(signal.reason)
  })
}

/** Whether the task has ended, and not only this process has let go of it. */
function hasEnded({ tasks }: TurnPort, id: string, { reason }: AbortSignal): boolean {
  const task = tasks.peekTask(id)
  return (task !== null && isTerminal(task.state)) || isTaskEnd(reason)
}

/** What is left of the budget for the message, which is the same however often it is sent. */
async function budgetOf(
  port: TurnPort,
  begun: { readonly budget?: Amounts | undefined } | undefined,
): Promise<Amounts | undefined> {
  if (begun !== undefined) return begun.budget
  const budget = port.budget()
  await budget?.pass()
  return budget?.left
}

/** Records the entry `delegate` with the budget. */
function recordWith(
  budget: Amounts | undefined,
  record: (entry: NamedEntry) => void,
): (entry: NamedEntry) => void {
  if (budget === undefined) return record
  return (entry) => record(entry.kind === 'delegate' ? { ...entry, budget } : entry)
}

/** The message with its id, and with what is left of the budget in its lineage. */
function sent(message: object, messageId: string, budget: Amounts | undefined): object {
  const named: LineageCarrier & { readonly messageId: string } = { ...message, messageId }
  const lineage = readLineage(named.metadata)
  return budget === undefined || lineage === undefined ? named : withLineage(named, { ...lineage, budget })
}

/** What the agent's task had spent before in each unit of the budget. */
function countedOf(budget: Amounts | undefined, asked: AskedBy | undefined): Amounts | undefined {
  return budget && Object.fromEntries(Object.keys(budget).map((unit) => [unit, asked?.spent[unit] ?? 0]))
}

function withMetadata(message: DelegatedMessage, lineage: Lineage): object {
  return withLineage(typeof message === 'string' ? { parts: [{ text: message }] } : message, lineage)
}

function partsOf({ parts }: { readonly parts: readonly DeepReadonly<Part>[] }): DelegatedMessage {
  // Messages of the conversation are frozen: the client gets its own copy.
  return { parts: copyJson(parts) as Part[] }
}
