/**
 * The chats of AI SDK's front ends over A2A. Nothing of the framework is imported.
 *
 * @module
 */
export { a2aChatTransport } from './transport.js'
export type { ChatClient } from './chat-client.js'
export type {
  A2AChatTransport,
  ChatChunk,
  ChatData,
  ChatMessage,
  ChatMetadata,
  ChatPart,
  RequestOptions,
  SendRequest,
} from './types.js'
