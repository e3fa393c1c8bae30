/**
 * Dialects of A2A, which translate between the JSON of each version and the objects of this library.
 *
 * @module
 */
export type {
  Codec,
  Codecs,
  Dialect,
  IncomingMessage,
  ListRequest,
  Operation,
  Probe,
  PushConfig,
  Requests,
  Results,
  Route,
  RpcError,
  SendRequest,
  StreamEntry,
  StreamManners,
  SubscribeRequest,
  TaskPushConfig,
  TaskRequest,
  TaskView,
} from './dialect.js'
export { describeError, WIRE_ERRORS, type ErrorDescription, type WireError } from './errors.js'
export { check } from './check-zod.js'
export { toV03Card } from './v0-3/card.js'
export { v0_3 } from './v0-3/dialect.js'
export { v1, type V1Options } from './v1/dialect.js'
export { v1_1 } from './v1/preview.js'
export { decodeError, type RemoteErrorContext } from './client/errors.js'
export { invalidAnswer } from '../core/errors.js'
export {
  answerPart,
  answersIn,
  openQuestionsOf,
  QUESTIONS,
  questionsIn,
  type OpenQuestion,
} from './question/questions.js'
export { violationOf, type Violation } from './question/violation.js'
export { textOf } from './text.js'
export { TOOL_CALLS, toolCallMetadata, toolCallParts, toolCallsIn, type ToolCall } from './tool-calls.js'
export { v0_3Client } from './client/v0-3.js'
export { v1Client } from './client/v1.js'
export { artifactEvents, outputEvent } from './view.js'
export type {
  ClientCodec,
  ClientCodecs,
  ClientDialect,
  ClientRequests,
  ClientResults,
  RemoteEvent,
  RemotePushConfig,
  RemoteTask,
  SendResult,
} from './client/dialect.js'
