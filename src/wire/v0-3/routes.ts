/**
 * Operations of A2A 0.3: methods of JSON-RPC (§3.5.6) and paths of HTTP+JSON (§3.5.3).
 *
 * @module
 */
import type { Operation, Route } from '../dialect.js'
import { ROUTES as NEW_ROUTES } from '../v1/routes.js'

export const METHODS: readonly (readonly [method: string, operation: Operation])[] = [
  ['message/send', 'SendMessage'],
  ['message/stream', 'SendStreamingMessage'],
  ['tasks/get', 'GetTask'],
  ['tasks/cancel', 'CancelTask'],
  ['tasks/resubscribe', 'SubscribeToTask'],
  ['tasks/pushNotificationConfig/set', 'CreateTaskPushNotificationConfig'],
  ['tasks/pushNotificationConfig/get', 'GetTaskPushNotificationConfig'],
  ['tasks/pushNotificationConfig/list', 'ListTaskPushNotificationConfigs'],
  ['tasks/pushNotificationConfig/delete', 'DeleteTaskPushNotificationConfig'],
  ['agent/getAuthenticatedExtendedCard', 'GetExtendedAgentCard'],
  // The name that the specification uses in one place (§11.1.3).
  ['agent/authenticatedExtendedCard', 'GetExtendedAgentCard'],
]

/** The routes of 1.0, below `/v1`. */
export const ROUTES: readonly Route[] = NEW_ROUTES.map((route) => ({ ...route, path: `/v1${pathOf(route)}` }))

/** Paths of configurations differ in 0.3, except for the one that creates a configuration. */
function pathOf({ verb, path }: Route): string {
  if (path === '/extendedAgentCard') return '/card'
  if (verb === 'POST') return path
  return path.replace('Configs/{id}', 'Configs/{pushNotificationConfigId}').replace('{taskId}', '{id}')
}
