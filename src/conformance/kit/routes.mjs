/** The routes of the HTTP+JSON binding (1.0 §11.3; 0.3 §3.5.6). */

const ROUTES = {
  SendMessage: ['POST', () => '/message:send'],
  SendStreamingMessage: ['POST', () => '/message:stream'],
  GetTask: ['GET', ({ id }) => `/tasks/${encode(id)}`, ['id']],
  ListTasks: ['GET', () => '/tasks', []],
  CancelTask: ['POST', ({ id }) => `/tasks/${encode(id)}:cancel`, ['id']],
  SubscribeToTask: ['POST', ({ id }) => `/tasks/${encode(id)}:subscribe`, ['id']],
  CreateTaskPushNotificationConfig: ['POST', ({ taskId }) => configsOf(taskId)],
  GetTaskPushNotificationConfig: [
    'GET',
    ({ taskId, id }) => `${configsOf(taskId)}/${encode(id)}`,
    ['taskId', 'id'],
  ],
  ListTaskPushNotificationConfigs: ['GET', ({ taskId }) => configsOf(taskId), ['taskId']],
  DeleteTaskPushNotificationConfig: [
    'DELETE',
    ({ taskId, id }) => `${configsOf(taskId)}/${encode(id)}`,
    ['taskId', 'id'],
  ],
  GetExtendedAgentCard: ['GET', () => '/extendedAgentCard', []],
}

/** `method`, `path`, `query` and `body` of the request for an operation. Parameters that the path has are left out. */
export function routeOf(operation, { tenant, ...params }, version) {
  const isModern = version === '1.0'
  const [method, pathOf, inPath = []] = ROUTES[operation]
  const isCard = operation === 'GetExtendedAgentCard'
  const path = isModern ? pathOf(params) : `/v1${isCard ? '/card' : pathOf(params)}`
  const rest = Object.entries(params).filter(([name]) => !inPath.includes(name))
  const prefix = tenant === undefined ? '' : `/${encode(tenant)}`
  // Streams of running tasks are subscribed to without a body: all parameters are in the path.
  const isBare = operation === 'SubscribeToTask' || operation === 'CancelTask'
  if (method === 'POST') {
    return { method, path: prefix + path, query: '', body: isBare ? undefined : Object.fromEntries(rest) }
  }
  const query = new URLSearchParams(rest.map(([name, value]) => [name, String(value)])).toString()
  return { method, path: prefix + path, query: query === '' ? '' : `?${query}`, body: undefined }
}

function configsOf(taskId) {
  return `/tasks/${encode(taskId)}/pushNotificationConfigs`
}

function encode(id) {
  return encodeURIComponent(String(id))
}
