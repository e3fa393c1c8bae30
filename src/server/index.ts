/**
 * The server side of A2A: one handler for any HTTP layer, or for none.
 *
 * @module
 */
export { createRequestHandler } from './request-handler.js'
export type { RequestHandler } from './request-handler.js'
export type { BoundAgent, DispatchContext } from './binding/bindings.js'
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
export type { PushDeadLetter, PushDeliveries, PushHealth } from './push/health.js'
export type { PushOptions } from './push/options.js'
export type { PushState } from './push/outbox.js'
export type { PushFailure } from './push/webhook.js'
export type { ArtifactOptions, Progress, ReadonlyMessage, Run, Say } from './runs/run.js'
export type { Principal } from './caller.js'
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
export type { LocalTaskManagerOptions, ProcessContext, ProcessFn } from './kaos/local-task-manager.js'
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
