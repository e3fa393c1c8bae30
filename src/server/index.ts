/**
 * The server side of A2A: one handler for any HTTP layer, or for none.
 *
 * @module
 */
export { createRequestHandler } from './request-handler.js'
export type { RequestHandler } from './request-handler.js'
export type { BoundAgent, DispatchContext } from './bind.js'
export type {
  ErrorContext,
  Execute,
  FollowUpPolicy,
  HandlerLimits,
  Offer,
  Outcome,
  RequestHandlerOptions,
} from './options.js'
export type { PreviewOptions } from './preview.js'
export type {
  DurablePushDeliveries,
  PushDeadLetter,
  PushDeliveries,
  PushDeliveriesOf,
  PushHealth,
} from './push-deliveries.js'
export type { PushOptions } from './push-options.js'
export type { PushState } from './push-outbox.js'
export type { PushFailure } from './push-webhook.js'
export type { ArtifactOptions, Progress, ReadonlyMessage, Run, Say } from './run.js'
export type { Principal } from './visibility.js'
export { clearTaskStore, createInboundHandler, handleTaskGet, handleTaskSend } from './inbound.js'
export type { InboundHandler, InboundHandlerOptions } from './inbound.js'
export { NotFoundError } from './inbound-errors.js'
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
} from './inbound-types.js'
export { LocalTaskManager } from './local-task-manager.js'
export type { LocalTaskManagerOptions, ProcessContext, ProcessFn } from './local-task-manager.js'
export { NullTaskManager } from './null-task-manager.js'
export { taskManagerFromEnvironment } from './kaos-environment.js'
export type { TaskManagerFromEnvironmentOptions } from './kaos-environment.js'
export type { CompletionOptions, SessionMessageOptions, SessionTaskManager } from './session-task-manager.js'
export { createTaskManagerHandler } from './kaos-handler.js'
export type { TaskManagerHandler, TaskManagerHandlerOptions } from './kaos-handler.js'
export { SSEStream } from './sse-stream.js'
export type { NodeResponse, SSEStreamOptions } from './sse-stream.js'
export { textOf } from '../wire/index.js'
