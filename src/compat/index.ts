/**
 * The dialects of A2A 0.1, KAOS, corvid-agent and LiteLLM-RS, and handlers for KAOS task managers and sessions of corvid-agent.
 *
 * @module
 */
export { corvid, type CorvidOptions } from './corvid/dialect.js'
export { kaos, type KaosOptions } from './kaos/dialect.js'
export { litellm } from './litellm/dialect.js'
export { v0_1 } from './v0-1/dialect.js'
export {
  clearTaskStore,
  createInboundHandler,
  handleTaskGet,
  handleTaskSend,
} from './corvid/inbound-handler.js'
export type { InboundHandler, InboundHandlerOptions } from './corvid/inbound-handler.js'
export { NotFoundError } from './corvid/errors.js'
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
} from './corvid/types.js'
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
