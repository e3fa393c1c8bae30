/**
 * The routes of the API.
 *
 * @module
 */
import { taskNotFound } from '../../core/errors.js'
import type { InspectorAction, Scope } from '../access.js'
import { readBody } from '../guard.js'
import type { Settings } from '../options.js'
import { describeFailure, Refusal } from '../refusal.js'
import { jsonResponse } from '../responses.js'
import { listTasks } from '../source/listing.js'
import type { TaskSource } from '../source/source.js'
import { summaryOf } from '../summary.js'
import { cardProblems } from './card-problems.js'
import { logPage, taskAt } from './log.js'
import { optionalText, readInteger, readListQuery, readParts, requiredText } from './parameters.js'
import type { Streams } from './streams.js'
import { wireView } from './wire.js'

/** A request to the API, which may see what its scope includes. */
export interface Call {
  readonly request: Request
  readonly query: URLSearchParams
  readonly scope: Scope
  readonly source: TaskSource
  readonly settings: Settings
  readonly streams: Streams
}

interface Route {
  readonly verb: 'GET' | 'POST'
  /** With at most one group, the id of a task. */
  readonly path: RegExp
  readonly answer: (call: Call, taskId: string) => Response | Promise<Response>
}

const MAX_GENERATION = Number.MAX_SAFE_INTEGER

const ROUTES: readonly Route[] = [
  { verb: 'GET', path: /^session$/, answer: session },
  { verb: 'GET', path: /^problems$/, answer: problems },
  { verb: 'GET', path: /^tasks$/, answer: list },
  { verb: 'GET', path: /^counts$/, answer: counts },
  { verb: 'GET', path: /^changes$/, answer: changes },
  { verb: 'GET', path: /^tasks\/([^/]+)$/, answer: details },
  { verb: 'GET', path: /^tasks\/([^/]+)\/events$/, answer: events },
  { verb: 'GET', path: /^tasks\/([^/]+)\/follow$/, answer: follow },
  { verb: 'GET', path: /^tasks\/([^/]+)\/wire$/, answer: wire },
  { verb: 'POST', path: /^messages$/, answer: send },
  { verb: 'POST', path: /^cancel$/, answer: cancelAll },
  { verb: 'POST', path: /^tasks\/([^/]+)\/again$/, answer: again },
  { verb: 'POST', path: /^tasks\/([^/]+)\/cancel$/, answer: cancel },
  { verb: 'POST', path: /^tasks\/([^/]+)\/redeliver$/, answer: redeliver },
]

/** @throws {Refusal | A2AError} */
export async function answerCall(path: string, call: Call): Promise<Response> {
  const routes = ROUTES.filter((route) => route.path.test(path))
  const route = routes.find(({ verb }) => verb === call.request.method)
  if (route === undefined) {
    throw routes.length > 0
      ? new Refusal(405, 'Another method is needed')
      : new Refusal(404, 'There is no such path')
  }
  return await route.answer(call, decoded(route.path.exec(path)?.[1] ?? ''))
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw taskNotFound(segment)
  }
}

function session({ source, scope, settings }: Call): Response {
  const { lifecycle, card } = source
  const { owner } = scope.filter
  return jsonResponse({
    lifecycle,
    agent: card?.name ?? null,
    card: card ?? null,
    actions: source.actions.filter((action) => scope.actions.has(action)),
    user: scope.access.user ?? null,
    ...(owner !== undefined && { owner }),
    now: new Date(settings.clock.now()).toISOString(),
  })
}

async function problems({ settings }: Call): Promise<Response> {
  return jsonResponse(await cardProblems(settings.handler))
}

async function list({ source, scope, query }: Call): Promise<Response> {
  return jsonResponse(await listTasks(source, scope, readListQuery(query)))
}

async function counts({ source, scope, query }: Call): Promise<Response> {
  const { skill, contextId, owner, updatedSince } = readListQuery(query)
  return jsonResponse((await source.counts(scope, { skill, contextId, owner, updatedSince })) ?? null)
}

function changes({ source, scope, streams, request }: Call): Response {
  return streams.open(request, async function* (signal) {
    const entries = source.changes(scope, signal)
    for (let next = await entries.next(); next.done !== true; next = await entries.next()) {
      const { value } = next
      yield value.type === 'tasks' ? { type: 'tasks', tasks: value.tasks.map(summaryOf) } : value
    }
  })
}

async function details({ source, scope }: Call, taskId: string): Promise<Response> {
  const task = await source.task(scope, taskId)
  const [children, webhooks] = await Promise.all([source.children(scope, taskId), source.webhooks(taskId)])
  return jsonResponse({ task, children, webhooks })
}

async function events({ source, scope, query }: Call, taskId: string): Promise<Response> {
  await source.task(scope, taskId)
  return jsonResponse(await logPage(source, taskId, readInteger(query, 'after', 0, MAX_GENERATION) ?? 0))
}

async function follow({ source, scope, query, streams, request }: Call, taskId: string): Promise<Response> {
  await source.task(scope, taskId)
  const after = readInteger(query, 'after', 0, MAX_GENERATION) ?? 0
  return streams.open(request, (signal) => source.follow(taskId, after, signal))
}

async function wire({ source, scope, query }: Call, taskId: string): Promise<Response> {
  const task = await source.task(scope, taskId)
  const generation = readInteger(query, 'generation', 1, MAX_GENERATION) ?? task.generation
  const at = await taskAt(source, taskId, generation)
  if (at === undefined && generation !== task.generation) {
    throw new Refusal(404, `The log no longer holds the event ${generation}`)
  }
  return jsonResponse(wireView(query.get('version') ?? '1.0', at?.task ?? task, at?.event))
}

async function send(call: Call): Promise<Response> {
  const body = await readBody(call.request)
  const parts = readParts(body)
  const taskId = optionalText(body, 'taskId')
  const contextId = optionalText(body, 'contextId')
  if (taskId !== undefined) await call.source.task(call.scope, taskId)
  await audit(call, taskId === undefined ? 'send' : 'answer', taskId)
  return jsonResponse(await call.source.send(call.scope, { parts, taskId, contextId }))
}

/** Begins a new task with the first message of this one. */
async function again(call: Call, taskId: string): Promise<Response> {
  await readBody(call.request)
  const { messages } = await call.source.task(call.scope, taskId)
  const first = messages.find(({ role }) => role === 'user')
  if (first === undefined) throw new Refusal(409, 'The task has no message that could be sent again')
  await audit(call, 'send', taskId)
  return jsonResponse(await call.source.send(call.scope, { parts: first.parts, like: taskId }))
}

/** The most tasks in each state that one request cancels. */
const MAX_CANCELED = 200

/** Cancels the tasks that match and have not ended, latest change first. `hasMore`: there are further ones. */
async function cancelAll(call: Call): Promise<Response> {
  const { source, scope } = call
  await readBody(call.request)
  const query = { ...readListQuery(call.query), hasFailuresFirst: false, pageSize: MAX_CANCELED }
  const { states, terminal } = source.lifecycle
  const live = states.filter((state) => !terminal.includes(state) && (query.state ?? state) === state)
  let canceled = 0
  let hasMore = false
  for (const state of live) {
    const found = await listTasks(source, scope, { ...query, state })
    hasMore ||= found.nextCursor !== undefined
    for (const { id } of found.tasks) {
      await audit(call, 'cancel', id)
      canceled += await cancelOne(call, id)
    }
  }
  return jsonResponse({ canceled, hasMore })
}

/** 1, or 0 for a task that has ended before its turn. */
async function cancelOne({ source, scope }: Call, taskId: string): Promise<number> {
  try {
    await source.cancel(scope, await source.task(scope, taskId))
    return 1
  } catch (error) {
    if (describeFailure(error).isInternal) throw error
    return 0
  }
}

async function cancel(call: Call, taskId: string): Promise<Response> {
  await readBody(call.request)
  const task = await call.source.task(call.scope, taskId)
  await audit(call, 'cancel', taskId)
  await call.source.cancel(call.scope, task)
  return jsonResponse({ ok: true })
}

async function redeliver(call: Call, taskId: string): Promise<Response> {
  const webhookId = requiredText(await readBody(call.request), 'id')
  await call.source.task(call.scope, taskId)
  await audit(call, 'redeliver', taskId)
  return jsonResponse({ ok: await call.source.redeliver(taskId, webhookId) })
}

/** @throws {Refusal} for an action that the person may not take. */
async function audit(
  { scope, source, settings }: Call,
  action: InspectorAction,
  taskId?: string,
): Promise<void> {
  if (!scope.actions.has(action)) throw new Refusal(403, `You may not take the action "${action}"`)
  if (!source.actions.includes(action)) throw new Refusal(409, `This inspector has no action "${action}"`)
  const { access } = scope
  await settings.onAction({ action, access, ...(taskId !== undefined && { taskId }) })
}
