/**
 * The actions that the options of an inspector make possible.
 *
 * @module
 */
import { canFork } from '../views/fork.js'
import { ACTIONS, readActions, type InspectorAction } from './access.js'

/** What decides about them, of the options. */
interface Given {
  readonly tasks?: { readonly deleteTask?: unknown }
  readonly client?: object
  readonly handler?: { readonly push?: unknown }
  readonly push?: object
  readonly gateway?: object
  readonly schedules?: object
  readonly actions?: unknown
}

/** What each action needs, and whether it is there. */
const NEEDS: Readonly<Record<InspectorAction, readonly [need: string, isMet: (given: Given) => boolean]>> = {
  send: ['"handler" beside "tasks"', canSend],
  answer: ['"handler" beside "tasks"', canSend],
  cancel: ['"tasks" or "client"', () => true],
  redeliver: ['"push", or a "handler" with webhooks', hasPush],
  fork: ['a TaskManager or a DurableTaskManager as "tasks"', hasForks],
  redrive: ['a TaskManager or a DurableTaskManager as "tasks"', hasForks],
  delete: ['"tasks" with deleteTask()', ({ tasks }) => tasks?.deleteTask !== undefined],
  maintain: ['"gateway"', ({ gateway }) => gateway !== undefined],
  schedule: ['"schedules"', ({ schedules }) => schedules !== undefined],
}

function canSend({ client, handler }: Given): boolean {
  return client !== undefined || handler !== undefined
}

function hasForks({ tasks }: Given): boolean {
  return tasks !== undefined && canFork(tasks)
}

function hasPush({ push, handler }: Given): boolean {
  return push !== undefined || handler?.push !== undefined
}

/** @throws {TypeError} for an action that the other options do not make possible. */
export function toActions(given: Given): readonly InspectorAction[] {
  const { actions = false } = given
  const isMet = (action: InspectorAction): boolean => NEEDS[action][1](given)
  if (actions === true && !canSend(given)) {
    const possible = ACTIONS.filter(isMet).map((action) => `'${action}'`)
    throw new TypeError(
      `"actions": true needs ${NEEDS.send[0]}: pass it, or list actions of ${possible.join(', ')}`,
    )
  }
  const chosen = readActions(actions, ACTIONS.filter(isMet))
  for (const action of chosen) {
    if (!isMet(action)) throw new TypeError(`"actions": "${action}" needs ${NEEDS[action][0]}`)
  }
  return chosen
}
