/**
 * What a version of the protocol is to a client: the other direction of the same operations.
 *
 * @module
 */
import type { TaskState } from '../../core/lifecycle.js'
import type { Message } from '../../core/task.js'
import type { JsonObject } from '../../core/json-types.js'
import type { Artifact } from '../../schemas/artifact.js'
import type { ListRequest, Operation, PushConfig, Requests, Route, SendRequest } from '../dialect.js'

/** A task as another agent tells of it, in the core's terms. Plain JSON. */
export interface RemoteTask {
  id: string
  /** Groups the tasks of one conversation. Some agents leave it out. */
  contextId?: string
  state: TaskState
  /** The latest status message. */
  message?: Message
  /** When the agent says that it came to be so. */
  updatedAt?: string
  artifacts: Artifact[]
  /** What the agent tells of the conversation, oldest first: some tell nothing (A2A 1.0 §3.7). */
  messages: Message[]
  metadata: JsonObject
}

interface OfRemoteTask {
  taskId: string
  contextId?: string
  metadata?: JsonObject
}

/** What an agent tells while it works. */
export type RemoteEvent =
  | { type: 'task'; task: RemoteTask }
  | { type: 'message'; message: Message }
  | ({ type: 'status'; state: TaskState; message?: Message; updatedAt?: string } & OfRemoteTask)
  /** `append`: the parts continue the artifact of that id. Otherwise it is new, or takes that one's place. */
  | ({ type: 'artifact'; artifact: Artifact; append: boolean; lastChunk: boolean } & OfRemoteTask)

/** The answer to a message: a task, or the agent's reply where it needs no task. */
export type SendResult = { type: 'task'; task: RemoteTask } | { type: 'message'; message: Message }

export interface RemotePushConfig {
  taskId: string
  config: PushConfig
}

/** What each operation is asked with. */
export interface ClientRequests extends Omit<
  Requests,
  'SendMessage' | 'SendStreamingMessage' | 'ListTasks' | 'SubscribeToTask'
> {
  SendMessage: SendRequest
  SendStreamingMessage: SendRequest
  ListTasks: Partial<ListRequest>
  SubscribeToTask: Requests['CancelTask']
}

/** What each operation answers; the two that stream answer with events of this type. */
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
  /** As it came: to be read with `parseAgentCard`. */
  GetExtendedAgentCard: unknown
}

/** Both directions of one operation. `decode` throws `INVALID_AGENT_RESPONSE` with the path of what is wrong. */
export interface ClientCodec<Request, Result> {
  encode(request: Request): JsonObject
  decode(json: unknown): Result
}

/** Operations that a binding does not have are absent. */
export type ClientCodecs = { readonly [O in Operation]?: ClientCodec<ClientRequests[O], ClientResults[O]> }

/** A version of the protocol as a client speaks it. */
export interface ClientDialect {
  /** As in `A2A-Version`: `Major.Minor`. */
  readonly version: string
  /** The request header that names extensions. */
  readonly extensionsHeader: string
  /** What requests of the HTTP+JSON binding are. */
  readonly mediaType: string
  /** Method names of the JSON-RPC binding. */
  readonly methods: ReadonlyMap<Operation, string>
  readonly rpc: ClientCodecs
  /** Of several routes of one operation the first is taken. */
  readonly routes: readonly Route[]
  readonly rest: ClientCodecs
  /** Whether requests name the tenant of their interface. */
  readonly hasTenants: boolean
}
