/**
 * Agents, with `createRequestHandler`, and handlers for KAOS task managers and sessions of corvid-agent.
 *
 * @module
 */
export { createRequestHandler } from './request-handler.js'
export type { RequestHandler } from './request-handler.js'
export type { BoundAgent, DispatchContext, ObservedAgent } from './binding/bindings.js'
export type {
  DeliveryFollower,
  HandlerObserver,
  ObservedDelivery,
  ObservedRequest,
  RequestFacts,
  RequestFollower,
} from './observers.js'
export type { HandlerStats, WebhookStats } from './stats.js'
export type { HandlerFetch, RequestContext } from './binding/fetch.js'
export type {
  ErrorContext,
  FollowUpPolicy,
  RequestHandlerOptions,
  StructuredHandlerOptions,
} from './options.js'
export type { HandlerLimits } from './limits.js'
export type { RateLimitOptions } from '../runtime/rate-limit.js'
export type { Execute, Offer, Outcome } from './execute.js'
export type { ConversationEntry, ConversationOptions, ConversationPage } from './run/run.js'
export type { IdempotencyOptions } from './idempotency.js'
export type { PreviewOptions } from './preview.js'
export type { PushAttempt } from './push/attempts.js'
export type { PushDeadLetter, PushDeliveries, PushHealth } from './push/health.js'
export type { PushOptions } from './push/options.js'
export type { PushState } from './push/outbox.js'
export type { PushFailure } from './push/webhook.js'
export type { AgentMessage, ArtifactOutput, Output, ReadableLike } from './run/output.js'
export type { ArtifactOptions, Progress, ReadonlyMessage, Run, Say } from './run/run.js'
export type {
  DelegatedMessage,
  DelegateOptions,
  DelegationAgent,
  DelegationResult,
} from './journal/delegation-types.js'
export type { SignalOptions, SleepOptions } from './journal/waits.js'
export type { BackoffOptions, RetryOptions } from './retry.js'
export type { StepContext, StepOptions, StepOutput, TransactionWork } from './journal/steps.js'
export type { Principal } from './caller.js'
export type { AnyTasks } from './tasks.js'
export type { InputOf, StandardIssue, StandardResult, StandardSchema } from './standard-schema.js'
export {
  clearTaskStore,
  createInboundHandler,
  handleTaskGet,
  handleTaskSend,
} from './sessions/inbound-handler.js'
export type { InboundHandler, InboundHandlerOptions } from './sessions/inbound-handler.js'
export { NotFoundError } from './sessions/errors.js'
export type {
  A2AMessage,
  A2ATask,
  A2ATaskDeps,
  A2ATaskSendRequest,
  A2ATaskState,
  InboundAgent,
  InboundProcessManager,
  InboundSession,
  InboundSessionInput,
  SessionCallback,
} from './sessions/types.js'
export { LocalTaskManager } from './kaos/local-task-manager.js'
export type { LocalTaskManagerOptions, ProcessContext, ProcessFn } from './kaos/local-options.js'
export { NullTaskManager } from './kaos/null-task-manager.js'
export { taskManagerFromEnvironment } from './kaos/environment.js'
export type { TaskManagerFromEnvironmentOptions } from './kaos/environment.js'
export type {
  CompletionOptions,
  SessionMessageOptions,
  SessionTaskManager,
} from './kaos/session-task-manager.js'
export { createTaskManagerHandler } from './kaos/handler.js'
export type { TaskManagerHandler, TaskManagerHandlerOptions } from './kaos/handler.js'
export { SSEStream } from './streams/sse-stream.js'
export type { NodeResponse, SSEStreamOptions } from './streams/sse-stream.js'
export { textOf } from '../wire/text.js'
