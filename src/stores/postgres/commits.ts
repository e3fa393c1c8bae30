/**
 * Statements of commits, with their parameters.
 *
 * @module
 */
import type { StoredEvent } from '../../durable/stored-events.js'
import type { TaskKey } from '../../core/task.js'
import type { Commit } from '../../durable/task-store.js'
import type { Parameter } from './clients.js'
import type { TaskStatements } from './task-statements.js'
import { toColumn, toJson, toJsonArray } from './text.js'

interface Statement {
  readonly text: string
  readonly parameters: readonly Parameter[]
}

export function keyOf({ id, createdAt }: TaskKey): [string, string] {
  return [toColumn(id), createdAt]
}

export function commitStatement(
  sql: TaskStatements,
  commit: Omit<Commit, 'events'>,
  given: readonly StoredEvent[],
): Statement {
  const { key, expectedGeneration, head, checkpoint } = commit
  const events = given.map(toJson)
  const [event] = events
  const isOne = event !== undefined && events.length === 1
  const parameters = [
    ...[...keyOf(key), expectedGeneration],
    ...[head.generation, toColumn(head.state), head.hasEnded, head.updatedAt],
    ...[leaseOf(commit), toColumn(commit.commitId)],
    isOne ? event : toJsonArray(events),
    commit.expires === undefined ? null : toColumn(commit.expires),
    ...(checkpoint ? [toJson(checkpoint)] : []),
  ]
  const texts = checkpoint ? sql.commitWhole : sql.commit
  return { text: texts[isOne ? 'one' : 'many'], parameters }
}

/** Finds the reason for which a commit cannot be made. */
export function whyNotCommitted(sql: TaskStatements, commit: Omit<Commit, 'events'>): Statement {
  const { key, expectedGeneration, commitId } = commit
  return {
    text: sql.whyNotCommitted,
    parameters: [...keyOf(key), expectedGeneration, toColumn(commitId), leaseOf(commit)],
  }
}

function leaseOf({ leaseId }: Omit<Commit, 'events'>): string | null {
  return leaseId === undefined ? null : toColumn(leaseId)
}
