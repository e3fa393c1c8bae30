/**
 * Client side of a protocol version: request encoders and response decoders of the operations.
 *
 * @module
 */
import type { TaskState } from '../../core/lifecycle.js'
import type { Message } from '../../core/task.js'
import type { JsonObject } from '../../core/json-types.js'
import type { Artifact } from '../../schemas/artifact.js'
import type { ListRequest, Operation, PushConfig, Requests, Route, SendRequest } from '../dialect.js'

/** A task of another agent, in the core's terms. Plain JSON. */
export interface RemoteTask {
  id: string
  /** Groups the tasks of one conversation. Some agents leave it out. */
  contextId?: string
  state: TaskState
  /** The latest status message. */
  message?: Message
  /** Time of the status, as the agent sent it. */
  updatedAt?: string
  artifacts: Artifact[]
  /** The conversation as far as the agent sends it, oldest first. Some send none of it (A2A 1.0 §3.7). */
  messages: Message[]
  metadata: JsonObject
}

interface OfRemoteTask {
  taskId: string
  contextId?: string
  metadata?: JsonObject
}

/** An event of an agent's stream. */
export type RemoteEvent =
  | { type: 'task'; task: RemoteTask }
  | { type: 'message'; message: Message }
  | ({ type: 'status'; state: TaskState; message?: Message; updatedAt?: string } & OfRemoteTask)
  /** With `append` the parts continue the artifact of that id. Otherwise the artifact is new or replaces that one. */
  | ({ type: 'artifact'; artifact: Artifact; append: boolean; lastChunk: boolean } & OfRemoteTask)

/** The response to a message: a task, or a direct reply of the agent. */
export type SendResult = { type: 'task'; task: RemoteTask } | { type: 'message'; message: Message }

/** A webhook that an agent holds for a task. */
export interface RemotePushConfig {
  taskId: string
  config: PushConfig
}

/** The request of each operation. */
export interface ClientRequests extends Omit<
  Requests,
  'SendMessage' | 'SendStreamingMessage' | 'ListTasks' | 'SubscribeToTask'
> {
  SendMessage: SendRequest
  SendStreamingMessage: SendRequest
  ListTasks: Partial<Omit<ListRequest, 'state'>> & { readonly state?: TaskState | 'cancelled' }
  SubscribeToTask: Requests['CancelTask']
}

/** The result of each operation. The two streaming operations yield events of this type. */
export interface ClientResults {
  SendMessage: SendResult
  SendStreamingMessage: RemoteEvent
  GetTask: RemoteTask
  ListTasks: { tasks: RemoteTask[]; nextPageToken: string; totalSize?: number }
  CancelTask: RemoteTask
  SubscribeToTask: RemoteEvent
  CreateTaskPushNotificationConfig: RemotePushConfig
  GetTaskPushNotificationConfig: RemotePushConfig
  ListTaskPushNotificationConfigs: { configs: RemotePushConfig[]; nextPageToken: string }
  DeleteTaskPushNotificationConfig: null
  /** Unread JSON. `parseAgentCard` reads it. */
  GetExtendedAgentCard: unknown
}

/** Both directions of one operation. `decode` throws `INVALID_AGENT_RESPONSE` with the path of what is wrong. */
export interface ClientCodec<Request, Result> {
  encode(request: Request): JsonObject
  /** The request in another form, for agents that refuse the first one as invalid. */
  encodeAgain?(request: Request): JsonObject
  decode(json: unknown): Result
}

/** Operations that a binding does not have are absent. */
export type ClientCodecs = { readonly [O in Operation]?: ClientCodec<ClientRequests[O], ClientResults[O]> }

/** The client side of a protocol version. */
export interface ClientDialect {
  /** As in `A2A-Version`: `Major.Minor`. */
  readonly version: string
  /** The request header that names extensions. */
  readonly extensionsHeader: string
  /** Media type of requests of the HTTP+JSON binding. */
  readonly mediaType: string
  /** Method names of the JSON-RPC binding. */
  readonly methods: ReadonlyMap<Operation, string>
  readonly rpc: ClientCodecs
  /** The first route of an operation is used. */
  readonly routes: readonly Route[]
  readonly rest: ClientCodecs
  /** Whether requests name the tenant of their interface. */
  readonly hasTenants: boolean
}
