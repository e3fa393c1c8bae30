/**
 * Routes of the HTTP+JSON binding of A2A 1.0 (§11.3).
 *
 * @module
 */
import type { Route } from '../dialect.js'

export const ROUTES: readonly Route[] = [
  { verb: 'POST', path: '/message:send', operation: 'SendMessage' },
  { verb: 'POST', path: '/message:stream', operation: 'SendStreamingMessage' },
  { verb: 'GET', path: '/tasks/{id}', operation: 'GetTask' },
  { verb: 'GET', path: '/tasks', operation: 'ListTasks' },
  { verb: 'POST', path: '/tasks/{id}:cancel', operation: 'CancelTask' },
  // The specification's tables define POST and its proto defines GET. Clients of both exist.
  { verb: 'POST', path: '/tasks/{id}:subscribe', operation: 'SubscribeToTask' },
  { verb: 'GET', path: '/tasks/{id}:subscribe', operation: 'SubscribeToTask' },
  {
    verb: 'POST',
    path: '/tasks/{taskId}/pushNotificationConfigs',
    operation: 'CreateTaskPushNotificationConfig',
  },
  {
    verb: 'GET',
    path: '/tasks/{taskId}/pushNotificationConfigs',
    operation: 'ListTaskPushNotificationConfigs',
  },
  {
    verb: 'GET',
    path: '/tasks/{taskId}/pushNotificationConfigs/{id}',
    operation: 'GetTaskPushNotificationConfig',
  },
  {
    verb: 'DELETE',
    path: '/tasks/{taskId}/pushNotificationConfigs/{id}',
    operation: 'DeleteTaskPushNotificationConfig',
  },
  { verb: 'GET', path: '/extendedAgentCard', operation: 'GetExtendedAgentCard' },
]
