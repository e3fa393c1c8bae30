/** The routes of the HTTP+JSON binding (1.0 §11.3; 0.3 §3.5.6). */

import type { Params } from './params.js'

type Route = readonly [method: string, path: (params: Params) => string, inPath?: readonly string[]]

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
} satisfies Record<string, Route>

/** As A2A 1.0 names them. */
export type Operation = keyof typeof ROUTES

interface Located {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly body: Params | undefined
}

/** `method`, `path`, `query` and `body` of the request for an operation. Parameters that the path has are left out. */
export function routeOf(operation: Operation, { tenant, ...params }: Params, version: string): Located {
  const isModern = version === '1.0'
  const [method, pathOf, inPath = []]: Route = ROUTES[operation]
  const isCard = operation === 'GetExtendedAgentCard'
  const path = isModern ? pathOf(params) : `/v1${isCard ? '/card' : pathOf(params)}`
  const rest = Object.entries(params).filter(([name]) => !inPath.includes(name))
  const prefix = tenant === undefined ? '' : `/${encode(tenant)}`
  // Streams of running tasks are subscribed to without a body: all parameters are in the path.
  const isBare = operation === 'SubscribeToTask' || operation === 'CancelTask'
  if (method === 'POST') {
    return { method, path: prefix + path, query: '', body: isBare ? undefined : Object.fromEntries(rest) }
  }
  const query = new URLSearchParams(
    rest.map(([name, value]): [string, string] => [name, String(value)]),
  ).toString()
  return { method, path: prefix + path, query: query === '' ? '' : `?${query}`, body: undefined }
}

function configsOf(taskId: unknown): string {
  return `/tasks/${encode(taskId)}/pushNotificationConfigs`
}

function encode(id: unknown): string {
  return encodeURIComponent(String(id))
}
