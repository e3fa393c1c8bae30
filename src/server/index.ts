/**
 * The server side of A2A: one handler for any HTTP layer, or for none.
 *
 * @module
 */
export { createRequestHandler } from './request-handler.js'
export type { DispatchContext, RequestHandler } from './request-handler.js'
export type {
  ErrorContext,
  Execute,
  FollowUpPolicy,
  HandlerLimits,
  Outcome,
  RequestHandlerOptions,
} from './options.js'
export type { ArtifactOptions, Progress, ReadonlyMessage, Run, Say } from './run.js'
export type { Principal } from './visibility.js'
export { SSEStream } from './sse-stream.js'
export type { NodeResponse, SSEStreamOptions } from './sse-stream.js'
export { textOf } from '../wire/index.js'
