/**
 * Requests of the page to the API of its inspector.
 *
 * @module
 */
import type { CardProblem } from '../../agent-card/lint.js'
import type { Backlog } from '../../core/managers.js'
import type { Lifecycle } from '../../core/lifecycle.js'
import type { TaskChildren } from '../../views/children.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import type { PushHealth } from '../../server/push/health.js'
import type { InspectorAction } from '../access.js'
import type { AgentRow } from '../agent-row.js'
import type { LogPage } from '../api/log.js'
import type { WireView } from '../api/wire.js'
import type { ScheduleRow } from '../schedule-row.js'
import type { ListPage } from '../source/listing.js'
import type { Summary } from '../summary.js'
import type { Entry, Snapshot } from './task/log.js'

export interface Session {
  readonly lifecycle: Lifecycle<string>
  readonly agent: string | null
  readonly card: AgentCard | null
  readonly actions: readonly InspectorAction[]
  readonly user: string | null
  readonly owner?: string | null
  /** The owner of tasks that begin in the chat. */
  readonly sender: string | null
  /** Whether the tasks are those of an agent that a client calls: it shows no skills, owners and times of creation. */
  readonly isRemote: boolean
  readonly hasGateway: boolean
  readonly hasSchedules: boolean
  readonly limits: {
    readonly maxSteps: number
    readonly maxJournalBytes: number
    /** What each task may spend, by unit. */
    readonly budget?: { readonly [unit: string]: number }
  } | null
  readonly taskTimeoutMs: number | null
  readonly maxFiles: number
  readonly maxMessageBytes: number
}

export interface Details {
  readonly task: Snapshot
  readonly children: TaskChildren
  readonly webhooks: readonly PushHealth[]
  readonly traceUrl: string | null
  readonly agentId: string | null
  readonly deadline: string | null
}

export type ListChange =
  | { readonly type: 'tasks'; readonly tasks: readonly Summary[]; readonly removed: readonly string[] }
  | { readonly type: 'resync' }
  | { readonly type: 'error'; readonly message: string }

/** The mount path: the page works at any. */
const BASE = `${location.pathname.replace(/\/$/, '')}/api/`
const PAGE_HEADER = 'x-a2a-inspector'

export interface FilePart {
  readonly filename: string
  readonly mediaType: string
  /** Base64. */
  readonly raw: string
}

interface Outgoing {
  readonly text?: string
  readonly data?: object
  readonly files?: readonly FilePart[]
  readonly taskId?: string
  readonly contextId?: string
}

type Query = Readonly<Record<string, string | number | undefined>>

/** What the API says of a request that has failed. */
interface Failure {
  readonly error?: string
  readonly path?: string
  readonly reason?: string
}

export class ApiError extends Error {
  readonly status: number
  /** The parameter that is refused, and why. */
  readonly path: string | undefined
  readonly reason: string | undefined

  constructor(status: number, { error = `The server answered with ${status}`, path, reason }: Failure) {
    super(error)
    this.status = status
    this.path = path
    this.reason = reason
  }
}

async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  headers.set(PAGE_HEADER, '1')
  const response = await fetch(BASE + path, { ...init, headers })
  if (response.ok) return response
  // The API answers failures with this object; a proxy may not.
  throw new ApiError(response.status, (await response.json().catch(() => ({}))) as Failure)
}

/** The types are those that the API of the same version sends. */
async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return (await (await request(withQuery(path, query), { signal: signal ?? null })).json()) as T
}

async function post<T>(path: string, body: object): Promise<T> {
  const headers = { 'content-type': 'application/json' }
  return (await (await request(path, { method: 'POST', headers, body: JSON.stringify(body) })).json()) as T
}

function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`
}

const taskPath = (id: string, rest = ''): string => `tasks/${encodeURIComponent(id)}${rest}`

export const api = {
  session: () => get<Session>('session'),
  problems: () => get<readonly CardProblem[]>('problems'),
  list: (query: Query, signal: AbortSignal) => get<ListPage>('tasks', query, signal),
  counts: (query: Query) => get<Readonly<Record<string, number>> | null>('counts', query),
  backlog: () => get<Backlog | null>('backlog'),
  details: (id: string) => get<Details>(taskPath(id)),
  events: (id: string, after: number) => get<LogPage>(taskPath(id, '/events'), { after }),
  wire: (id: string, version: string, generation: number) =>
    get<WireView>(taskPath(id, '/wire'), { version, generation }),
  send: (message: Outgoing) => post<{ taskId?: string; text?: string }>('messages', message),
  again: (id: string) => post<{ taskId?: string; text?: string }>(taskPath(id, '/again'), {}),
  fork: (id: string, options: { answers: Readonly<Record<string, string>>; generation?: number }) =>
    post<{ taskId?: string }>(taskPath(id, '/fork'), options),
  redrive: (id: string) => post<{ taskId?: string }>(taskPath(id, '/redrive'), {}),
  delete: (id: string) => post<object>(taskPath(id, '/delete'), {}),
  agents: () => get<readonly AgentRow[]>('agents'),
  maintain: (id: string, status: 'maintenance' | 'online') =>
    post<readonly AgentRow[]>('agents', { id, status }),
  schedules: () => get<readonly ScheduleRow[]>('schedules'),
  pause: (name: string, isPaused: boolean) => post<readonly ScheduleRow[]>('schedules', { name, isPaused }),
  cancelAll: (query: Query) => post<{ canceled: number; hasMore: boolean }>(withQuery('cancel', query), {}),
  redriveAll: (query: Query) =>
    post<{ redriven: number; refused: number; hasMore: boolean }>(withQuery('redrive', query), {}),
  cancel: (id: string) => post<object>(taskPath(id, '/cancel'), {}),
  redeliver: (taskId: string, id: string) => post<{ ok: boolean }>(taskPath(taskId, '/redeliver'), { id }),
  changes: (signal: AbortSignal) => stream<ListChange>('changes', {}, signal),
  follow: (id: string, after: number, signal: AbortSignal) =>
    stream<Entry | { readonly type: 'error'; readonly message: string }>(
      taskPath(id, '/follow'),
      { after },
      signal,
    ),
}

/** The entries of a stream of server-sent events, until it ends. */
async function* stream<T>(path: string, query: Query, signal: AbortSignal): AsyncGenerator<T> {
  const { body } = await request(withQuery(path, query), { signal })
  if (body === null) return
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const blocks = (rest + value).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      if (block.startsWith('data: ')) yield JSON.parse(block.slice('data: '.length)) as T
    }
  }
}
