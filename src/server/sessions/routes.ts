/**
 * HTTP routes of inbound tasks: `POST /a2a/tasks/send` and `GET /a2a/tasks/{id}`.
 *
 * @module
 */
import { taskNotFound } from '../../core/errors.js'
import { corvid } from '../../wire/corvid.js'
import { readJson } from '../binding/body.js'
import { DIRECT, type HttpAnswer, type HttpRequest, type Respond } from '../binding/exchange.js'
import { toFetch } from '../binding/fetch.js'
import { toA2AError } from '../streams/frame-stream.js'
import type { A2ATask } from './types.js'
import type { ErrorContext } from '../options.js'
import { decode } from '../binding/routes.js'

const PATH = /^\/a2a\/tasks\/([^/]+)$/
/** Limit of a body. JSON escapes may make a message of 1 MiB six times as long. */
const MAX_BYTES = 8 * 1024 * 1024

export interface InboundRoutes {
  readonly send: (body: unknown) => A2ATask
  readonly get: (taskId: string) => A2ATask | null
  readonly onError: (error: unknown, context: ErrorContext) => void
}

/** A `fetch` function over both routes. Never rejects: errors are answered as `{ error }`, like corvid-agent's. */
export function inboundFetch(routes: InboundRoutes): (request: Request) => Promise<Response> {
  const dialect = corvid()
  const respond: Respond = async (request) => {
    const { pathname } = new URL(request.url)
    const [, id] = PATH.exec(pathname) ?? []
    if (id === undefined) return answer(404, { error: 'Not found' })
    const verb = id === 'send' ? 'POST' : 'GET'
    if (request.method !== verb) return answer(405, { error: `Use ${verb}` }, { allow: verb })
    try {
      return answer(200, verb === 'POST' ? await send(routes, request) : get(routes, decode(id, 'id')))
    } catch (thrown) {
      const error = toA2AError(thrown, 'handleTaskSend', routes.onError)
      const { status, body } = dialect.encodeHttpError(
        error,
        error.code === 'LIMIT_EXCEEDED' ? 413 : undefined,
      )
      return answer(status, body, status === 503 ? { 'retry-after': '1' } : {})
    }
  }
  return Object.assign(toFetch(respond), { [DIRECT]: respond })
}

async function send(routes: InboundRoutes, request: HttpRequest): Promise<A2ATask> {
  return routes.send(await readJson(request, MAX_BYTES, ['application/json']))
}

function get(routes: InboundRoutes, id: string): A2ATask {
  const task = routes.get(id)
  if (task === null) throw taskNotFound(id)
  return task
}

function answer(status: number, json: object, headers: Readonly<Record<string, string>> = {}): HttpAnswer {
  const type = { 'content-type': 'application/json', 'cache-control': 'private, no-cache' }
  return { status, headers: { ...type, ...headers }, body: JSON.stringify(json) }
}
