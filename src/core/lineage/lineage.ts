/**
 * Lineage of a message: the tasks and agents that have led to it, in the metadata of the message.
 *
 * @module
 */
import { A2AError } from '../errors.js'
import { amountsOf, MAX_UNITS } from '../spending.js'
import { LINEAGE, type Lineage, type LineageCarrier, type LineageSource } from './mark.js'

/** The default of `limits.maxDelegationDepth`. */
export const MAX_DEPTH = 8

type LineageFields = Partial<Record<keyof Lineage, unknown>>

/** The lineage of a received message; `undefined` where it has none, or not a valid one. */
export function readLineage(metadata: object | undefined): Lineage | undefined {
  const given: unknown = metadata && Reflect.get(metadata, LINEAGE)
  if (typeof given !== 'object' || given === null) return undefined
  const { parentTaskId, rootTaskId, depth, path, deadline, ...others } = given as LineageFields
  if (typeof parentTaskId !== 'string' || typeof rootTaskId !== 'string') return undefined
  if (typeof depth !== 'number' || !Number.isInteger(depth) || depth < 1 || !Array.isArray(path))
    return undefined
  const agents = path.filter((agent) => typeof agent === 'string')
  const until = typeof deadline === 'string' ? Date.parse(deadline) : NaN
  const isLimited = !Number.isNaN(until)
  const budget = amountsOf(others.budget)
  const isSmall = budget !== undefined && Object.keys(budget).length <= MAX_UNITS
  const lineage = { parentTaskId, rootTaskId, depth, path: agents, ...(isSmall && { budget }) }
  return isLimited ? { ...lineage, deadline: new Date(until).toISOString() } : lineage
}

/** The work that sends a message. */
interface Sender {
  readonly taskId: string
  /** What the message that began the work says. */
  readonly received: Lineage | undefined
  /** The agent that does the work, if it is known. */
  readonly own?: string | undefined
  /** In ms since 1970. Default is that of `received`. */
  readonly deadline?: number | undefined
}

/**
 * The lineage of a message to `agent`.
 *
 * @throws {A2AError} `LIMIT_EXCEEDED` for a chain of more than `maxDepth` delegations; `UNSUPPORTED_OPERATION` for an agent that
 *   is on the path already, unless `mayRepeat`.
 */
export function nextLineage(
  { taskId, received, own, deadline: ms }: Sender,
  agent: string,
  { maxDepth, mayRepeat }: { readonly maxDepth: number; readonly mayRepeat: boolean },
): Lineage {
  const depth = (received?.depth ?? 0) + 1
  const path = [...(received?.path ?? []), ...(own === undefined ? [] : [own])]
  if (depth > maxDepth) {
    throw new A2AError(
      'LIMIT_EXCEEDED',
      `Delegations (${depth}) exceed limits.maxDelegationDepth (${maxDepth})`,
      { limit: 'limits.maxDelegationDepth', max: maxDepth, actual: depth },
    )
  }
  if (path.includes(agent) && !mayRepeat) {
    const text = `The agent ${agent} has led to this task already: allow it by "mayRepeat"`
    throw new A2AError('UNSUPPORTED_OPERATION', text, { operation: 'lineageTo' })
  }
  const rootTaskId = received?.rootTaskId ?? taskId
  return { parentTaskId: taskId, rootTaskId, depth, path, ...limitsOf(received, ms) }
}

/** The time and the amounts that the message leaves for the work. */
function limitsOf(
  received: Lineage | undefined,
  ms: number | undefined,
): Pick<Lineage, 'deadline' | 'budget'> {
  const deadline = ms === undefined ? received?.deadline : new Date(ms).toISOString()
  const budget = received?.budget
  return { ...(deadline !== undefined && { deadline }), ...(budget !== undefined && { budget }) }
}

/** The lineage of the message that has begun a task, by its conversation. */
export function lineageOf({
  messages,
}: {
  readonly messages: readonly (LineageCarrier & { readonly role: string })[]
}): Lineage | undefined {
  const first = messages.find(({ role }) => role === 'user')
  return readLineage(first?.metadata)
}

/** The lineage of messages for a task that is delegated as a whole, without a run. */
export function lineageOfTask(taskId: string, received: Lineage | undefined): LineageSource {
  return {
    lineageTo: (agent, { mayRepeat = false } = {}) =>
      nextLineage({ taskId, received }, agent, { maxDepth: MAX_DEPTH, mayRepeat }),
  }
}
