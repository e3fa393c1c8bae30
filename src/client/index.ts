/**
 * Calls to agents, with `A2AClient`, and discovery of cards, credentials, delegation and receivers of webhooks.
 *
 * @module
 */
export { A2AClient } from './a2a-client.js'
export {
  apiKeyAuth,
  bearerAuth,
  clientCredentialsAuth,
  type ApiKey,
  type ClientCredentials,
  type TokenSource,
} from '../http/auth.js'
export type { AuthenticatedRequest, Authenticator } from '../http/authenticator.js'
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
export { InvocationBudget, type BudgetCheck, type InvocationBudgetOptions } from './invocation-budget.js'
export { delegationTool, type DelegationTool, type DelegationToolOptions } from './delegation-tool.js'
export { invokeRemoteAgent, type InvokeOptions, type RemoteInvocationResult } from './invoke.js'
export type {
  CallOptions,
  ListTasksQuery,
  MessageContent,
  MessageInput,
  SendOptions,
  TaskPage,
} from './message.js'
export type { A2AClientOptions, ClientLimits, ClientOptions, ConnectOptions } from './options.js'
export type { Fetch } from '../runtime/fetch.js'
export { RemoteAgent, type ChatMessage, type RemoteAgentOptions } from './remote-agent.js'
export type { RetryOptions } from '../http/retry.js'
export type { DelegationOptions, RunOptions, RunResult, RunUpdate } from './run/run-types.js'
export type { AgentQuestion, QuestionAnswers } from './run/questions.js'
export {
  formOf,
  valueFromText,
  wantedBy,
  type Form,
  type FormField,
  type FormOption,
} from '../wire/question/form.js'
export {
  answerPart,
  awaitedOthersOf,
  openQuestionsOf,
  type OpenQuestion,
} from '../wire/question/questions.js'
export type { RunHandle } from '../remote/runner.js'
export type { StreamOptions } from './connection/transport.js'
export { urlGuard, validateUrl, type UrlGuard, type UrlGuardOptions } from '../http/url-guard.js'
export {
  NotificationError,
  verifyNotification,
  type ExpectedSecret,
  type PushNotification,
  type VerifyNotificationOptions,
} from './verify-notification.js'
export { answerChallenge } from './webhook-challenge.js'
export { textOf } from '../wire/text.js'
export { toolCallsIn, type ToolCall } from '../wire/tool-calls.js'
export type { RemoteEvent, RemotePushConfig, RemoteTask, SendResult } from '../wire/client/dialect.js'
