/**
 * Types of corvid-agent's inbound tasks, and of the functions that they need from the integrator.
 *
 * @module
 */
import type { Clock } from '../../runtime/clock.js'
import type { GenerateId } from '../../runtime/ids.js'

/** The states of an inbound task. They only move forward: `submitted`, `working`, then `completed` or `failed`. */
export type A2ATaskState = 'submitted' | 'working' | 'completed' | 'failed'

/** One message of the conversation. */
export interface A2AMessage {
  role: 'user' | 'agent'
  parts: { type: 'text'; text: string }[]
}

/** A copy of a task, as plain JSON. Timestamps are ISO 8601, UTC, with milliseconds. */
export interface A2ATask {
  id: string
  state: A2ATaskState
  /** The message that began the task, then the texts of the session, oldest first. */
  messages: A2AMessage[]
  /** The id of the session that works on the task. `null` when none could be created. */
  sessionId: string | null
  createdAt: string
  updatedAt: string
}

/** The body of `POST /a2a/tasks/send`. Peers may send the `params` alone. */
export interface A2ATaskSendRequest {
  /** Ignored. */
  method?: 'tasks/send'
  params: {
    /** The prompt for the agent. Must not be blank, and at most 1 MiB as JSON. */
    message: string
    /** Stored with the task and not passed to the session. Default is `default`. */
    skill?: string | null | undefined
    /** The time limit of the session, in ms. Then the task fails. Default is 300,000 (5 minutes). */
    timeoutMs?: number | null | undefined
    /**
     * How many agents have called each other, the sender included. The session gets it, and may count on from it. Peers may
     * send it beside `params`. Default is 1, which the session does not get.
     */
    depth?: number | null | undefined
  }
}

/** The part of an agent that inbound tasks use. */
export interface InboundAgent {
  readonly id: string
  readonly defaultProjectId?: string | null | undefined
}

/** The input of `createSession`. */
export interface InboundSessionInput {
  readonly projectId: string
  readonly agentId: string
  /** `A2A Task: ` and the first 50 characters of the message. */
  readonly name: string
  readonly initialPrompt: string
  readonly source: 'agent'
}

/**
 * Receives the events of a session. Inbound tasks read these, by `type`: `assistant`, whose `message.content` is a text or
 * a list of blocks, `session_exited`, `session_stopped` and `error`.
 */
export type SessionCallback = (sessionId: string, event: unknown) => void

/** The part of a process manager that inbound tasks use. */
export interface InboundProcessManager<Session> {
  /**
   * May return a function that ends the subscription, or a promise of one. Otherwise `unsubscribe` is called, if there is
   * one. A promise that rejects fails the task and stops the session.
   */
  subscribe(sessionId: string, callback: SessionCallback): unknown
  /** Ends a subscription. Not called when `subscribe` returned a function. */
  unsubscribe?(sessionId: string, callback: SessionCallback): unknown
  /** May return a promise: if it rejects, the task fails. */
  startProcess(
    session: Session,
    prompt: string,
    options: { readonly schedulerMode: true; readonly depth?: number },
  ): unknown
  /** Stops a session whose task has failed, as at its time limit. Without it the session continues. */
  stopProcess?(sessionId: string): unknown
}

/** The part of a session that inbound tasks use. */
export interface InboundSession {
  readonly id: string
}

/** The integrator's functions that inbound tasks call. */
export interface A2ATaskDeps<Db = unknown, Session extends InboundSession = InboundSession> {
  /** Passed to `listAgents` and `createSession` as it is. */
  readonly db: Db
  // The intersection keeps TypeScript from inferring `Session` here: `createSession` determines it.
  /** Starts and stops sessions, and delivers their events. */
  readonly processManager: InboundProcessManager<Session & object>
  /** Returns all agents. The first with a `defaultProjectId` gets the task. */
  listAgents(db: Db): readonly InboundAgent[]
  /** Returns the session, not a promise of it. */
  createSession(db: Db, input: InboundSessionInput): Session
  /** Default is the runtime's clock. */
  readonly clock?: Clock | undefined
  /** Generates the ids of tasks. Default is UUID v4. */
  readonly generateId?: GenerateId | undefined
}
