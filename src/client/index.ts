/**
 * A client of A2A agents: find them, send them messages, follow their tasks to the end.
 *
 * @module
 */
export {
  A2AClient,
  type A2AClientOptions,
  type ConnectOptions,
  type ListTasksQuery,
  type TaskPage,
} from './a2a-client.js'
export {
  apiKeyAuth,
  bearerAuth,
  clientCredentialsAuth,
  type ApiKey,
  type AuthenticatedRequest,
  type Authenticator,
  type ClientCredentials,
  type TokenSource,
} from '../http/auth.js'
export { AgentCardCache, type AgentCardCacheOptions } from './cards/card-cache.js'
export {
  clearAgentCardCache,
  discoverAgent,
  fetchAgentCard,
  type AgentCardJson,
  type FetchAgentCardOptions,
} from './cards/cards.js'
export { ExternalServiceError, ValidationError } from '../http/errors.js'
export type { HttpOptions } from '../http/request.js'
export { invokeRemoteAgent, type InvokeOptions, type RemoteInvocationResult } from './invoke.js'
export type { CallOptions, MessageContent, MessageInput, SendOptions } from './message.js'
export type { ClientLimits, ClientOptions } from './options.js'
export type { Fetch } from '../runtime/fetch.js'
export { RemoteAgent, type ChatMessage, type RemoteAgentOptions } from './remote-agent.js'
export type { RetryOptions } from '../http/retry.js'
export type { RunHandle, RunOptions, RunResult, RunUpdate } from './run/run-types.js'
export type { StreamOptions } from './connection/transport.js'
export { urlGuard, validateUrl, type UrlGuard, type UrlGuardOptions } from '../http/url-guard.js'
export {
  NotificationError,
  verifyNotification,
  type ExpectedSecret,
  type PushNotification,
  type VerifyNotificationOptions,
} from './verify-notification.js'
export { textOf } from '../wire/text.js'
export type { RemoteEvent, RemotePushConfig, RemoteTask, SendResult } from '../wire/client/dialect.js'
