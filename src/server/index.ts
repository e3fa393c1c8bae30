/**
 * Agents, with `createRequestHandler`.
 *
 * @module
 */
export { createRequestHandler } from './request-handler.js'
export type { RequestHandler } from './request-handler.js'
export { createWorker } from './worker.js'
export type { StructuredWorkerOptions, Worker, WorkerOptions } from './worker.js'
export { createProducer } from './producer.js'
export type { JoinOptions, ProducedMessage, ProduceOptions, Producer, ProducerOptions } from './producer.js'
export { createSchedules } from './schedules.js'
export type { MissedPolicy } from './schedule-times.js'
export type { Schedule, Schedules, SchedulesOptions, ScheduleState } from './schedules.js'
export type { Dispatch, PriorityOf, Turn } from './dispatch.js'
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
  DispatchingHandlerOptions,
  ErrorContext,
  FollowUpPolicy,
  RequestHandlerOptions,
  StructuredHandlerOptions,
} from './options.js'
export type { HandlerLimits } from './limits.js'
export type { BudgetExceeded, OnBudget } from './run/budget.js'
export type { WindowBudget } from './run/budget-windows.js'
export type { RateLimitOptions } from '../runtime/rate-limit.js'
export type { Execute, Offer, Outcome } from './execute.js'
export type { ConversationEntry, ConversationOptions, ConversationPage } from './run/run.js'
export type { IdempotencyOptions } from './idempotency.js'
export type { PreviewOptions } from './preview.js'
export type { PushAttempt } from './push/attempts.js'
export type { PushDeadLetter, PushDeliveries, PushHealth, PushState } from './push/health.js'
export type { PushOptions } from './push/options.js'
export type { PushFailure } from './push/webhook.js'
export type { AgentMessage, ArtifactOutput, Output, ReadableLike } from './run/output.js'
export type { ArtifactOptions, Progress, ReadonlyMessage, Run, Say } from './run/run.js'
export type {
  DelegatedMessage,
  DelegateOptions,
  DelegationAgent,
  DelegationResult,
  SignalOptions,
  SpentAmounts,
  SleepOptions,
  StepContext,
  StepMethod,
  StepOptions,
  StepWork,
  TransactionMethod,
  TransactionWork,
} from './journal/call-types.js'
export type { StepOutput } from './journal/step-output.js'
export type {
  AnswerSchema,
  AnswersTo,
  ApproveOptions,
  AskedQuestion,
  AskOptions,
  AuthorizeOptions,
  InputOptions,
} from './run/ask-types.js'
export type { BackoffOptions, RetryOptions } from './retry.js'
export type { Principal } from './caller.js'
export type { AnyTasks } from './tasks.js'
export type { InputOf, OutputOf, StandardIssue, StandardResult, StandardSchema } from './standard-schema.js'
export { SSEStream } from './streams/sse-stream.js'
export type { NodeResponse, SSEStreamOptions } from './streams/sse-stream.js'
export { textOf } from '../wire/text.js'
