/**
 * What peers send to have a task done, checked.
 *
 * @module
 */
import { invalidParams } from '../../core/errors.js'
import { takeName } from '../../core/validate.js'
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
 * The parameters stand under `params`, or at the top. Properties that are not known are passed over, and `null` is as
 * good as absent: peers are of other versions.
 *
 * @throws {A2AError} `INVALID_PARAMS`: `message is required`, or what else is wrong.
 */
export function toInboundParams(body: unknown): InboundParams {
  const whole = takeObject(body)
  const { message, skill, timeoutMs } = takeObject(whole['params'] ?? whole)
  return {
    message: takeMessage(message),
    skill: takeName(skill ?? DEFAULT_SKILL, 'skill'),
    timeoutMs: takeTimeout(timeoutMs ?? DEFAULT_TIMEOUT_MS),
  }
}

function takeObject(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidParams('params', `must be an object, got ${describe(value)}`)
  }
  // An object that is no array has properties by name.
  return value as Readonly<Record<string, unknown>>
}

function takeMessage(message: unknown): string {
  if (message === undefined || message === null) throw invalidParams('message', 'is required')
  if (typeof message !== 'string')
    throw invalidParams('message', `must be a string, got ${describe(message)}`)
  if (message.trim() === '') throw invalidParams('message', 'is required')
  if (hasLoneSurrogate(message)) {
    throw invalidParams('message', 'has a lone surrogate, which UTF-8 cannot hold')
  }
  return message
}

function takeTimeout(timeoutMs: unknown): number {
  if (typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs < Infinity) return timeoutMs
  const got = typeof timeoutMs === 'number' ? String(timeoutMs) : describe(timeoutMs)
  throw invalidParams('timeoutMs', `must be a positive number of milliseconds, got ${got}`)
}
