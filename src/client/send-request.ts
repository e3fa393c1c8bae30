/**
 * Requests that send a message.
 *
 * @module
 */
import { compact } from '../runtime/compact.js'
import type { GenerateId } from '../runtime/ids.js'
import type { ClientRequests } from '../wire/client/dialect.js'
import { toMarking, toMessage, type CallOptions, type MessageInput, type SendOptions } from './message.js'
import { requireOptions, SEND_KEYS } from './options.js'

/** Checks the arguments of `send` or `stream`, and separates the request from the options of the call. */
export function toSend(
  input: MessageInput,
  options: SendOptions,
  where: 'send' | 'stream',
  generateId: GenerateId,
  card: Parameters<typeof toMarking>[1],
): { request: ClientRequests['SendMessage']; call: CallOptions } {
  requireOptions(options, where === 'send' ? SEND_KEYS : [...SEND_KEYS, 'idleTimeoutMs'], where)
  const { signal, timeoutMs, headers, acceptedOutputModes = [], returnImmediately = false } = options
  const { historyLength, metadata, pushConfig, lineage } = options
  const message = toMarking(lineage, card)(toMessage(input, options, generateId))
  const optional = compact({ historyLength, metadata, pushConfig })
  const request = { message, returnImmediately, acceptedOutputModes, ...optional }
  return { request, call: { signal, timeoutMs, headers } }
}
