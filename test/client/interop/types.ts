/** Types of the client that the interoperability tests use. */
export type { Part } from 'a2a-tasks/schemas'
export type { PushConfig } from 'a2a-tasks/wire'
export type {
  RemoteEvent,
  RemotePushConfig,
  RemoteTask,
  RunHandle,
  SendResult,
} from '../../../src/client/index.js'
