/**
 * Changes of the holder of a lease that are decided again when another caller's change is stored first.
 *
 * @module
 */
import type { MessageCommand, TaskCommand } from '../../core/commands.js'
import { invalidParams } from '../../core/errors.js'
import type { Decide } from '../cache/change.js'
import type { DurableContext } from '../context.js'

type DecideFor<S extends string> = Pick<DurableContext<S>, 'decideFor'>

/** When another caller has moved the task to the same state first, the rest of the update is still made. */
export function decideWithRest<S extends string>(
  { decideFor }: DecideFor<S>,
  command: TaskCommand<S>,
): Decide<S> {
  const decide = decideFor(command)
  if (command.type !== 'update' || command.state === undefined) return decide
  const { output, artifacts, message, state } = command
  const hasRest = output !== undefined || artifacts.length > 0 || (message ?? null) !== null
  const decideRest = decideFor({ ...command, state: undefined })
  let isFirst = true
  return (record) => {
    const isInState = !isFirst && hasRest && record.task.state === state
    isFirst = false
    return isInState ? decideRest(record) : decide(record)
  }
}

/** When another caller has added a message with the same id and role first, this one is dropped. */
export function decideOnce<S extends string>(
  { decideFor }: DecideFor<S>,
  command: MessageCommand,
): Decide<S> {
  const decide = decideFor(command)
  const { messageId, role } = command.message
  return (record) => {
    const isKnown = record.task.messages.some((known) => known.messageId === messageId && known.role === role)
    if (isKnown) throw invalidParams('message.messageId', `is in the conversation already: ${messageId}`)
    return decide(record)
  }
}
