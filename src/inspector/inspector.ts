/**
 * `createInspector`: a page to see tasks and act on them, as one fetch handler.
 *
 * @module
 */
import { answerCall } from './api/routes.js'
import { Streams } from './api/streams.js'
import { personOf, toScope, type Scope } from './access.js'
import { requireKnownHost, requireOwnPage } from './guard.js'
import { toSettings, type InspectorOptions, type Settings } from './options.js'
import { A2AError } from '../core/errors.js'
import { describeFailure, Refusal } from './refusal.js'
import { documentResponse, jsonResponse } from './responses.js'
import { ClientSource } from './source/client-source.js'
import { ManagerSource } from './source/manager-source.js'
import type { TaskSource } from './source/source.js'

/** The page and its API. */
export interface Inspector {
  /**
   * Answers a request below the path at which you mount it. Never rejects. Does not use `this`, so it can be passed around as a
   * function.
   */
  readonly fetch: (request: Request) => Promise<Response>
}

/**
 * Creates a page that lists and follows tasks, explains each by its log, and acts on them. It works at any path: `api/…` below
 * that path is its API, and each other path is the page. It loads nothing from elsewhere.
 *
 * It answers at loopback names, and at those of the option `hosts`. `authorize` decides about every request, for the page too. The API answers its own page only: requests that another site may
 * have caused are refused. Without `actions`, people see tasks and change nothing.
 *
 * @throws {TypeError | RangeError} naming the invalid option.
 * @example
 * const inspector = createInspector({ tasks, handler, authorize: (request) => (isAdmin(request) ? {} : null) })
 * app.mount('/inspector', inspector.fetch)
 */
export function createInspector(options: InspectorOptions): Inspector {
  const settings = toSettings(options)
  const source = sourceOf(settings)
  const streams = new Streams(settings.clock, settings.onError)
  return {
    fetch: async (request) => {
      try {
        return await answer(request, source, streams, settings)
      } catch (error) {
        const { status, message, isInternal } = describeFailure(error)
        if (isInternal) settings.onError(error)
        const refused = A2AError.is(error, 'INVALID_PARAMS') ? error.data : {}
        return jsonResponse({ error: message, ...refused }, status)
      }
    },
  }
}

function sourceOf(settings: Settings): TaskSource {
  const { tasks, client } = settings
  if (tasks !== undefined) return new ManagerSource(tasks, settings)
  if (client !== undefined) return new ClientSource(client, settings)
  throw new TypeError('createInspector needs either "tasks" or "client"')
}

async function answer(
  request: Request,
  source: TaskSource,
  streams: Streams,
  settings: Settings,
): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url)
  requireKnownHost(request, settings.hosts)
  const scope = await scopeOf(request, settings)
  if (scope instanceof Response) return scope
  if (scope === null) throw new Refusal(401, 'You may not see this page')
  const [, path] =
    /\/api\/(session|problems|counts|backlog|changes|messages|cancel|redrive|agents|schedules|tasks(?:\/.+)?)$/.exec(
      pathname,
    ) ?? []
  if (path !== undefined) {
    requireOwnPage(request, settings.hosts)
    const hasAccess = async (): Promise<boolean> => {
      const now = await scopeOf(request, settings)
      if (now === null || now instanceof Response || now.filter.owner !== scope.filter.owner) return false
      return now.access.stacks === scope.access.stacks
    }
    const call = { request, query: searchParams, scope, source, settings, streams }
    return await answerCall(path, { ...call, person: personOf(scope), hasAccess })
  }
  if (/\/api(\/|$)/.test(pathname)) throw new Refusal(404, 'There is no such path')
  if (!['GET', 'HEAD'].includes(request.method)) throw new Refusal(405, 'The page is read by GET')
  return documentResponse()
}

/** What the person who sends a request may see and do; `null` for nothing. */
async function scopeOf(request: Request, settings: Settings): Promise<Scope | Response | null> {
  const access = await settings.authorize(request)
  if (access instanceof Response || access === null) return access
  const scope = toScope(access, settings.actions)
  const { filter, sender } = scope
  if (settings.client === undefined || (filter.owner === undefined && sender === null)) return scope
  throw new TypeError(
    '"authorize" must not return an "owner" or a "principal" with "client", because agents do not report owners',
  )
}
