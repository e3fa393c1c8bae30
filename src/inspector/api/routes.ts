/**
 * The routes of the API.
 *
 * @module
 */
import { taskNotFound } from '../../core/errors.js'
import { LINEAGE } from '../../core/lineage/mark.js'
import type { TaskSnapshot } from '../../core/task.js'
import { maxMessageBytes } from '../body.js'
import { FOR_ALL } from '../access.js'
import type { InspectedHandler, Settings } from '../options.js'
import { Refusal } from '../refusal.js'
import { jsonResponse } from '../responses.js'
import { listTasks } from '../source/listing.js'
import { summaryOf } from '../summary.js'
import { again, cancel, cancelAll, fork, redeliver, redrive, redriveAll, remove, send } from './acts.js'
import { agents, maintain } from './agents.js'
import type { Call } from './call.js'
import { cardProblems } from './card-problems.js'
import { logPage, taskAt } from './log.js'
import { MAX_FILES, MAX_GENERATION, readInteger, readListQuery } from './parameters.js'
import { pause, schedules } from './schedules.js'
import { eventFor, taskFor } from './stacks.js'
import { wireView } from './wire.js'

type Limits = NonNullable<InspectedHandler['limits']>

interface Route {
  readonly verb: 'GET' | 'POST'
  /** With at most one group, the id of a task. */
  readonly path: RegExp
  readonly answer: (call: Call, taskId: string) => Response | Promise<Response>
}

const ROUTES: readonly Route[] = [
  { verb: 'GET', path: /^session$/, answer: session },
  { verb: 'GET', path: /^problems$/, answer: problems },
  { verb: 'GET', path: /^tasks$/, answer: list },
  { verb: 'GET', path: /^counts$/, answer: counts },
  { verb: 'GET', path: /^backlog$/, answer: backlog },
  { verb: 'GET', path: /^changes$/, answer: changes },
  { verb: 'GET', path: /^tasks\/([^/]+)$/, answer: details },
  { verb: 'GET', path: /^tasks\/([^/]+)\/events$/, answer: events },
  { verb: 'GET', path: /^tasks\/([^/]+)\/follow$/, answer: follow },
  { verb: 'GET', path: /^tasks\/([^/]+)\/wire$/, answer: wire },
  { verb: 'POST', path: /^messages$/, answer: send },
  { verb: 'POST', path: /^cancel$/, answer: cancelAll },
  { verb: 'POST', path: /^redrive$/, answer: redriveAll },
  { verb: 'POST', path: /^tasks\/([^/]+)\/again$/, answer: again },
  { verb: 'POST', path: /^tasks\/([^/]+)\/cancel$/, answer: cancel },
  { verb: 'POST', path: /^tasks\/([^/]+)\/redeliver$/, answer: redeliver },
  { verb: 'POST', path: /^tasks\/([^/]+)\/fork$/, answer: fork },
  { verb: 'POST', path: /^tasks\/([^/]+)\/redrive$/, answer: redrive },
  { verb: 'POST', path: /^tasks\/([^/]+)\/delete$/, answer: remove },
  { verb: 'GET', path: /^agents$/, answer: agents },
  { verb: 'POST', path: /^agents$/, answer: maintain },
  { verb: 'GET', path: /^schedules$/, answer: schedules },
  { verb: 'POST', path: /^schedules$/, answer: pause },
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
    actions: [...scope.actions].filter((action) => owner === undefined || !FOR_ALL.includes(action)),
    user: scope.access.user ?? null,
    sender: scope.sender,
    isRemote: settings.client !== undefined,
    hasGateway: settings.gateway !== undefined && owner === undefined,
    hasSchedules: settings.schedules !== undefined && owner === undefined,
    limits: settings.handler?.limits === undefined ? null : limitsOf(settings.handler.limits),
    taskTimeoutMs: timeoutOf(settings.tasks?.taskTimeoutMs),
    maxFiles: MAX_FILES,
    maxMessageBytes: maxMessageBytes(settings),
    ...(owner !== undefined && { owner }),
    now: new Date(settings.clock.now()).toISOString(),
  })
}

function limitsOf({ maxSteps, maxJournalBytes, budget }: Limits): Omit<Limits, 'maxBodyBytes'> {
  return { maxSteps, maxJournalBytes, budget }
}

/** `null` without a limit, which JSON cannot tell. */
function timeoutOf(ms = Infinity): number | null {
  return ms === Infinity ? null : ms
}

async function problems({ settings }: Call): Promise<Response> {
  return jsonResponse(await cardProblems(settings))
}

async function list({ source, scope, query }: Call): Promise<Response> {
  return jsonResponse(await listTasks(source.page.bind(source), scope, readListQuery(query)))
}

async function counts({ source, scope, query }: Call): Promise<Response> {
  const { skill, contextId, owner, updatedSince } = readListQuery(query)
  return jsonResponse((await source.counts(scope, { skill, contextId, owner, updatedSince })) ?? null)
}

async function backlog({ source, scope }: Call): Promise<Response> {
  return jsonResponse((await source.backlog(scope)) ?? null)
}

function changes(call: Call): Response {
  const { source, scope, streams } = call
  return streams.open(call, async function* (signal) {
    const entries = source.changes(scope, signal)
    for (let next = await entries.next(); next.done !== true; next = await entries.next()) {
      const { value } = next
      yield value.type === 'tasks' ? { ...value, tasks: value.tasks.map(summaryOf) } : value
    }
  })
}

async function details({ source, scope, settings }: Call, taskId: string): Promise<Response> {
  const task = await source.task(scope, taskId)
  const [children, webhooks, agentId] = await Promise.all([
    source.children(scope, taskId),
    source.webhooks(taskId),
    settings.gateway?.readAgentOf(taskId),
  ])
  return jsonResponse({
    ...{ task: taskFor(scope, task), children, webhooks },
    traceUrl: traceUrlOf(task, settings) ?? null,
    agentId: agentId ?? null,
    deadline: deadlineOf(task) ?? null,
  })
}

/** Until when the callers of the first message wait, by its lineage. */
function deadlineOf({ messages }: TaskSnapshot<string>): string | undefined {
  const lineage: unknown = messages.find(({ role }) => role === 'user')?.metadata?.[LINEAGE]
  const deadline: unknown =
    typeof lineage === 'object' && lineage !== null ? Reflect.get(lineage, 'deadline') : undefined
  return typeof deadline === 'string' && !Number.isNaN(Date.parse(deadline)) ? deadline : undefined
}

function traceUrlOf(task: TaskSnapshot<string>, { traceUrl, onError }: Settings): string | undefined {
  try {
    const url = traceUrl(task)
    if (url === undefined || /^https?:$/.test(new URL(url).protocol)) return url
    throw new TypeError(`traceUrl() must return a URL of http: or https:, got ${url}`)
  } catch (error) {
    onError(error)
    return undefined
  }
}

async function events({ source, scope, query }: Call, taskId: string): Promise<Response> {
  await source.task(scope, taskId)
  const page = await logPage(source, taskId, readInteger(query, 'after', 0, MAX_GENERATION) ?? 0)
  return jsonResponse({ ...page, events: page.events.map((event) => eventFor(scope, event)) })
}

async function follow(call: Call, taskId: string): Promise<Response> {
  const { source, scope, query, streams } = call
  await source.task(scope, taskId)
  const after = readInteger(query, 'after', 0, MAX_GENERATION) ?? 0
  return streams.open(call, async function* (signal) {
    const entries = source.follow(taskId, after, signal)
    for (let next = await entries.next(); next.done !== true; next = await entries.next()) {
      yield eventFor(scope, next.value)
    }
  })
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
