/**
 * Handles: where a run continues, as one word to copy.
 *
 * @module
 */
import type { RunHandle } from 'a2a-tasks/client'
import { usageFailure } from '../failure.js'

/** A run of an agent. It contains no credentials, but the name of their profile. */
export interface SavedRun {
  readonly url: string
  readonly handle: RunHandle
  readonly profile?: string
}

const PREFIX = 'a2a1_'
const MAX_LENGTH = 8_192

export function encodeHandle({ url, handle, profile }: SavedRun): string {
  const { messageId, contextId, taskId, isOwnContext } = handle
  const json = { url, messageId, contextId, taskId, isOwnContext, profile }
  return PREFIX + Buffer.from(JSON.stringify(json)).toString('base64url')
}

/** @throws {CommandFailure} for a text that is not a handle. */
export function decodeHandle(text: string): SavedRun {
  const json =
    text.length <= MAX_LENGTH && text.startsWith(PREFIX) ? parsed(text.slice(PREFIX.length)) : undefined
  if (json === undefined) {
    throw usageFailure(
      'This is not a handle, or not a whole one',
      'Copy the word that send has printed after "a2a-tasks resume", which begins with a2a1_',
    )
  }
  const { url, messageId, contextId, taskId, isOwnContext, profile } = json
  if (!isText(url) || !isText(messageId) || (!isText(contextId) && !isText(taskId))) {
    throw usageFailure('This handle lacks its URL or its task', 'Use: a2a-tasks watch URL TASK')
  }
  const handle = {
    messageId,
    ...(isText(contextId) && { contextId }),
    ...(isText(taskId) && { taskId }),
    ...(isOwnContext === true && { isOwnContext }),
  }
  return { url, handle, ...(isText(profile) && { profile }) }
}

function parsed(encoded: string): Record<string, unknown> | undefined {
  try {
    const json: unknown = JSON.parse(Buffer.from(encoded, 'base64url').toString())
    // An object of JSON has only names that are texts.
    return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
