/**
 * Checks of the parameters of inbound tasks.
 *
 * @module
 */
import { invalidParams } from '../../core/errors.js'
import { readName } from '../../core/validate.js'
import { hasLoneSurrogate } from '../../core/json.js'
import { describe } from '../../runtime/describe.js'

const DEFAULT_SKILL = 'default'
const DEFAULT_TIMEOUT_MS = 300_000

interface InboundParams {
  readonly message: string
  readonly skill: string
  readonly timeoutMs: number
}

/**
 * Reads the parameters under `params`, or at the top level. Ignores unknown properties and reads `null` as absent, because
 * peers may run other versions.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the name of the parameter.
 */
export function toInboundParams(body: unknown): InboundParams {
  const whole = readObject(body)
  const { message, skill, timeoutMs } = readObject(whole['params'] ?? whole)
  return {
    message: readMessage(message),
    skill: readName(skill ?? DEFAULT_SKILL, 'skill'),
    timeoutMs: readTimeout(timeoutMs ?? DEFAULT_TIMEOUT_MS),
  }
}

function readObject(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidParams('params', `must be an object, got ${describe(value)}`)
  }
  // Every property of an unchecked object is unknown.
  return value as Readonly<Record<string, unknown>>
}

function readMessage(message: unknown): string {
  if (message === undefined || message === null) throw invalidParams('message', 'is required')
  if (typeof message !== 'string')
    throw invalidParams('message', `must be a string, got ${describe(message)}`)
  if (message.trim() === '') throw invalidParams('message', 'is required')
  if (hasLoneSurrogate(message)) {
    throw invalidParams('message', 'has a lone surrogate, which UTF-8 cannot hold')
  }
  return message
}

function readTimeout(timeoutMs: unknown): number {
  if (typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs < Infinity) return timeoutMs
  const got = typeof timeoutMs === 'number' ? String(timeoutMs) : describe(timeoutMs)
  throw invalidParams('timeoutMs', `must be a positive number of milliseconds, got ${got}`)
}
