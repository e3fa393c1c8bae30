/**
 * Statements of commits, with their parameters.
 *
 * @module
 */
import { sizeOf, type Member } from '../../durable/groups.js'
import type { TaskKey } from '../../core/task.js'
import type { Commit } from '../../durable/task-store.js'
import type { Parameter } from './clients.js'
import type { TaskStatements } from './task-statements.js'
import { toArray, toColumn, toJson, toJsonArray } from './text.js'

interface Statement {
  readonly text: string
  readonly parameters: readonly Parameter[]
}

export function keyOf({ id, createdAt }: TaskKey): [string, string] {
  return [toColumn(id), createdAt]
}

/** A commit, with the texts of its events and of its checkpoint. */
export interface WrittenCommit extends Member {
  readonly change: Change
  readonly events: readonly string[]
  readonly checkpoint: string | undefined
}

type Change = Omit<Commit, 'events' | 'checkpoint'>

export function written({ events: given, checkpoint: whole, ...change }: Commit): WrittenCommit {
  const [events, checkpoint] = [given.map(toJson), whole && toJson(whole)]
  const size = sizeOf(events) + (checkpoint?.length ?? 0)
  return { taskId: change.key.id, commitId: change.commitId, size, change, events, checkpoint }
}

/** Carries out commits of different tasks. Its rows are the numbers of those that it has carried out, from 1. */
export function groupStatement(sql: TaskStatements, group: readonly WrittenCommit[]): Statement {
  const column = (textOf: (change: Change) => string | null): string =>
    toArray(group.map(({ change }) => textOf(change)))
  const numbered = group.map((commit, index) => ({ ...commit, number: `${index + 1}` }))
  const further = numbered.flatMap(({ number, change, events }) =>
    events.slice(1).map((json, index) => [number, `${change.expectedGeneration + 2 + index}`, json] as const),
  )
  const wholes = numbered.flatMap(({ number, checkpoint }) =>
    checkpoint === undefined ? [] : [[number, checkpoint] as const],
  )
  const parameters = [
    group.length,
    ...[column(({ key }) => toColumn(key.id)), column(({ key }) => key.createdAt)],
    ...[column((change) => `${change.expectedGeneration}`), column(({ head }) => `${head.generation}`)],
    ...[column(({ head }) => toColumn(head.state)), column(({ head }) => `${head.hasEnded}`)],
    ...[column(({ head }) => head.updatedAt), column(leaseOf), column(({ commitId }) => toColumn(commitId))],
    ...[column(expiresOf), toJsonArray(group.map(({ events }) => events[0] ?? ''))],
    ...[toArray(further.map(([number]) => number)), toArray(further.map(([, generation]) => generation))],
    toJsonArray(further.map(([, , json]) => json)),
  ]
  if (wholes.length === 0) return { text: sql.commitGroup, parameters }
  const checkpoints = [toArray(wholes.map(([number]) => number)), toJsonArray(wholes.map(([, json]) => json))]
  return { text: sql.commitGroupWhole, parameters: [...parameters, ...checkpoints] }
}

export function commitStatement(
  sql: TaskStatements,
  { change, events, checkpoint }: Pick<WrittenCommit, 'change' | 'events' | 'checkpoint'>,
): Statement {
  const { key, expectedGeneration, head } = change
  const [event] = events
  const isOne = event !== undefined && events.length === 1
  const parameters = [
    ...[...keyOf(key), expectedGeneration],
    ...[head.generation, toColumn(head.state), head.hasEnded, head.updatedAt],
    ...[leaseOf(change), toColumn(change.commitId)],
    ...[isOne ? event : toJsonArray(events), expiresOf(change)],
    ...(checkpoint === undefined ? [] : [checkpoint]),
  ]
  const texts = checkpoint !== undefined ? sql.commitWhole : sql.commit
  return { text: texts[isOne ? 'one' : 'many'], parameters }
}

/** Finds the reason for which a commit cannot be made. */
export function whyNotCommitted(sql: TaskStatements, change: Change): Statement {
  const { key, expectedGeneration, commitId } = change
  return {
    text: sql.whyNotCommitted,
    parameters: [...keyOf(key), expectedGeneration, toColumn(commitId), leaseOf(change)],
  }
}

function leaseOf({ leaseId }: Change): string | null {
  return leaseId === undefined ? null : toColumn(leaseId)
}

function expiresOf({ expires }: Change): string | null {
  return expires === undefined ? null : toColumn(expires)
}
