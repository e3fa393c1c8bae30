/**
 * One request to the API, and the audit of the action that it takes.
 *
 * @module
 */
import type { InspectorAction, Scope } from '../access.js'
import type { Settings } from '../options.js'
import { Refusal } from '../refusal.js'
import type { TaskSource } from '../source/source.js'
import type { Reader, Streams } from './streams.js'

/** A request to the API, which may see what its scope includes. */
export interface Call extends Reader {
  readonly query: URLSearchParams
  readonly scope: Scope
  readonly source: TaskSource
  readonly settings: Settings
  readonly streams: Streams
}

/** @throws {Refusal} for an action that the person may not take. */
export async function audit(
  { scope, settings }: Call,
  action: InspectorAction,
  subject?: { readonly taskId: string } | { readonly agentId: string } | { readonly schedule: string },
): Promise<void> {
  if (!scope.actions.has(action)) throw new Refusal(403, `You may not take the action "${action}"`)
  await settings.onAction({ action, access: scope.access, ...subject })
}
