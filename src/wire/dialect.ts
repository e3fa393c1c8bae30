/**
 * Dialect of a protocol version: its methods, routes and codecs as data.
 *
 * @module
 */
import type { A2AError } from '../core/errors.js'
import type { ArtifactChanged, StatusChanged } from '../core/events.js'
import type { TaskState } from '../core/lifecycle.js'
import type { Message, TaskSnapshot } from '../core/task.js'
import type { JsonObject, JsonValue } from '../core/json-types.js'
import type { AgentCard } from '../schemas/agent-card.js'

/** A webhook for notifications of a task's changes. */
export interface PushConfig {
  /** Identifies the webhook among those of the task. Default is an id of the agent's choice. */
  readonly id?: string
  /** Where the agent sends the notifications. */
  readonly url: string
  /** A secret that the agent sends in the header `X-A2A-Notification-Token`. */
  readonly token?: string
  /** What the agent sends in the header `Authorization`: `{ scheme: 'Bearer', credentials: '…' }`. */
  readonly authentication?: { readonly scheme: string; readonly credentials?: string }
}

/** A {@link PushConfig} that is registered for a task. */
export interface TaskPushConfig {
  readonly taskId: string
  readonly config: PushConfig & { readonly id: string }
}

interface InTenant {
  /** The tenant that the request names. */
  readonly tenant?: string
}

/** A received message. The server assigns an id where the version's messages have none. */
export type IncomingMessage = Omit<Message, 'messageId'> & { readonly messageId?: string }

/** A message to the agent, from any version of the protocol. */
export interface SendRequest<M extends IncomingMessage = Message> extends InTenant {
  readonly message: M
  /** Respond as soon as there is a task, not when it has ended or needs input. */
  readonly returnImmediately: boolean
  /** The media types that the client accepts. Empty means any. */
  readonly acceptedOutputModes: readonly string[]
  /** Maximum number of messages of the conversation in the response. Absent means all. */
  readonly historyLength?: number
  readonly pushConfig?: PushConfig
  readonly metadata?: JsonObject
  /** The id that the client chose: that of an existing task, or else of the new one. */
  readonly chosenId?: string
  /** Always respond with a task, for versions without direct replies. Default is `false`. */
  readonly needsTask?: boolean
  /** Time limit of the task in ms, waiting for input included. When it passes, the task fails. */
  readonly timeoutMs?: number
  /** Reject the message unless the task is at this generation. */
  readonly ifGeneration?: number
}

/** A request that concerns one task. */
export interface TaskRequest extends InTenant {
  readonly id: string
}

/** A request for the events of a task. */
export interface SubscribeRequest extends TaskRequest {
  /** Return a task that has ended instead of rejecting the request. */
  readonly evenIfEnded: boolean
}

/** A request for one page of tasks. */
export interface ListRequest extends InTenant {
  readonly contextId?: string
  readonly state?: TaskState
  readonly pageSize: number
  /** Absent for the first page. */
  readonly pageToken?: string
  readonly historyLength?: number
  /** Tasks that changed at this time or later (ISO 8601). */
  readonly since?: string
  readonly includeArtifacts: boolean
}

/** The request of each operation, in the core's terms. The operations have the names that A2A 1.0 gives them. */
export interface Requests {
  SendMessage: SendRequest<IncomingMessage>
  SendStreamingMessage: SendRequest<IncomingMessage>
  GetTask: TaskRequest & {
    readonly historyLength?: number
    /** The generation that the client has. The response waits for a newer one, up to a limit. */
    readonly currentGeneration?: number
  }
  ListTasks: ListRequest
  CancelTask: TaskRequest & {
    readonly metadata?: JsonObject
    /** Return a task that has ended unchanged instead of rejecting the request. */
    readonly evenIfEnded?: boolean
  }
  SubscribeToTask: SubscribeRequest
  CreateTaskPushNotificationConfig: InTenant & { readonly taskId: string; readonly config: PushConfig }
  GetTaskPushNotificationConfig: InTenant & { readonly taskId: string; readonly id?: string }
  ListTaskPushNotificationConfigs: InTenant & {
    readonly taskId: string
    readonly pageSize?: number
    readonly pageToken?: string
  }
  DeleteTaskPushNotificationConfig: InTenant & { readonly taskId: string; readonly id: string }
  GetExtendedAgentCard: InTenant
}

/** The name of an operation, as A2A 1.0 names it. */
export type Operation = keyof Requests

/** A task and the extent to which it is shown. */
export interface TaskView {
  readonly task: TaskSnapshot
  /** The latest so many messages; absent for all, `0` for none. */
  readonly historyLength?: number | undefined
  /** `false` leaves the artifacts out, `true` shows them even if there are none. Default is to show those there are. */
  readonly artifacts?: boolean
}

/** One entry of a stream. */
export type StreamEntry =
  | ({
      readonly type: 'task'
      readonly last: boolean
      /** It replaces events that are no longer retained. */
      readonly isResync: boolean
    } & TaskView)
  | { readonly type: 'message'; readonly last: true; readonly message: Message }
  | {
      readonly type: 'status' | 'artifact'
      readonly contextId: string
      readonly event: StatusChanged | ArtifactChanged
      /** Whether the stream ends here. */
      readonly last: boolean
      /** The current task of the event. Absent when it is gone. */
      readonly source?: { task(): TaskSnapshot | undefined }
    }

/** The result of each operation, in the core's terms. The two streaming operations yield entries of this type. */
export interface Results {
  SendMessage:
    ({ readonly type: 'task' } & TaskView) | { readonly type: 'message'; readonly message: Message }
  SendStreamingMessage: StreamEntry
  GetTask: TaskView
  ListTasks: {
    readonly tasks: readonly TaskView[]
    /** Empty on the last page. */
    readonly nextPageToken: string
    readonly pageSize: number
    /** How many tasks there are on all pages. */
    readonly totalSize: number
  }
  CancelTask: TaskView
  SubscribeToTask: StreamEntry
  CreateTaskPushNotificationConfig: TaskPushConfig
  GetTaskPushNotificationConfig: TaskPushConfig
  ListTaskPushNotificationConfigs: {
    readonly configs: readonly TaskPushConfig[]
    readonly nextPageToken: string
  }
  DeleteTaskPushNotificationConfig: null
  GetExtendedAgentCard: AgentCard
}

/** Differences of a version's streams from those of 1.0. */
export interface StreamManners {
  /**
   * Sends the artifacts of a task as separate events before an entry that is a whole task, which this version shows by
   * its state alone.
   */
  readonly tellsArtifacts?: boolean
  /** Ends the stream also when the task waits for credentials, which this version shows as waiting for input. */
  readonly endsAtAuth?: boolean
}

/** Both directions of one operation. `decode` throws `INVALID_PARAMS` with the path of what is wrong. */
export interface Codec<Request, Result> {
  decode(params: unknown): Request
  encode(result: Result): JsonValue
  /** Absent for operations that do not stream, or stream as in 1.0. */
  readonly stream?: StreamManners
}

/** Operations that a version does not have are absent. */
export type Codecs = { readonly [O in Operation]?: Codec<Requests[O], Results[O]> }

/** One row of the HTTP+JSON binding: `{name}` in the path, and the query, become parameters. */
export interface Route {
  readonly verb: 'GET' | 'POST' | 'DELETE'
  /** Below the interface's URL: `/tasks/{id}:cancel`. */
  readonly path: string
  readonly operation: Operation
  /** The parameters in the query that are not text. */
  readonly query?: Readonly<Record<string, 'integer' | 'boolean'>>
  /** The parameters that headers may have, by the name of the header in lower case. They override those of the body. */
  readonly headers?: Readonly<Record<string, string>>
  /** The requests that ask for a stream of `SendStreamingMessage`, and the data of the event that ends it. */
  readonly stream?: {
    readonly when: (params: Readonly<Record<string, unknown>>) => boolean
    readonly end: string
  }
  /** Whether the route is part of the HTTP+JSON interface in the card. Default is `true`. */
  readonly isInCard?: boolean
}

/** What a probe, such as one of Kubernetes, asks for, and the answer. */
export interface Probe {
  /** Whether the answer has the HTTP status 503 once the handler closes. */
  readonly isOfReadiness: boolean
  /**
   * @param name - That of the agent.
   * @param now - In ms since 1970.
   */
  answer(name: string, now: number): JsonObject
}

/** A JSON-RPC error. */
export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: JsonValue
}

/** A version of the protocol, or a protocol derived from one. */
export interface Dialect {
  /** As in `A2A-Version`: `Major.Minor`, or a name. */
  readonly version: string
  /** Whether agent cards list it among their interfaces. Clients of other dialects ignore its interfaces. */
  readonly isInCards: boolean
  /** The request and response header that names extensions. */
  readonly extensionsHeader: string
  /** Media type of responses of the HTTP+JSON binding. */
  readonly mediaType: string
  /** Method names of the JSON-RPC binding. */
  readonly methods: ReadonlyMap<string, Operation>
  readonly rpc: Codecs
  /** JSON-RPC methods that concern no task. Their result derives from the card. */
  readonly cardMethods?: ReadonlyMap<string, (card: AgentCard) => JsonValue>
  readonly routes: readonly Route[]
  readonly rest: Codecs
  /** The paths below the interface at which `GET` answers whether the agent is alive, and ready for work. */
  readonly probes?: ReadonlyMap<string, Probe>
  /** Whether the path of a route may begin with a tenant. */
  readonly hasTenants: boolean
  /**
   * Returns whether the parameters of a request without a version are of this one. Called only when several versions
   * have a method of that name; if several recognize the parameters, the last one is used. Absent when the parameters
   * do not reveal the version.
   */
  recognizes?(params: JsonObject): boolean
  /** Operations whose JSON-RPC errors are sent as a stream with one event, because their clients read only streams. */
  readonly errorsInStream: readonly Operation[]
  /** Whether JSON-RPC errors have the HTTP status 200 even when a more specific one exists. Default is `false`. */
  readonly isAlwaysOk?: boolean
  /** The error contains only fixed texts and the contents of `error.data`: see {@link describeError}. */
  encodeRpcError(error: A2AError): RpcError
  /** `status` overrides the status of the code where HTTP is more specific than the protocol: 405, 413. */
  encodeHttpError(error: A2AError, status?: number): { readonly status: number; readonly body: JsonObject }
  encodeCard(card: AgentCard): JsonObject
  /**
   * The body of a notification to a webhook that was registered in this version. Absent if the version has no push
   * notifications.
   */
  encodeNotification?(entry: StreamEntry): JsonObject
  /**
   * Used instead of `encodeNotification` in versions that always send the whole task, as of the change. When several
   * artifacts change while a webhook is busy, only the latest is sent.
   */
  encodeTaskNotification?(task: TaskSnapshot): JsonObject
}
