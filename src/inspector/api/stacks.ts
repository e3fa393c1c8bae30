/**
 * Stacks of errors, which only people see whose access has `stacks`.
 *
 * @module
 */
import type { TaskStreamEvent } from '../../core/events.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { Scope } from '../access.js'

/** An event as the person of a scope may see it. */
export function eventFor({ access }: Scope, event: TaskStreamEvent<string>): TaskStreamEvent<string> {
  if (access.stacks === true) return event
  if (event.type === 'snapshot' || event.type === 'resync')
    return { ...event, task: withoutStack(event.task) }
  if (event.type !== 'journal' || !('error' in event.entry) || event.entry.error === undefined) return event
  return { ...event, entry: { ...event.entry, error: { ...event.entry.error, stack: undefined } } }
}

/** A task as the person of a scope may see it. */
export function taskFor({ access }: Scope, task: TaskSnapshot<string>): TaskSnapshot<string> {
  return access.stacks === true ? task : withoutStack(task)
}

function withoutStack(task: TaskSnapshot<string>): TaskSnapshot<string> {
  const { failure } = task
  if (failure?.error === undefined) return task
  const { name, message } = failure.error
  return { ...task, failure: { ...failure, error: { name, message } } }
}
