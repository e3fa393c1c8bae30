/**
 * The inbound tasks of corvid-agent, as its callers and its peers see them.
 *
 * @module
 */
import type { Clock } from '../../runtime/clock.js'
import type { GenerateId } from '../../runtime/ids.js'

/** The states of an inbound task: each follows from those before it, and nothing leads back. */
export type A2ATaskState = 'submitted' | 'working' | 'completed' | 'failed'

/** A turn of the conversation. */
export interface A2AMessage {
  role: 'user' | 'agent'
  parts: { type: 'text'; text: string }[]
}

/** A task, as plain JSON, as it stood when it was asked for. Timestamps are ISO 8601, UTC, with milliseconds. */
export interface A2ATask {
  id: string
  state: A2ATaskState
  /** What was asked, then what the session has said, oldest first. */
  messages: A2AMessage[]
  /** The session that works on it. `null` where none could be created. */
  sessionId: string | null
  createdAt: string
  updatedAt: string
}

/** The body of `POST /a2a/tasks/send`. Peers may send the `params` alone. */
export interface A2ATaskSendRequest {
  /** Is not looked at. */
  method?: 'tasks/send'
  params: {
    /** What the agent is asked. Not blank, and at most 1 MiB as JSON. */
    message: string
    /** Kept with the task; the session is not told. Default is `default`. */
    skill?: string | null | undefined
    /** How long the session may work on it, in ms. Default is 300,000 (5 minutes). */
    timeoutMs?: number | null | undefined
  }
}

/** An agent of one's own, as far as it matters here. */
export interface InboundAgent {
  readonly id: string
  readonly defaultProjectId?: string | null | undefined
}

/** What a session is created with. */
export interface InboundSessionInput {
  readonly projectId: string
  readonly agentId: string
  /** `A2A Task: ` and the first 50 characters of the message. */
  readonly name: string
  readonly initialPrompt: string
  readonly source: 'agent'
}

/**
 * Is told what happens in a session. Of `event` these are understood: `{ type: 'assistant', message: { content } }`,
 * where the content is a text or a list of blocks, `session_exited`, `session_stopped` and `error`.
 */
export type SessionCallback = (sessionId: string, event: unknown) => void

/** What runs sessions: as much as is needed of a process manager. */
export interface InboundProcessManager<Session> {
  /**
   * May return what ends the subscription, or a promise of it; else `unsubscribe` is called, if there is one. A promise
   * that is rejected fails the task, and the session is stopped.
   */
  subscribe(sessionId: string, callback: SessionCallback): unknown
  unsubscribe?(sessionId: string, callback: SessionCallback): unknown
  /** A promise that is rejected fails the task. */
  startProcess(session: Session, prompt: string, options: { schedulerMode: true }): unknown
  /** Ends a session that has not ended in time. Without it such a session works on. */
  stopProcess?(sessionId: string): unknown
}

/** A session, as far as it matters here. */
export interface InboundSession {
  readonly id: string
}

/** What inbound tasks need of the program that takes them. All of it is its own: nothing is imported. */
export interface A2ATaskDeps<Db = unknown, Session extends InboundSession = InboundSession> {
  /** Is handed to `listAgents` and `createSession`, and not looked at. */
  readonly db: Db
  /** What a session is, `createSession` says: of the intersection nothing is inferred. */
  readonly processManager: InboundProcessManager<Session & object>
  /** The agents there are. The first with a `defaultProjectId` gets the task. */
  listAgents(db: Db): readonly InboundAgent[]
  /** Returns the session itself, and no promise of it. */
  createSession(db: Db, input: InboundSessionInput): Session
  /** Default is the runtime's clock. */
  readonly clock?: Clock | undefined
  /** Makes the ids of tasks. Default is UUID v4. */
  readonly generateId?: GenerateId | undefined
}
