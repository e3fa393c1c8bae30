/** A program that takes tasks for its sessions. */
import {
  createInboundHandler,
  type A2ATask,
  type A2ATaskDeps,
  type InboundHandler,
  type InboundHandlerOptions,
  type InboundSessionInput,
} from 'a2a-tasks/compat'
import { type ErrorContext } from 'a2a-tasks/server'
import { ManualClock, sequentialIds } from 'a2a-tasks/testing'

export interface Session {
  readonly id: string
  readonly input: InboundSessionInput
}
export type Callback = (sessionId: string, event: unknown) => void

/** A process manager of someone's own, with more than is asked for. */
export class ProcessManager {
  readonly callbacks = new Map<string, Set<Callback>>()
  readonly calls: unknown[][] = []
  /** What happens while the two run. */
  onSubscribe: (sessionId: string, callback: Callback) => unknown = () => undefined
  onStart: (sessionId: string) => unknown = () => undefined

  subscribe(sessionId: string, callback: Callback): unknown {
    this.calls.push(['subscribe', sessionId])
    this.callbacks.set(sessionId, (this.callbacks.get(sessionId) ?? new Set()).add(callback))
    return this.onSubscribe(sessionId, callback)
  }

  unsubscribe(sessionId: string, callback: Callback): void {
    this.calls.push(['unsubscribe', sessionId])
    this.callbacks.get(sessionId)?.delete(callback)
  }

  startProcess(session: Session, prompt?: string, options?: { schedulerMode?: boolean }): unknown {
    this.calls.push(['startProcess', session.id, prompt, options])
    return this.onStart(session.id)
  }

  stopProcess(sessionId: string): void {
    this.calls.push(['stopProcess', sessionId])
    this.emit(sessionId, { type: 'session_stopped' })
  }

  emit(sessionId: string, event: unknown): void {
    for (const callback of [...(this.callbacks.get(sessionId) ?? [])]) callback(sessionId, event)
  }

  /** How many still listen. */
  get listeners(): number {
    return [...this.callbacks.values()].reduce((sum, { size }) => sum + size, 0)
  }

  names(): unknown[] {
    return this.calls.map(([name]) => name)
  }
}

export const DB = { file: 'corvid.db' }
export const AGENTS = [
  { id: 'agent-0', defaultProjectId: null },
  { id: 'agent-1', defaultProjectId: '' },
  { id: 'agent-2', defaultProjectId: 'project-2' },
  { id: 'agent-3', defaultProjectId: 'project-3' },
]
export const START = '2026-01-01T00:00:00.000Z'

export interface World {
  readonly deps: A2ATaskDeps<typeof DB, Session>
  readonly pm: ProcessManager
  readonly clock: ManualClock
  readonly sessions: Session[]
}

export function world(others: Partial<A2ATaskDeps<typeof DB, Session>> = {}): World {
  const [pm, clock, sessions] = [new ProcessManager(), new ManualClock(), [] as Session[]]
  const deps: A2ATaskDeps<typeof DB, Session> = {
    db: DB,
    processManager: pm,
    listAgents: (db) => (db === DB ? AGENTS : []),
    createSession(db, input) {
      const session = { id: `session-${sessions.length + 1}`, input }
      if (db === DB) sessions.push(session)
      return session
    },
    clock,
    generateId: sequentialIds(),
    ...others,
  }
  return { deps, pm, clock, sessions }
}

export interface Own extends World, InboundHandler {
  readonly errors: { error: unknown; context: ErrorContext }[]
}

/** A world with its own store. */
export function own(
  others: Partial<A2ATaskDeps<typeof DB, Session>> = {},
  options: InboundHandlerOptions = {},
): Own {
  const made = world(others)
  const errors: Own['errors'] = []
  const onError = (error: unknown, context: ErrorContext): void => void errors.push({ error, context })
  return { ...made, errors, ...createInboundHandler(made.deps, { onError, ...options }) }
}

export function assistant(content: unknown): object {
  return { type: 'assistant', message: { content } }
}

export function message(role: 'user' | 'agent', text: string): object {
  return { role, parts: [{ type: 'text', text }] }
}

/** What the agent has said. */
export function answers(task: A2ATask | null): unknown[] {
  return task?.messages.slice(1).map(({ parts }) => parts[0]?.text) ?? []
}

/** What throws an error of this text. */
export function thrower(text: string): () => never {
  return () => {
    throw new Error(text)
  }
}
